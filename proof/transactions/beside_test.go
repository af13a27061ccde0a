package transactions_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestNamesBeside looks names up on other goroutines while transactions bind them: each name that is
// found is of one that succeeded.
func TestNamesBeside(t *testing.T) {
	x := newScene(t, 2)
	defer x.Close()
	bind := world.RegisterTransaction(x.World, "bind", func(tx *world.Tx, fails bool) (handle.Handle, error) {
		h, err := x.player.Create(tx, Player{})
		if fails {
			return h, errors.Join(err, x.names.Bind(tx, h, "failed"), errors.New("on purpose"))
		}
		return h, errors.Join(err, x.names.Bind(tx, h, "done"))
	})
	drop := world.RegisterTransaction(x.World, "drop", func(tx *world.Tx, h handle.Handle) (int, error) { return 0, tx.Destroy(h) })
	p, err := x.OpenPort()
	require.NoError(t, err)
	var over atomic.Bool
	var found atomic.Int64
	var looking sync.WaitGroup
	for range 2 {
		looking.Go(func() {
			for !over.Load() {
				if h, ok := x.names.Lookup("failed"); ok {
					t.Errorf("%v of a transaction that failed", h)
					return
				}
				if _, ok := x.names.Lookup("done"); ok {
					found.Add(1)
				}
			}
		})
	}
	for n := 0; n < 200 || found.Load() == 0 && n < 100_000; n++ {
		var failed, done world.Answer[handle.Handle]
		require.NoError(t, bind.Send(p, true, &failed))
		require.NoError(t, bind.Send(p, false, &done))
		require.NoError(t, x.s.Step(t.Context()))
		_, err := failed.Get(t.Context())
		require.Error(t, err)
		h, err := done.Get(t.Context())
		require.NoError(t, err)
		got, ok := x.names.Lookup("done")
		require.True(t, ok)
		require.Equal(t, h, got)
		require.NoError(t, drop.Call(p, h))
		require.NoError(t, x.s.Step(t.Context()))
		require.False(t, x.Alive(h))
	}
	over.Store(true)
	looking.Wait()
	require.NotZero(t, found.Load())
	p.Close()
}
