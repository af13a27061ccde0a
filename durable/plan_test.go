package durable_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/durable"
	"github.com/atoll-sim/atoll/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// TestPlan asks what Open would do, for the program that has saved and for another version.
func TestPlan(t *testing.T) {
	path, disk := useDisk(t)
	_, err := durable.Plan(path, newBank(1).World, newBank(1).s, durable.Options{})
	require.ErrorIs(t, err, snapshot.ErrNone)
	x := newBank(1)
	x.options.Increments = 2
	for range 2 { // with an increment
		st, err := x.open(path)
		require.NoError(t, err)
		for range 3 {
			x.step(t)
		}
		require.NoError(t, st.Close())
		x = newBank(1)
		x.options.Increments = 2
	}
	plan, err := durable.Plan(path, x.World, x.s, x.options)
	require.NoError(t, err)
	require.Empty(t, plan.Differences)

	before := disk.Clone()
	y := newBank(1)
	world.Register[struct{ Left int }](y.World, "fuel")
	y.options.Snapshot.Changes = []snapshot.Change{snapshot.Renamed("vessel", "ship")}
	plan, err = durable.Plan(path, y.World, y.s, y.options)
	require.NoError(t, err)
	require.Empty(t, plan.Refused())
	require.NotEmpty(t, plan.Differences)
	names, err := disk.List()
	require.NoError(t, err)
	was, err := before.List()
	require.NoError(t, err)
	require.ElementsMatch(t, was, names)
	st, err := y.open(path)
	require.NoError(t, err)
	require.NoError(t, st.Close())
}
