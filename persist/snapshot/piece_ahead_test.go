package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// TestPieceTxAhead has systems cancel and reset timers of other shards in the tick in which a
// transaction takes the entities: the refresh has not done that yet, and the piece has it.
func TestPieceTxAhead(t *testing.T) {
	x, y := newKeep(t, 2, 0), newKeep(t, 1, 0)
	type only struct{ Link }
	h := must(world.NewBundle[only](x.World).Create(x.World, only{}))
	owner, _ := x.Owner(h)
	set := func(ticks int, text string) timer.ID {
		return must(x.timers.After(x.World, h, ticks, Fuse{handle.None, text}))
	}
	gone, later, both := set(5, "gone"), set(5, "later"), set(5, "both")
	set(4, "stays")
	ask := false
	x.s.MustAdd("ask", func(b *world.Build) func(c *world.Context) {
		return func(c *world.Context) {
			if c.Shard() == owner || !ask {
				return
			}
			require.NoError(t, x.timers.Cancel(c, gone))
			require.NoError(t, x.timers.Reset(c, later, 7))
			require.NoError(t, x.timers.Cancel(c, both))
			require.NoError(t, x.timers.Reset(c, both, 7))
		}
	})
	do, there := x.trying(false), y.trying(true)
	var piece *snapshot.Piece
	ask = true
	require.NoError(t, do(func(tx *world.Tx) (err error) {
		piece, err = snapshot.Extract(tx, snapshot.ExtractOptions{Take: true}, h)
		return err
	}))
	ask = false
	require.Empty(t, x.ticks(12))
	require.Zero(t, x.timers.Len())
	var in *snapshot.Inserted
	require.NoError(t, there(func(tx *world.Tx) (err error) {
		in, err = snapshot.Insert(tx, piece, snapshot.InsertOptions{})
		return err
	}))
	now := in.Handle(h)
	require.Equal(t, map[int][]world.Envelope[Fuse]{
		5: {{To: now, Body: Fuse{handle.None, "stays"}}}, 8: {{To: now, Body: Fuse{handle.None, "later"}}},
	}, y.ticks(12))
}
