package durable_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// TestBackup goes back to a copy of the newest snapshot of a directory, or of an increment with the
// snapshot it is on, as docs/guide.md says: it is loaded in Options.New. A test loads it without a
// Store.
func TestBackup(t *testing.T) {
	for _, increments := range []int{0, 2} {
		path := t.TempDir()
		x := newBank(1)
		x.options.Increments = increments
		st, err := x.open(path)
		require.NoError(t, err)
		for range 5 {
			for range 3 {
				x.step(t)
			}
			saved := make(chan error, 1)
			go func() { saved <- st.Save(t.Context()) }()
			for done := false; !done; { // a tick captures the world
				select {
				case err := <-saved:
					require.NoError(t, err)
					done = true
				default:
					x.step(t)
				}
			}
		}
		given := st.Recovered().Incarnation
		require.NoError(t, st.Close())
		want := x.observe()

		backup := t.TempDir()
		require.NoError(t, os.CopyFS(backup, os.DirFS(path)))
		dir := snapshot.Dir{Path: backup}
		y := newBank(1)
		_, err = dir.Load(y.World, snapshot.Options{Scheduler: y.s})
		require.NoError(t, err)
		require.Equal(t, want, y.observe())

		y = newBank(1)
		y.options.New = func(w *world.World) error {
			if _, err := dir.Load(w, snapshot.Options{Scheduler: y.s}); err != nil {
				return err
			}
			return w.Reincarnate(given + 1)
		}
		path = t.TempDir()
		st, err = y.open(path)
		require.NoError(t, err)
		require.Equal(t, want, y.observe())
		require.Greater(t, st.Recovered().Incarnation, given)
		y.step(t)
		want = y.observe()
		require.NoError(t, st.Close())

		z := newBank(1)
		st, err = durable.Open(t.Context(), path, z.World, z.s, z.options)
		require.NoError(t, err)
		require.Equal(t, want, z.observe())
		require.NoError(t, st.Close())
	}
}

// TestOpenNotNew refuses a world with entities or messages, or that has made ticks, at the first
// start: the second one could not restore it.
func TestOpenNotNew(t *testing.T) {
	for _, use := range []func(x *bank){
		func(x *bank) { _, _ = x.ships.Create(x.World, fleet{}) },
		func(x *bank) {
			h, _ := x.ships.Create(x.World, fleet{})
			x.Destroy(h)
		},
		func(x *bank) { x.Refresh() },
		func(x *bank) { _ = world.RegisterMessage[pay](x.World, "paid").Broadcast(x.World, pay{}) },
		func(x *bank) { _ = world.RegisterMessage[pay](x.World, "paid").SendShard(x.World, 1, pay{}) },
	} {
		path := t.TempDir()
		x := newBank(1)
		use(x)
		_, err := x.open(path)
		require.ErrorIs(t, err, snapshot.ErrNotNew)
		require.ErrorContains(t, err, "fill it in Options.New")
		x = newBank(1)
		st, err := x.open(path)
		require.NoError(t, err)
		require.True(t, st.Recovered().New)
		require.NoError(t, st.Close())
	}
}

// TestPlanAfterCrash says that the directory was not closed, which another version cannot open.
func TestPlanAfterCrash(t *testing.T) {
	path := t.TempDir()
	x := newBank(1)
	st, err := x.open(path)
	require.NoError(t, err)
	x.step(t)
	require.NoError(t, st.Wait(t.Context())) // a log without ticks is in nobody's way
	st.Crash()
	x = newBank(1)
	plan, err := durable.Plan(path, x.World, x.s, x.options)
	require.NoError(t, err)
	require.Empty(t, plan.Blocking(), "the same program")
	require.Contains(t, plan.String(), "directory: was not closed")
	world.Register[struct{ Left int }](x.World, "fuel")
	plan, err = durable.Plan(path, x.World, x.s, x.options)
	require.NoError(t, err)
	require.Len(t, plan.Blocking(), 1)
	require.Contains(t, plan.Blocking()[0].Text, "start it with these, and stop it by Close")
}
