package durable_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/world"
)

// tale is what a Logger has written.
type tale struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (x *tale) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.all.Write(p)
}

func (x *tale) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.all.String()
}

// lines returns what was written since the last call.
func (x *tale) lines() (lines []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	lines = strings.Split(strings.TrimSpace(x.all.String()), "\n")
	x.all.Reset()
	return lines
}

// TestTold gets one record of a start, whatever it has done, and one of a snapshot, which says why it
// was saved.
func TestTold(t *testing.T) {
	path, _ := useDisk(t)
	var told tale
	open := func(upgrade func(*world.World) error) (*bank, *durable.Store) {
		x := newBank(1)
		x.options.Logger = slog.New(slog.NewTextHandler(&told, nil))
		x.options.Keep, x.options.Upgrade = 1, upgrade
		st, err := x.open(path)
		require.NoError(t, err)
		return x, st
	}
	x, st := open(nil)
	lines := told.lines()
	require.Len(t, lines, 1)
	require.Regexp(t, `"durable: began a new world".* incarnation=1 saved=.*000000000001.snapshot because="the world is new" took=`, lines[0])
	x.saves(t, st, 1)
	lines = told.lines()
	require.Len(t, lines, 1)
	require.Regexp(t, `"durable: snapshot saved".* file=.*000000000002.snapshot because=Store.Save removed=\[000000000001.log\]`, lines[0])
	x.add(t, 0)
	if !durable.Sealed { // where it is in the log
		x.step(t)
	}
	require.NoError(t, st.Wait(context.Background()))
	st.Crash()
	require.Equal(t, !durable.Sealed, strings.Contains(told.String(), `because="the idle world was changed"`))
	told.lines()

	x, st = open(nil)
	lines = told.lines()
	require.Len(t, lines, 1)
	require.Regexp(t, `"durable: restored".* ticks=[1-9]\d* clean=false incarnation=2 torn=.* saved=.* because="the log was played" took=`, lines[0])
	x.step(t)
	require.NoError(t, st.Close())
	lines = told.lines()
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], "because=Store.Close")

	_, st = open(func(*world.World) error { return nil })
	lines = told.lines()
	require.Len(t, lines, 1)
	require.NotContains(t, lines[0], "saved=")
	require.NoError(t, st.Close())
	told.lines()

	_, st = open(func(w *world.World) error {
		world.Write[Account](w).Get(x.accounts()[0]).Sum++
		return nil
	})
	lines = told.lines()
	require.Len(t, lines, 1)
	require.Regexp(t, `"durable: restored".* ticks=0 clean=true incarnation=2 saved=.* because=Options.Upgrade took=`, lines[0])
	st.Crash()
	told.lines()

	x = newBank(1)
	x.options.Logger, x.options.Interval = slog.New(slog.NewTextHandler(&told, nil)), time.Millisecond
	st, err := x.open(path)
	require.NoError(t, err)
	for x.step(t); !strings.Contains(told.String(), "snapshot saved"); x.step(t) {
		time.Sleep(time.Millisecond)
	}
	st.Crash()
	require.Contains(t, told.String(), "because=Options.Interval")
}

// TestLockTimeout waits for a process that is ending, as long as the option and the context say.
func TestLockTimeout(t *testing.T) {
	path := t.TempDir()
	x := newBank(1)
	st, err := x.open(path)
	require.NoError(t, err)

	_, err = newBank(1).open(path)
	require.ErrorIs(t, err, durable.ErrInUse)
	require.ErrorContains(t, err, "set LockTimeout")
	y := newBank(1)
	y.options.LockTimeout = 50 * time.Millisecond
	_, err = y.open(path)
	require.ErrorIs(t, err, durable.ErrInUse)
	require.ErrorContains(t, err, "for more than 50ms")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	y = newBank(1)
	y.options.LockTimeout = time.Hour
	_, err = durable.Open(ctx, path, y.World, y.s, y.options)
	require.ErrorIs(t, err, durable.ErrInUse)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	closed := make(chan error)
	go func() {
		time.Sleep(50 * time.Millisecond)
		closed <- st.Close()
	}()
	y = newBank(1)
	y.options.LockTimeout = time.Minute
	st, err = y.open(path)
	require.NoError(t, err)
	require.NoError(t, <-closed)
	require.True(t, st.Recovered().Clean)
	require.NoError(t, st.Close())
}
