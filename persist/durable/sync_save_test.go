package durable_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/world"
)

// TestSyncFailsBeforeSave lets the log fail just before the world is captured. The next segment
// cannot begin, so no log has what the next tick would tell: the world is closed.
func TestSyncFailsBeforeSave(t *testing.T) {
	path, disk := useDisk(t)
	x := newSynced(2)
	st, err := x.open(path)
	require.NoError(t, err)
	accounts := x.accounts()
	p, err := x.OpenPort()
	require.NoError(t, err)
	x.step(t)

	disk.FailAt(0, faulty.Fault{})
	broken := x.s.Between(func(*world.World) { st.Fail(faulty.ErrDisk) })
	saved := make(chan error, 1)
	go func() { saved <- st.Save(t.Context()) }()
	for disk.Calls() < 2 { // the file of the next segment is made
	}
	var done world.Completion
	require.NoError(t, x.pays.Call(p.Notify(&done), accounts[0], pay{1, 8}))
	for len(saved) == 0 {
		err = x.s.Step(t.Context())
	}
	require.NoError(t, <-broken)
	require.ErrorIs(t, <-saved, durable.ErrFailed)
	require.ErrorIs(t, err, world.ErrClosed)
	require.NotEqual(t, world.Applied, done.Outcome(), "no log has it")
	require.ErrorIs(t, x.Err(), durable.ErrFailed)
	require.ErrorIs(t, st.Close(), durable.ErrFailed)
}

// TestCloseInTick closes a Store while a tick runs: the panic names that call, and it can be closed
// afterwards.
func TestCloseInTick(t *testing.T) {
	path, _ := useDisk(t)
	x := newBank(1)
	var st *durable.Store
	x.s.MustAdd("close", func(*world.Build) func(*world.Context) {
		return func(*world.Context) {
			if st != nil {
				require.NoError(t, st.Close())
			}
		}
	})
	opened, err := x.open(path)
	require.NoError(t, err)
	st = opened
	require.ErrorContains(t, x.s.Step(t.Context()), "Store.Close while a tick runs")
	st = nil
	x.step(t)
	require.NoError(t, opened.Close())
}
