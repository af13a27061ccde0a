package durable_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
)

// TestRollback follows docs/operating.md: the former version of a program comes back, after a version
// that had more in a component and one component more.
func TestRollback(t *testing.T) {
	path, disk := useDisk(t)
	backup, kept := useDisk(t)
	former := func(o durable.OtherProgram) *bank { return port{3, "former", cargo[cargo1]}.make(o) }
	start := func(x *bank) (*durable.Store, []snapshot.Difference, error) {
		plan, err := durable.Plan(path, x.World, x.s, x.options)
		require.NoError(t, err)
		st, err := x.open(path)
		return st, plan.Blocking(), err
	}
	x := former(durable.RefuseOther)
	st, err := x.open(path)
	require.NoError(t, err)
	x.pay(t, 5)
	require.NoError(t, st.Wait(t.Context()))
	before := x.observe()
	require.NoError(t, durable.Follow(t.Context(), path, backup, durable.FollowOptions{Once: true}))
	require.NoError(t, st.Close())

	same := port{3, "new rules", cargo[cargo1]}.make(durable.RefuseOther)
	st, blocks, err := start(same)
	require.NoError(t, err)
	require.Empty(t, blocks)
	same.pay(t, 5)
	require.NoError(t, st.Close())
	x = former(durable.RefuseOther)
	st, blocks, err = start(x)
	require.NoError(t, err, "1.")
	require.Empty(t, blocks)
	require.Equal(t, same.observe(), x.observe())
	require.NoError(t, st.Close())

	y := port{3, "new", func(x *bank) { cargo[cargo2](x); fuel(x) }}.make(durable.RefuseOther)
	y.options.Snapshot.Changes = []snapshot.Change{snapshot.Renamed("struct { C durable_test.cargo1 }", "struct { C durable_test.cargo2 }")}
	st, blocks, err = start(y)
	require.NoError(t, err)
	require.Empty(t, blocks)
	y.pay(t, 5)
	require.NoError(t, st.Wait(t.Context()))
	now := y.observe()
	crashed := disk.Clone()
	require.NoError(t, st.Close())

	t.Run("2", func(t *testing.T) {
		useAs(t, path, func() files.Files { return crashed })
		_, blocks, err := start(former(durable.RefuseOther))
		require.ErrorIs(t, err, inputlog.ErrOtherProgram)
		require.NotEmpty(t, blocks)
		x := former(durable.DiscardOther)
		st, blocks, err := start(x)
		require.NoError(t, err)
		require.Empty(t, blocks)
		require.Equal(t, same.observe(), x.observe())
		st.Crash()
	})
	_, blocks, err = start(former(durable.RefuseOther))
	require.ErrorIs(t, err, snapshot.ErrOtherWorld)
	require.ErrorContains(t, err, "is whole; this program cannot read it")
	require.NotEmpty(t, blocks)
	back := []snapshot.Change{
		snapshot.Renamed("struct { C durable_test.cargo2 }", "struct { C durable_test.cargo1 }"),
		snapshot.Dropped("fuel"), snapshot.Dropped("cargo", "Kind"),
	}
	t.Run("3", func(t *testing.T) {
		copied := disk.Clone()
		useAs(t, path, func() files.Files { return copied })
		x := former(durable.RefuseOther)
		x.options.Snapshot.Changes = back
		st, blocks, err := start(x)
		require.NoError(t, err)
		require.Empty(t, blocks)
		require.Equal(t, now, x.observe())
		st.Crash()
	})
	t.Run("3 after a crash", func(t *testing.T) {
		copied := disk.Clone()
		useAs(t, path, func() files.Files { return copied })
		y := port{3, "new", func(x *bank) { cargo[cargo2](x); fuel(x) }}.make(durable.RefuseOther)
		st, _, err := start(y)
		require.NoError(t, err)
		y.pay(t, 5)
		require.NoError(t, st.Wait(t.Context()))
		st.Crash()
		for _, o := range []durable.OtherProgram{durable.RefuseOther, durable.ReplayOther, durable.DiscardOther} {
			x := former(o)
			x.options.Snapshot.Changes = back
			st, blocks, err := start(x)
			require.Equal(t, o != durable.DiscardOther, len(blocks) > 0)
			if o != durable.DiscardOther {
				require.ErrorContains(t, err, "to go back to the snapshot of tick ")
				continue
			}
			require.NoError(t, err)
			require.Equal(t, now, x.observe())
			st.Crash()
		}
	})
	t.Run("4", func(t *testing.T) {
		useAs(t, path, func() files.Files { return kept })
		x := former(durable.RefuseOther)
		st, blocks, err := start(x)
		require.NoError(t, err)
		require.Empty(t, blocks)
		require.Equal(t, before, x.observe())
		require.Greater(t, st.Recovered().Incarnation, y.Incarnation())
		st.Crash()
	})
}
