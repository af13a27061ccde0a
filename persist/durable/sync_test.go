package durable_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/world"
)

// newSynced makes a bank whose outcomes are on disk when they are seen.
func newSynced(workers int) *bank {
	x := newBank(workers)
	x.options.Sync = true
	return x
}

// TestSync cuts the power as soon as an outcome is known: nobody has waited, and it is there.
func TestSync(t *testing.T) {
	path, disk := useDisk(t)
	for n := range uint64(12) {
		x := newSynced(1 + int(n%3))
		st, err := x.open(path)
		require.NoError(t, err)
		accounts := x.accounts()
		require.Equal(t, n, x.account.Get(accounts[0]).Seq)
		p, err := x.OpenPort()
		require.NoError(t, err)
		for range n % 4 { // a process may live for longer
			require.NoError(t, x.s.Step(t.Context()))
		}
		var done world.Completion
		require.NoError(t, x.pays.Call(p.Notify(&done), accounts[0], pay{n + 1, amount(0, n+1)}))
		require.NoError(t, x.s.Step(t.Context()))
		require.Equal(t, world.Applied, done.Outcome())
		require.GreaterOrEqual(t, st.Durable(), x.Tick())
		disk.PowerOff()
		require.NoError(t, st.Wait(t.Context()), "there is nothing to wait for")
		st.Crash()
		disk.Reboot()
	}
}

// TestSyncFailing lets the log fail in a tick: nobody sees that tick. What was sealed may be there
// after a restart; what came later is not.
func TestSyncFailing(t *testing.T) {
	for at := range 4 * len(faulty.Faults) {
		fault := faulty.Faults[at/4]
		path, disk := useDisk(t)
		x := newSynced(1)
		st, err := x.open(path)
		require.NoError(t, err)
		accounts := x.accounts()
		p, err := x.OpenPort()
		require.NoError(t, err)
		require.NoError(t, x.s.Step(t.Context()))
		before := x.Tick()
		disk.FailAt(1+at%4, fault)
		var sealed, later world.Completion
		require.NoError(t, x.pays.Call(p.Notify(&sealed), accounts[1], pay{1, 8}))
		var last error
		for range 3 { // the write fails, or the sync
			if last = x.s.Step(t.Context()); last != nil {
				break
			}
		}
		if last == nil { // the fault has hit a mark, which no outcome waits for
			st.Crash()
			continue
		}
		require.ErrorIs(t, last, world.ErrClosed, fault.Name)
		require.ErrorIs(t, last, durable.ErrFailed)
		require.ErrorIs(t, x.Err(), durable.ErrFailed)
		require.Contains(t, []world.Outcome{world.Unknown, world.Applied}, sealed.Outcome())
		require.ErrorIs(t, x.pays.Call(p.Notify(&later), accounts[1], pay{2, 16}), world.ErrClosed)
		require.ErrorIs(t, st.Close(), durable.ErrFailed)
		disk.Reboot()
		x = newSynced(1)
		st, err = x.open(path)
		require.NoError(t, err)
		require.GreaterOrEqual(t, x.Tick(), before)
		seq := x.account.Get(x.accounts()[1]).Seq
		require.LessOrEqual(t, seq, uint64(1))
		if sealed.Outcome() == world.Applied {
			require.EqualValues(t, 1, seq)
		}
		require.NoError(t, st.Close())
	}
}

// TestSyncAllocatesNothing makes ticks with requests, and with a transaction that creates and
// destroys an entity, and answers.
func TestSyncAllocatesNothing(t *testing.T) {
	if check.Enabled {
		t.Skip("the race detector allocates")
	}
	for _, sync := range []bool{false, true} {
		x := newField()
		swap := world.RegisterTransaction(x.World, "swap", func(tx *world.Tx, h handle.Handle) (handle.Handle, error) {
			err := tx.Destroy(h)
			next, e := x.units.Create(tx, unit{})
			return next, errors.Join(err, e)
		})
		st, err := durable.Open(t.Context(), t.TempDir(), x.World, x.s, durable.Options{New: x.fill(1000), Interval: -1, Sync: sync})
		require.NoError(t, err)
		port, err := x.OpenPort()
		require.NoError(t, err)
		n, last := 0, x.all[len(x.all)-1]
		x.all = x.all[:len(x.all)-1]
		var answer world.Answer[handle.Handle]
		tick := func() {
			x.push(t, port, n, 100)
			n++
			if err := swap.Send(port, last, &answer); err != nil {
				t.Fatal(err)
			}
			if err := x.s.Step(context.Background()); err != nil {
				t.Fatal(err)
			}
			last, _ = answer.Value()
		}
		for range 300 { // until all buffers are as long as they get
			tick()
		}
		require.Less(t, testing.AllocsPerRun(100, tick), 0.5, "sealed: %v", sync)
		require.Equal(t, world.Applied, answer.Outcome())
		require.NoError(t, st.Close())
	}
}

// TestSyncPaused pauses Run, makes single steps, and looks between ticks: outcomes come from ticks
// alone, and each is on disk.
func TestSyncPaused(t *testing.T) {
	path, disk := useDisk(t)
	x := newSynced(2)
	st, err := x.open(path)
	require.NoError(t, err)
	accounts := x.accounts()
	p, err := x.OpenPort()
	require.NoError(t, err)
	x.s.Pause()
	ran := make(chan error, 1)
	go func() { ran <- x.s.Run(context.Background()) }()
	var done world.Completion
	require.NoError(t, x.pays.Call(p.Notify(&done), accounts[2], pay{1, 7 + 2}))
	seq := func() (n uint64) {
		require.NoError(t, <-x.s.Between(func(*world.World) { n = x.account.Get(accounts[2]).Seq }))
		return n
	}
	require.Zero(t, seq())
	require.Equal(t, world.Undecided, done.Outcome())
	require.True(t, x.s.StepOnce())
	outcome, err := done.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, world.Applied, outcome)
	kept := disk.Clone() // the power goes here
	require.EqualValues(t, 1, seq())
	changed := x.s.Between(func(w *world.World) { _, _ = x.ships.Create(w, fleet{}) })
	var refused *world.PanicError
	require.ErrorAs(t, <-changed, &refused)
	require.NoError(t, st.Save(t.Context()), "a capture reads")
	x.s.Resume()
	require.NoError(t, x.pays.Call(p.Notify(&done), accounts[2], pay{2, 14 + 2}))
	_, err = done.Wait(t.Context())
	require.NoError(t, err)
	x.s.Stop()
	require.NoError(t, <-ran)
	require.NoError(t, st.Close())
	require.EqualValues(t, 2, x.account.Get(accounts[2]).Seq)

	useAs(t, path, func() files.Files { return kept })
	kept.PowerOff()
	kept.Reboot()
	x = newSynced(1)
	st, err = x.open(path)
	require.NoError(t, err)
	require.EqualValues(t, 1, x.account.Get(x.accounts()[2]).Seq)
	require.NoError(t, st.Close())
}

// TestSyncNoLog refuses what cannot be.
func TestSyncNoLog(t *testing.T) {
	x := newSynced(1)
	x.options.NoLog = true
	require.Panics(t, func() { _, _ = x.open(t.TempDir()) })
	require.True(t, errors.Is(world.ErrBroken, world.ErrClosed))
	require.False(t, errors.Is(world.ErrUnknown, world.ErrClosed))
}
