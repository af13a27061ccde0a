package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// BenchmarkPieceTx has transactions copy an entity of three components, and a tree of 200, take them
// and put them back, and insert them into another world. In the first world 100,000 timers are set, of
// which each entity has one.
func BenchmarkPieceTx(b *testing.B) {
	for _, n := range []int{1, 200} {
		from, agents := newAgents(b)
		to, _ := newAgents(b)
		with := func(w *world.World) (*hierarchy.Relation, *timer.Timers[Fuse], func(job)) {
			kin, fuse := hierarchy.New(w, "kin", hierarchy.Options{}), world.RegisterMessage[Fuse](w, "fuse")
			try := world.RegisterTransaction(w, "try", func(tx *world.Tx, f job) (int, error) { return 0, f(tx) })
			return kin, timer.New(w, "fuses", fuse, timer.Options{}), func(f job) { require.NoError(b, try.Call(w, f)) }
		}
		kin, fuses, here := with(from)
		_, _, there := with(to)
		all := must(agents.AppendN(nil, from, n, nil))
		for i, h := range all {
			if i > 0 {
				require.NoError(b, kin.AddChild(from, all[(i-1)/8], h))
				world.Write[Life](from).Get(h).Owner = all[0]
			}
			must(fuses.After(from, h, 1_000+i, Fuse{}))
		}
		for i, h := range must(agents.AppendN(nil, from, 100_000-n, nil)) {
			must(fuses.After(from, h, 1_000+i, Fuse{}))
		}
		from.Refresh()
		name := map[int]string{1: "one", 200: "200"}[n]
		var piece *snapshot.Piece
		extract := func(o snapshot.ExtractOptions) job {
			return func(tx *world.Tx) (err error) {
				piece, err = snapshot.Extract(tx, o, all[0])
				return err
			}
		}
		b.Run("copy/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				here(extract(snapshot.ExtractOptions{}))
			}
			b.ReportMetric(float64(len(piece.Bytes())), "bytes")
		})
		b.Run("take and put back/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				here(extract(snapshot.ExtractOptions{Take: true}))
				here(func(tx *world.Tx) error { return snapshot.PutBack(tx, piece, snapshot.InsertOptions{}) })
			}
		})
		b.Run("insert/"+name, func(b *testing.B) {
			b.ReportAllocs()
			made := 0
			for b.Loop() {
				there(func(tx *world.Tx) error {
					again, err := snapshot.ReadPiece(piece.Bytes())
					if err == nil {
						_, err = snapshot.Insert(tx, again, snapshot.InsertOptions{})
					}
					return err
				})
				if made += n; made > 20_000 {
					b.StopTimer()
					to.Clear()
					made = 0
					b.StartTimer()
				}
			}
		})
	}
}
