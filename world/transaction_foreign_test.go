package world_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/world"
)

// TestTransactionForeign has a transaction use a bundle of another world, which creates meanwhile.
// That panics, and what the other world creates is its own.
func TestTransactionForeign(t *testing.T) {
	f, other := newFixture(t, world.Options{Shards: 1}), newFixture(t, world.Options{Shards: 1})
	do := f.doingIn()
	a := f.newUnit(1)
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			require.Panics(t, func() {
				_, _ = do.Run(f.World, func(tx *world.Tx) error { return other.creature.Set(tx, a, Creature{Health: Health{9}}) })
			})
		}
	}()
	for range 5000 {
		h, err := other.creature.Create(other.World, Creature{Health: Health{7}})
		require.NoError(t, err)
		other.mustHave(7)(h)
	}
	stop.Store(true)
	<-done
}
