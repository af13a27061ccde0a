package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

type Position struct{ X, Y float64 }
type Velocity struct{ X, Y float64 }
type mover struct {
	Position
	Velocity
}

func TestSmoke(t *testing.T) {
	w := world.MustNew(world.Options{Shards: 3})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	b := world.NewBundle[mover](w)
	var hs []handle.Handle
	for i := range 5000 {
		h, err := b.Create(w, mover{Position{float64(i), 0}, Velocity{1, 1}})
		require.NoError(t, err)
		hs = append(hs, h)
	}
	pos := world.Write[Position](w)
	vel := world.Read[Velocity](w)
	for i, h := range hs {
		require.Equal(t, float64(i), pos.Get(h).X)
	}
	for i, h := range hs {
		if i%3 == 0 {
			require.True(t, w.Destroy(h))
		}
	}
	w.Refresh()
	n := 0
	q := w.Query(pos, vel)
	for ch := range q.Chunks() {
		p, v := pos.Slice(ch), vel.Slice(ch)
		for i := range p {
			require.NotZero(t, v[i].X)
			require.NotZero(t, int(p[i].X)%3)
			n++
		}
	}
	require.Equal(t, w.Count(), n)
	for i, h := range hs {
		require.Equal(t, i%3 != 0, w.Alive(h))
		if i%3 != 0 {
			require.Equal(t, float64(i), pos.Get(h).X)
		}
	}
	p, err := w.OpenPort()
	require.NoError(t, err)
	var done world.Completion
	h, err := b.Create(p.Notify(&done), mover{Position{1, 2}, Velocity{3, 4}})
	require.NoError(t, err)
	require.Equal(t, world.Pending, p.Status(h))
	w.Refresh()
	require.Equal(t, world.Applied, done.Outcome())
	require.Equal(t, Position{1, 2}, *pos.Get(h))
	require.NoError(t, p.Destroy(h))
	w.Refresh()
	require.False(t, w.Alive(h))
	w.Clear()
	require.Zero(t, w.Count())
}
