package state_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// TestKindsByName hashes requests under way in worlds in which their kinds have other numbers. Of
// kinds with one name each counts as another.
func TestKindsByName(t *testing.T) {
	type added struct{ Points }
	hash := func(before, which int) state.Hash {
		w := world.MustNew(options())
		points := world.Register[Points](w, "points")
		for i := range before {
			world.RegisterFunc(w, fmt.Sprint("before ", i), func(*world.EntityContext, Hit) {})
		}
		bundles := []*world.Bundle[added]{world.NewBundle[added](w), world.NewBundle[added](w)}
		run := world.RegisterFunc(w, "run", func(self *world.EntityContext, _ int8) {
			require.NoError(t, bundles[which].Add(self, self.Handle(), added{Points{3}}))
			require.NoError(t, points.Remove(self, self.Handle()))
		})
		h, err := bundles[0].Create(w, added{})
		require.NoError(t, err)
		require.NoError(t, run.Call(w, h, 0))
		sum, err := state.StateHash(w, nil)
		require.NoError(t, err)
		return sum
	}
	require.Equal(t, hash(0, 0), hash(0, 0))
	require.Equal(t, hash(0, 0), hash(1, 0))
	require.Equal(t, hash(0, 1), hash(2, 1))
	require.NotEqual(t, hash(0, 0), hash(0, 1))
}
