package durable_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// lived makes a directory in which a bank died behind a snapshot: logs 1 and 2, and what was seen
// at the ticks of both.
func lived(t *testing.T) (path string, disk *faulty.Disk, b *book) {
	path, disk = useDisk(t)
	b = &book{t: t, dice: rand.New(rand.NewPCG(9, 9)), given: map[handle.Handle]uint64{}}
	x := newBank(2)
	st, err := x.open(path)
	require.NoError(t, err)
	for range 3 {
		b.live(x, st, b.check(x, st, ""), false)
		x.step(t)
		b.see(x)
	}
	saved := make(chan error, 1)
	go func() { saved <- st.Save(context.Background()) }()
	for done := false; !done; {
		select {
		case err := <-saved:
			require.NoError(t, err)
			done = true
		default:
			x.step(t)
			b.see(x)
		}
	}
	b.live(x, st, b.check(x, st, ""), false)
	require.NoError(t, st.Wait(context.Background()))
	st.Crash()
	return path, disk, b
}

// opened opens a bank of a copy of a disk that f has changed.
func opened(t *testing.T, disk *faulty.Disk, change func(*faulty.Disk), options func(*durable.Options)) (*bank, *durable.Store, error) {
	path, copied := t.TempDir(), disk.Clone()
	useAs(t, path, func() files.Files { return copied })
	if change != nil {
		change(copied)
	}
	x := newBank(1)
	if options != nil {
		options(&x.options)
	}
	st, err := x.open(path)
	if err == nil {
		t.Cleanup(st.Crash)
	}
	return x, st, err
}

// TestTornLog cuts the last log off at each byte, or alters it there. What is before a cut is there:
// nobody can know what was behind it. An altered byte is damage if there are ticks behind it that
// were told durable.
func TestTornLog(t *testing.T) {
	_, disk, b := lived(t)
	size := 0
	disk.Edit(log2, func(data []byte) []byte { size = len(data); return data })
	require.Greater(t, size, 100)
	whole, _, err := opened(t, disk, nil, nil)
	require.NoError(t, err)
	stride := 13
	if testing.Short() || check.Enabled {
		stride = 131
	}
	damaged := 0
	for at := 0; at < size; at += stride {
		for _, cut := range []bool{true, false} {
			change := func(d *faulty.Disk) {
				d.Edit(log2, func(data []byte) []byte {
					if cut {
						return data[:at]
					}
					data[at] ^= 1 << (at % 8)
					return data
				})
			}
			x, st, err := opened(t, disk, change, nil)
			if errors.Is(err, durable.ErrDamaged) {
				require.True(t, !cut || at < 1000, "byte %d: not in its header", at)
				require.ErrorContains(t, err, log2)
				if damaged++; cut {
					continue
				}
				x, st, err = opened(t, disk, change, func(o *durable.Options) { o.AcceptLoss = true })
				require.NoError(t, err, "byte %d", at)
				require.Less(t, x.Tick(), whole.Tick(), "byte %d", at)
				require.Len(t, st.Recovered().Lost, 1)
				require.NoError(t, st.Recovered().Torn)
				text := fmt.Sprintf("ticks %d to %d were on disk, %d of them, of which there is something in %s", x.Tick(), whole.Tick()-1, whole.Tick()-x.Tick(), log2)
				require.ErrorContains(t, st.Recovered().Lost[0], text, "byte %d", at)
			} else {
				require.NoError(t, err, "byte %d", at)
				require.True(t, cut || st.Recovered().Torn != nil, "byte %d", at)
				require.True(t, cut || x.Tick() == whole.Tick(), "byte %d: what was told durable is missing", at)
				require.Equal(t, uint32(2), x.Incarnation())
			}
			require.Contains(t, b.seen[x.Tick()], x.observe(), "byte %d", at)
		}
	}
	require.NotZero(t, damaged)
}

// TestDamaged refuses what lacks something that was on disk, unless that is accepted.
func TestDamaged(t *testing.T) {
	_, disk, b := lived(t)
	flip := func(name string, at int) func(*faulty.Disk) {
		return func(d *faulty.Disk) {
			d.Edit(name, func(data []byte) []byte { data[(at+len(data))%len(data)] ^= 4; return data })
		}
	}
	remove := func(names ...string) func(*faulty.Disk) {
		return func(d *faulty.Disk) {
			for _, name := range names {
				require.NoError(t, d.Remove(name))
			}
		}
	}
	all := func(changes ...func(*faulty.Disk)) func(*faulty.Disk) {
		return func(d *faulty.Disk) {
			for _, c := range changes {
				c(d)
			}
		}
	}
	const first, second = "000000000001.snapshot", snapshot2
	whole, _, err := opened(t, disk, nil, nil)
	require.NoError(t, err)

	x, st, err := opened(t, disk, flip(second, -60), nil)
	require.NoError(t, err, "the log since the snapshot before it has it all")
	require.Len(t, st.Recovered().Snapshot.Passed, 1)
	require.Equal(t, whole.observe(), x.observe())
	require.Equal(t, whole.Tick(), x.Tick())

	for what, test := range map[string]struct {
		change func(*faulty.Disk)
		says   string
		lost   bool // what AcceptLoss accepts
	}{
		"all snapshots":              {all(flip(first, 99), flip(second, 99)), "no snapshot that is whole", false},
		"no snapshots":               {remove(first, second), "no snapshot that is whole: " + second + ", or the increment of that number, is missing; restore one", false},
		"the log between":            {all(flip(second, -60), flip(log1, -60)), log1 + ": inputlog: the log was altered", true},
		"the log between is cut off": {all(flip(second, -60), func(d *faulty.Disk) { d.Edit(log1, func(b []byte) []byte { return b[:len(b)-60] }) }), log1 + ": inputlog: the log is cut off", true},
		"no log between":             {all(flip(second, -60), remove(log1)), log1 + " is missing", true},
		"the header between":         {all(flip(second, -60), flip(log1, 20)), log1 + ": inputlog: the log was altered", true},
	} {
		_, _, err := opened(t, disk, test.change, nil)
		require.ErrorIs(t, err, durable.ErrDamaged, what)
		require.ErrorContains(t, err, test.says, what)
		require.NotContains(t, err.Error(), "%!", what)
		x, st, err := opened(t, disk, test.change, func(o *durable.Options) { o.AcceptLoss = true })
		if !test.lost {
			require.ErrorIs(t, err, durable.ErrDamaged, what)
			continue
		}
		require.NoError(t, err, what)
		require.Len(t, st.Recovered().Lost, 1, what)
		require.Contains(t, b.seen[x.Tick()], x.observe(), what)
	}

	// What was accepted is done with, and what came behind it does not come back.
	path := t.TempDir()
	useAs(t, path, func() files.Files { return disk })
	all(flip(second, -60), flip(log1, -60))(disk)
	x = newBank(1)
	x.options.AcceptLoss = true
	st, err = x.open(path)
	require.NoError(t, err)
	b.seen = nil
	b.kept, b.safe = nil, [clientsMax]uint64{}
	b.live(x, st, b.check(x, st, "after the loss"), false)
	require.NoError(t, st.Wait(context.Background()))
	st.Crash()
	x = newBank(1)
	st, err = x.open(path)
	require.NoError(t, err)
	b.check(x, st, "behind it")
	st.Crash()
}

// TestSyncFails tells that inputs are not written any more, while the world goes on.
func TestSyncFails(t *testing.T) {
	path, disk := useDisk(t)
	x := newBank(1)
	var told []error
	x.options.OnError = func(err error) { told = append(told, err) }
	st, err := x.open(path)
	require.NoError(t, err)
	x.step(t)
	require.NoError(t, st.Wait(context.Background()))
	before := st.Durable()
	disk.FailAt(2, faulty.Faults[0]) // the sync
	if durable.Sealed {              // nobody sees that tick, and no other is made
		require.ErrorIs(t, x.s.Step(t.Context()), world.ErrClosed)
		require.ErrorIs(t, x.Err(), durable.ErrFailed)
		require.ErrorIs(t, x.Err(), faulty.ErrDisk)
		require.Equal(t, before, x.Tick())
		require.ErrorIs(t, st.Close(), durable.ErrFailed)
		require.Len(t, told, 1)
		return
	}
	x.step(t)
	require.ErrorIs(t, st.Wait(context.Background()), durable.ErrFailed)
	require.ErrorIs(t, st.Wait(context.Background()), faulty.ErrDisk)
	for range 3 {
		x.step(t)
	}
	require.Equal(t, before, st.Durable())
	require.ErrorIs(t, st.Err(), durable.ErrFailed)
	require.ErrorIs(t, st.Save(context.Background()), durable.ErrFailed)
	tick := x.Tick()
	require.ErrorIs(t, st.Close(), durable.ErrFailed)
	require.Len(t, told, 1)
	x = newBank(1)
	st, err = x.open(path)
	require.NoError(t, err)
	require.GreaterOrEqual(t, x.Tick(), before)
	require.Less(t, x.Tick(), tick, "Close saved a snapshot")
	require.False(t, st.Recovered().Clean)
	st.Crash()
}

// whisper is what cannot be recorded if it is empty.
type whisper struct{ text []byte }

func (x whisper) MarshalBinary() ([]byte, error) {
	if len(x.text) == 0 {
		return nil, errors.New("too quiet")
	}
	return x.text, nil
}

func (x *whisper) UnmarshalBinary(data []byte) error {
	x.text = slices.Clone(data)
	return nil
}

// TestNotRecorded tells when something can be sent, or is sent, that cannot be recorded: nothing
// after it is durable.
func TestNotRecorded(t *testing.T) {
	path, _ := useDisk(t)
	x := newBank(1)
	world.RegisterFunc(x.World, "closure", func(*world.EntityContext, func()) {})
	_, err := x.open(path)
	require.ErrorIs(t, err, state.ErrNoCodec)
	require.ErrorContains(t, err, `"closure"`)

	path, _ = useDisk(t)
	x = newBank(1)
	hear := world.RegisterFunc(x.World, "hear", func(*world.EntityContext, whisper) {})
	st, err := x.open(path)
	require.NoError(t, err)
	port, err := x.OpenPort()
	require.NoError(t, err)
	require.NoError(t, hear.Call(port, x.accounts()[0], whisper{[]byte("psst")}))
	x.step(t)
	require.NoError(t, st.Wait(context.Background()))
	require.NoError(t, hear.Call(port, x.accounts()[0], whisper{}))
	if durable.Sealed { // the request fails, and the log goes on
		var done world.Completion
		require.NoError(t, hear.Call(port.Notify(&done), x.accounts()[0], whisper{}))
		x.step(t)
		require.Equal(t, world.Failed, done.Outcome())
		require.NoError(t, st.Err())
		require.NoError(t, st.Close())
		return
	}
	require.ErrorContains(t, x.s.Step(context.Background()), "too quiet")
	err = st.Wait(context.Background())
	require.ErrorIs(t, err, durable.ErrFailed)
	require.ErrorContains(t, err, "too quiet")
	require.ErrorIs(t, st.Close(), durable.ErrFailed)
}

// TestWrongUse refuses what cannot work, and says what to do.
func TestWrongUse(t *testing.T) {
	path, _ := useDisk(t)
	x := newBank(1)
	require.Panics(t, func() { _, _ = durable.Open(context.Background(), path, nil, x.s, durable.Options{}) })
	require.Panics(t, func() { _, _ = durable.Open(context.Background(), path, x.World, x.s, durable.Options{Keep: -1}) })
	st, err := x.open(path)
	require.NoError(t, err)
	y := newBank(1)
	_, err = y.open(path)
	require.ErrorIs(t, err, durable.ErrInUse)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, st.Save(ctx), context.Canceled)
	x.step(t)
	_ = st.Wait(ctx) // whether it is on disk by now is not known
	require.NoError(t, st.Close())
	require.ErrorIs(t, st.Save(context.Background()), durable.ErrClosed)
	x.Close()

	_, err = y.open(path)
	require.NoError(t, err)
	_, err = newBank(1).open(path)
	require.ErrorIs(t, err, durable.ErrInUse)
	require.ErrorContains(t, err, "by a process that has locked "+filepath.Join(path, "lock"))
	blocked := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(blocked, "lock"), 0o777))
	_, err = newBank(1).open(blocked)
	require.ErrorIs(t, err, syscall.EISDIR, "the lock cannot be opened")
	require.NotErrorIs(t, err, durable.ErrInUse)

	one := &bank{World: world.MustNew(world.Options{})}
	_, err = durable.Open(context.Background(), t.TempDir(), one.World, y.s, durable.Options{})
	require.ErrorContains(t, err, "VersionsEach")

	failing := newBank(1)
	failing.options.New = func(*world.World) error { return errors.New("no map") }
	_, err = failing.open(t.TempDir())
	require.EqualError(t, err, "no map")
}

// TestKeeps removes what no snapshot needs any more.
func TestKeeps(t *testing.T) {
	path, disk := useDisk(t)
	for range 6 {
		x := newBank(1)
		x.options.Keep = 2
		st, err := x.open(path)
		require.NoError(t, err)
		for range 3 {
			x.step(t)
		}
		require.NoError(t, st.Close())
	}
	names, err := disk.List()
	require.NoError(t, err)
	slices.Sort(names)
	require.Equal(t, []string{"000000000005.log", "000000000006.log", "000000000006.snapshot", "000000000007.snapshot", "incarnation"}, names)
}

// slow is a disk whose syncs of files wait.
type slow struct {
	*faulty.Disk
	syncs chan struct{}
}

type slowFile struct {
	files.File
	syncs chan struct{}
}

func (d slow) Create(name string) (files.File, error) {
	f, err := d.Disk.Create(name)
	return slowFile{f, d.syncs}, err
}

func (f slowFile) Sync() error {
	<-f.syncs
	return f.File.Sync()
}

// TestLogBytes lets ticks wait for a disk that is slower than they are, and no request be lost.
func TestLogBytes(t *testing.T) {
	if durable.Sealed {
		t.Skip("each sealed tick waits for the disk, however little is to be written: TestSyncedIsTold")
	}
	path, disk := t.TempDir(), slow{faulty.New(), make(chan struct{}, 1000)}
	useAs(t, path, func() files.Files { return disk })
	for range 10 {
		disk.syncs <- struct{}{}
	}
	x := newBank(1)
	x.options.LogBytes = 4096
	st, err := x.open(path)
	require.NoError(t, err)
	for len(disk.syncs) > 0 {
		<-disk.syncs
	}
	port, err := x.OpenPort()
	require.NoError(t, err)
	ticks := make(chan uint64)
	go func() {
		for range 100 {
			for n := range uint64(20) {
				if _, err := x.ships.Create(port, fleet{Ship{n}}); err != nil {
					panic(err)
				}
			}
			if err := x.s.Step(context.Background()); err != nil {
				panic(err)
			}
			ticks <- x.Tick()
		}
		close(ticks)
	}()
	last := uint64(0)
	for last < 5 {
		last = <-ticks
	}
	require.Less(t, st.Durable(), last)
	waits := make(chan struct{})
	go func() {
		for range 1000 {
			disk.syncs <- struct{}{}
		}
		close(waits)
	}()
	for n := range ticks {
		require.Equal(t, last+1, n)
		last = n
	}
	require.NoError(t, st.Wait(context.Background()))
	require.Equal(t, last, st.Durable())
	st.Crash()
	<-waits
	x = newBank(1)
	st, err = x.open(path)
	require.NoError(t, err)
	require.Equal(t, last, x.Tick())
	sent := 0
	for h := range x.Query(world.With[Ship](x.World)).Entities() {
		if x.ship.Get(h).N < 20 { // the others are of the system
			sent++
		}
	}
	require.Equal(t, 2000, sent)
	st.Crash()
}

// TestNoLog keeps snapshots alone: after a crash the world is that of the last one, and gives no
// handle twice.
func TestNoLog(t *testing.T) {
	path, disk := useDisk(t)
	given, seen, saved := map[handle.Handle]uint64{}, map[uint64]string{}, uint64(0)
	open := func() (*bank, *durable.Store, error) {
		x := newBank(1)
		x.options.NoLog = true
		st, err := x.open(path)
		return x, st, err
	}
	for life := range uint32(6) {
		x, st, err := open()
		require.NoError(t, err)
		require.Equal(t, life+1, x.Incarnation())
		require.GreaterOrEqual(t, x.Tick(), saved)
		require.Equal(t, x.Tick(), st.Durable())
		if life > 0 {
			require.Equal(t, seen[x.Tick()], x.observe())
		}
		for h, n := range given {
			require.NotEqual(t, world.Unused, x.Status(h))
			require.True(t, !x.Alive(h) || x.ship.Get(h).N == n)
		}
		port, err := x.OpenPort()
		require.NoError(t, err)
		step := func() {
			n := uint64(len(given))
			h, err := x.ships.Create(port, fleet{Ship{n}})
			require.NoError(t, err)
			require.NotContains(t, given, h)
			given[h] = n
			x.step(t)
			seen[x.Tick()] = x.observe()
		}
		seen[x.Tick()] = x.observe()
		for range 5 {
			step()
		}
		if life != 3 {
			told := make(chan error, 1)
			go func() { told <- st.Wait(context.Background()) }()
			for len(told) == 0 {
				step()
			}
			require.NoError(t, <-told)
			saved = st.Durable()
			step()
		}
		st.Crash()
	}
	const last = "000000000006.snapshot"
	disk.Edit(last, func(data []byte) []byte { return data[:100] })
	_, _, err := open()
	require.ErrorIs(t, err, durable.ErrDamaged)
	require.ErrorContains(t, err, last)
}
