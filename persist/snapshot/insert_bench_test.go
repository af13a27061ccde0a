package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// BenchmarkInsert puts a piece of 10,000 entities with three components, each with a handle of
// another, into a world: by Insert, and by hand with a map of the handles.
func BenchmarkInsert(b *testing.B) {
	const n = 10_000
	piece, agents := newAgents(b)
	all, err := agents.AppendN(nil, piece, n, nil)
	require.NoError(b, err)
	for i, h := range all {
		world.Write[Life](piece).Get(h).Owner = all[i*7919%n]
	}
	piece.Refresh()
	world1, _ := newAgents(b)
	clear := func(b *testing.B, w *world.World) {
		b.StopTimer()
		w.Query().Destroy()
		w.Refresh()
		b.StartTimer()
	}
	b.Run("insert", func(b *testing.B) {
		kept, err := extract(piece, nil)
		require.NoError(b, err)
		for b.Loop() {
			_, err := snapshot.Insert(world1, kept, snapshot.InsertOptions{})
			require.NoError(b, err)
			clear(b, world1)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entity")
	})
	b.Run("by hand", func(b *testing.B) {
		w, agents := newAgents(b)
		var made []handle.Handle
		for b.Loop() {
			place, motion, life := world.Read[Place](piece), world.Read[Motion](piece), world.Read[Life](piece)
			made, err = agents.AppendN(made[:0], w, n, func(i int, a *Agent) {
				*a = Agent{*place.Get(all[i]), *motion.Get(all[i]), *life.Get(all[i])}
			})
			require.NoError(b, err)
			to := make(map[handle.Handle]handle.Handle, n)
			for i, h := range all {
				to[h] = made[i]
			}
			lives := world.Write[Life](w)
			for _, h := range made {
				l := lives.Get(h)
				l.Owner = to[l.Owner]
			}
			clear(b, w)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entity")
	})
}
