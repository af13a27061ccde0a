package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
	"github.com/atoll-sim/atoll/worldtest"
)

// parcel has a piece.
type parcel struct{ Bytes string }

// TestPieceTxSame has systems and a port send transactions that take trees away, put them back and copy
// them: a replay of the log, other numbers of workers and restarts make the same world, sealed or not.
func TestPieceTxSame(t *testing.T) {
	for _, sync := range []bool{false, true} {
		trips := 0
		worldtest.Same(t, 24, func(o scheduler.Options) worldtest.Game {
			w := world.MustNew(world.Options{Shards: 3})
			type unit struct{ Link }
			world.Register[Link](w, "link")
			parcels, units := world.Register[parcel](w, "parcel"), world.NewBundle[unit](w)
			kin := hierarchy.New(w, "kin", hierarchy.Options{})
			fuses := timer.New(w, "fuses", world.RegisterMessage[Fuse](w, "fuse"), timer.Options{})
			trip := world.RegisterTransaction(w, "trip", func(tx *world.Tx, h handle.Handle) (int, error) {
				trips++
				if p, ok := parcels.Get(tx, h); ok {
					piece, err := snapshot.ReadPiece([]byte(p.Bytes))
					if err == nil {
						err = snapshot.PutBack(tx, piece, snapshot.InsertOptions{})
					}
					if err != nil {
						return 0, err
					}
					return 0, parcels.Remove(tx, h)
				}
				piece, err := snapshot.Extract(tx, snapshot.ExtractOptions{Take: tx.Tick()%2 == 0}, h)
				if err != nil {
					return 0, err
				}
				if tx.Tick()%2 == 0 {
					return 0, parcels.Add(tx, h, parcel{string(piece.Bytes())})
				}
				in, err := snapshot.Insert(tx, piece, snapshot.InsertOptions{Shard: int(tx.Tick()) % 3})
				if err != nil {
					return 0, err
				}
				if _, err := fuses.After(tx, in.Handle(h), 3, Fuse{h, "copied"}); err != nil {
					return 0, err
				}
				return 0, tx.Destroy(h)
			})
			s := scheduler.New(w, o).MustAdd("go", func(b *world.Build) func(*world.Context) {
				all, heard := b.Query(), world.Receive[Fuse](b)
				return func(c *world.Context) {
					for ch := range all.Chunks() {
						for _, h := range ch.Handles() {
							if c.Rand().IntN(6) == 0 {
								_ = trip.Call(c, h)
							}
						}
					}
					for _, e := range heard.All() {
						_, _ = fuses.After(c, e.To, 2+c.Rand().IntN(3), e.Body)
					}
				}
			})
			return worldtest.Game{
				Scheduler: s,
				Options: durable.Options{Sync: sync, New: func(w *world.World) error {
					hs, err := units.AppendN(nil, w, 40, nil)
					for i, h := range hs[1:] {
						require.NoError(t, kin.AddChild(w, hs[i/3*3/2], h))
						must(fuses.After(w, h, 3+i%5, Fuse{hs[i], "set"}))
					}
					return err
				}},
				Script: func(_ uint64, port *world.Port) {
					h, _ := units.Create(port, unit{})
					_ = trip.Call(port, h)
				},
			}
		})
		require.Greater(t, trips, 500)
	}
}
