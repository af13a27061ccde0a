package world_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestPassing has an entity created and destroyed by one refresh, by a transaction and by requests, and
// a transaction in a Clear: hooks and errors are as Observe and Clear say.
func TestPassing(t *testing.T) {
	type V struct{ N int }
	type B struct{ V }
	w := world.MustNew(world.Options{Shards: 1})
	c := world.Register[V](w, "v")
	b := world.NewBundle[B](w)
	var heard []string
	for _, on := range []world.Event{world.OnCreate, world.OnDestroy} {
		w.Observe(fmt.Sprint(on), on, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
			return func(_ *world.Context, on world.Event, hs []handle.Handle) {
				heard = append(heard, fmt.Sprint(on, len(hs)))
			}
		})
	}
	pass := world.RegisterTransaction(w, "pass", func(tx *world.Tx, _ int) (int, error) {
		h, err := b.Create(tx, B{})
		require.NoError(t, err)
		return 0, tx.Destroy(h)
	})
	set := world.RegisterTransaction(w, "set", func(tx *world.Tx, h handle.Handle) (int, error) {
		return 0, c.Set(tx, h, V{1})
	})
	p, err := w.OpenPort()
	require.NoError(t, err)
	require.NoError(t, pass.Call(p, 0))
	w.Refresh()
	require.Equal(t, []string{fmt.Sprint(world.OnCreate, 1), fmt.Sprint(world.OnDestroy, 1)}, heard)

	heard = nil
	h, err := b.Create(p, B{})
	require.NoError(t, err)
	require.NoError(t, p.Destroy(h))
	w.Refresh()
	require.Empty(t, heard)

	h, err = b.Create(p, B{})
	require.NoError(t, err)
	w.Refresh()
	var answer world.Answer[int]
	require.NoError(t, set.Send(p, h, &answer))
	w.Clear()
	_, err = answer.Get(t.Context())
	require.ErrorIs(t, err, world.ErrStale)
	require.False(t, w.Alive(h))
}
