package durable_test

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// Each of these was wrong once.

const log1, log2, snapshot2 = "000000000001.log", "000000000002.log", "000000000002.snapshot"

func flip(at int) func([]byte) []byte {
	return func(b []byte) []byte { b[(at+len(b))%len(b)] ^= 4; return b }
}

// saves calls Save n times while ticks are made.
func (x *bank) saves(t *testing.T, st *durable.Store, n int) {
	for range n {
		done := make(chan error, 1)
		go func() { done <- st.Save(context.Background()) }()
		for len(done) == 0 {
			x.step(t)
		}
		require.NoError(t, <-done)
	}
}

// create creates a ship and waits until it is on disk.
func (x *bank) create(t *testing.T, st *durable.Store, n uint64) (alive func(*bank) bool) {
	port, err := x.OpenPort()
	require.NoError(t, err)
	h, err := x.ships.Create(port, fleet{Ship{n}})
	require.NoError(t, err)
	x.step(t)
	require.NoError(t, st.Wait(context.Background()))
	return func(y *bank) bool { return y.Alive(h) && y.ship.Get(h).N == n }
}

// TestHeader takes a log whose header is altered for damage: its process may have given handles.
func TestHeader(t *testing.T) {
	path, disk := useDisk(t)
	for range 2 {
		x := newBank(1)
		st, err := x.open(path)
		require.NoError(t, err)
		x.create(t, st, 1)
		st.Crash()
	}
	disk.Edit(log2, flip(30))
	_, err := newBank(1).open(path)
	require.ErrorIs(t, err, durable.ErrDamaged)
	x := newBank(1)
	x.options.AcceptLoss = true
	st, err := x.open(path)
	require.NoError(t, err)
	require.Greater(t, x.Incarnation(), uint32(2))
	st.Crash()
}

// TestAcrossClose plays the log of a process that was closed, and of the next, if the snapshot
// between them is damaged. What the idle world was changed by between them is missed there.
func TestAcrossClose(t *testing.T) {
	for _, changed := range []bool{false, true} {
		path, disk := useDisk(t)
		x := newBank(1)
		st, err := x.open(path)
		require.NoError(t, err)
		port, err := x.OpenPort()
		require.NoError(t, err)
		h, err := x.ships.Create(port, fleet{Ship{1}})
		require.NoError(t, err)
		x.step(t)
		require.NoError(t, port.Destroy(h))
		port.Close()
		x.step(t)
		if changed = changed && !durable.Sealed; changed { // or a log has it
			_, err = x.ships.Create(x.World, fleet{Ship{2}})
			require.NoError(t, err)
		}
		require.NoError(t, st.Close())
		x = newBank(1)
		st, err = x.open(path)
		require.NoError(t, err)
		require.True(t, st.Recovered().Clean)
		alive := x.create(t, st, 3)
		st.Crash()
		disk.Edit(snapshot2, flip(-60))
		x = newBank(1)
		st, err = x.open(path)
		if changed {
			require.ErrorIs(t, err, durable.ErrDamaged)
			continue
		}
		require.NoError(t, err)
		require.True(t, alive(x))
		st.Crash()
	}
}

// TestPlayedIsSynced goes on behind a tick that was written and not synced when its process died:
// it is on disk by then.
func TestPlayedIsSynced(t *testing.T) {
	path, disk := useDisk(t)
	x := newBank(1)
	st, err := x.open(path)
	require.NoError(t, err)
	disk.FailAt(2, faulty.Faults[0]) // the sync
	if durable.Sealed {              // the tick may be in the log, and nobody has seen it
		require.ErrorIs(t, x.s.Step(t.Context()), durable.ErrFailed)
	} else {
		x.step(t)
		require.ErrorIs(t, st.Wait(context.Background()), durable.ErrFailed)
	}
	st.Crash()
	x = newBank(1)
	st, err = x.open(path)
	require.NoError(t, err)
	alive := x.create(t, st, 1)
	disk.PowerOff()
	st.Crash()
	disk.Reboot()
	disk.Edit(snapshot2, flip(-60))
	x = newBank(1)
	st, err = x.open(path)
	require.NoError(t, err)
	require.True(t, alive(x))
	st.Crash()
}

// TestSaveEnds lets the context end a Save behind another one that waits for a tick.
func TestSaveEnds(t *testing.T) {
	path, _ := useDisk(t)
	x := newBank(1)
	st, err := x.open(path)
	require.NoError(t, err)
	first := make(chan error, 1)
	go func() { first <- st.Save(context.Background()) }()
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer stop()
	require.ErrorIs(t, st.Save(ctx), context.DeadlineExceeded)
	require.NoError(t, st.Close())
	require.ErrorIs(t, <-first, durable.ErrClosed)
	require.ErrorIs(t, st.Wait(context.Background()), durable.ErrClosed)
}

// TestFewFiles keeps few files beside those of others, behind logs without a header, while no tick
// is made, and when processes die at once.
func TestFewFiles(t *testing.T) {
	path, disk := useDisk(t)
	f, err := disk.Create("0-backup.snapshot")
	require.NoError(t, err)
	_, err = f.Write([]byte("of somebody else"))
	require.NoError(t, err)
	open := func() (*bank, *durable.Store) {
		x := newBank(1)
		x.options.Keep = 1
		st, err := x.open(path)
		require.NoError(t, err)
		return x, st
	}
	few := func(what string) {
		names, err := disk.List()
		require.NoError(t, err)
		require.LessOrEqual(t, len(names), 14, "%s: %v", what, names)
	}
	x, st := open()
	x.saves(t, st, 20)
	few("beside those of others")
	ctx, stop := context.WithCancel(context.Background())
	stop()
	require.Error(t, st.Save(ctx)) // the next segment is made
	st.Crash()
	x, st = open()
	x.saves(t, st, 20)
	few("behind a log without a header")
	x.s.Pause()
	ctx, stop = context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- x.s.Run(ctx) }()
	for range 20 {
		require.NoError(t, st.Save(context.Background()))
	}
	stop()
	require.NoError(t, <-ended)
	few("without ticks")
	st.Crash()
	for range 30 {
		_, st := open()
		st.Crash()
	}
	few("of processes that died at once")
}

// TestNewLoads goes on from a backup, as another incarnation, and keeps nothing of a New that
// fails.
func TestNewLoads(t *testing.T) {
	old := newBank(1)
	require.NoError(t, old.options.New(old.World))
	old.step(t)
	require.NoError(t, old.Reincarnate(5))
	var image bytes.Buffer
	require.NoError(t, snapshot.Write(&image, old.World, snapshot.Options{}))
	path, disk := useDisk(t)
	x := newBank(1)
	x.options.New = func(w *world.World) error { _, err := w.OpenPort(); return err }
	_, err := x.open(path)
	require.ErrorContains(t, err, "1 ports are open")
	names, err := disk.List()
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, ".snapshot") }))
	x = newBank(1)
	x.options.New = func(w *world.World) error {
		return snapshot.Load(bytes.NewReader(image.Bytes()), w, snapshot.Options{})
	}
	st, err := x.open(path)
	require.NoError(t, err)
	require.Equal(t, uint32(6), x.Incarnation())
	require.Equal(t, old.Tick(), x.Tick())
	st.Crash()
}

// TestDiverges plays a log to systems that do something else than they did: that is told, with the
// tick, and accepted if that is wanted.
func TestDiverges(t *testing.T) {
	path, disk := useDisk(t)
	x := newBank(1)
	x.options.Content = []byte("the tables")
	store, err := x.open(path)
	require.NoError(t, err)
	for range 100 {
		x.step(t)
	}
	require.NoError(t, store.Wait(t.Context()))
	disk.PowerOff()
	_ = store.Close() // it cannot
	disk.Reboot()

	other := func() *bank {
		x := newBank(1)
		x.s.MustAdd("draws", func(b *world.Build) func(*world.Context) {
			b.Creates(x.ships)
			return func(c *world.Context) {
				if c.Tick() == 30 {
					_, _ = x.ships.Create(c, fleet{Ship{N: 1}})
				}
			}
		})
		return x
	}
	_, err = other().open(path)
	require.ErrorIs(t, err, durable.ErrDamaged)
	require.ErrorIs(t, err, inputlog.ErrDiffers)
	require.NotErrorIs(t, err, inputlog.ErrOtherProgram)
	require.ErrorContains(t, err, "set NoLog if the systems cannot be deterministic")

	y := other()
	y.options.Content = []byte("the tables of another day")
	_, err = y.open(path)
	require.ErrorIs(t, err, inputlog.ErrDiffers)
	require.ErrorIs(t, err, inputlog.ErrOtherProgram)
	require.NotErrorIs(t, err, durable.ErrDamaged)
	require.ErrorContains(t, err, "the program differs from the one that wrote the log: Options.Content is another")
	require.ErrorContains(t, err, "and stop it by Close, before you start another version; or set OtherProgram to ReplayOther")

	y = other()
	y.options.AcceptLoss, y.options.Content = true, []byte("the tables of another day")
	store, err = y.open(path)
	require.NoError(t, err)
	require.ErrorIs(t, store.Recovered().Lost[0], inputlog.ErrOtherProgram)
	require.GreaterOrEqual(t, y.Tick(), uint64(30))
	require.NoError(t, store.Close())
}

// TestGoexit plays ticks in which a system ended its goroutine.
func TestGoexit(t *testing.T) {
	path, _ := useDisk(t)
	start := func() *bank {
		x := newBank(1)
		x.s.MustAdd("exit", func(*world.Build) func(*world.Context) {
			return func(c *world.Context) {
				if c.Tick()%2 == 1 {
					runtime.Goexit()
				}
			}
		})
		return x
	}
	x := start()
	st, err := x.open(path)
	require.NoError(t, err)
	for range 5 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = x.s.Step(context.Background())
		}()
		<-done
	}
	require.NoError(t, st.Wait(context.Background()))
	st.Crash()
	y, opened := start(), false
	done := make(chan struct{})
	go func() {
		defer close(done)
		st, err = y.open(path)
		opened = true
	}()
	<-done
	require.True(t, opened, "Open did not return")
	require.NoError(t, err)
	require.Equal(t, x.Tick(), y.Tick())
	require.EqualValues(t, 5, st.Recovered().Ticks)
	st.Crash()
}
