package durable_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/internal/marks"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/world"
)

// logsOf returns the names of the segments on a disk, in order.
func logsOf(t *testing.T, disk *faulty.Disk) []string {
	names, err := disk.List()
	require.NoError(t, err)
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".log") })
	slices.Sort(names)
	return names
}

// contents returns a file of a disk.
func contents(disk *faulty.Disk, name string) (all []byte) {
	disk.Edit(name, func(data []byte) []byte { all = bytes.Clone(data); return data })
	return all
}

// TestHoleInTail has sectors of a batch that was not synced reach the disk out of order: what is
// intact behind the hole does not make it damage, and what was told durable is there.
func TestHoleInTail(t *testing.T) {
	path, disk := useDisk(t)
	x := newBank(1)
	st, err := x.open(path)
	require.NoError(t, err)
	x.step(t)
	require.NoError(t, st.Wait(context.Background()))
	synced := len(contents(disk, log1))
	for range 5 {
		x.step(t)
	}
	require.NoError(t, st.Wait(context.Background()))
	st.Crash()
	all := contents(disk, log1)
	behind := slices.Clone(all[synced:])
	mark := marks.Append(nil, 0, 0)[:5] // its kind and length
	for at := bytes.Index(behind, mark); at >= 0; at = bytes.Index(behind, mark) {
		behind = slices.Delete(behind, at, at+len(marks.Append(nil, 0, 0))) // as if it were one batch
	}
	require.Greater(t, len(behind), 100)
	for _, kept := range [][]byte{
		append(make([]byte, 60), behind[60:]...),               // all but a hole
		make([]byte, len(behind)), behind[:len(behind)/2], nil, // a tail of zeroes, a cut
		append(slices.Clone(behind[:len(behind)/2]), behind...), // twice
		append(slices.Clone(behind[len(behind)/2:]), all[:synced]...),
	} {
		y, st, err := opened(t, disk, func(d *faulty.Disk) {
			d.Edit(log1, func([]byte) []byte { return append(slices.Clone(all[:synced]), kept...) })
		}, nil)
		require.NoError(t, err)
		require.GreaterOrEqual(t, y.Tick(), uint64(1))
		require.Error(t, st.Recovered().Torn)
	}
}

// TestForgedMark has a client send what looks like a mark of ticks that never were. It is no mark,
// because nobody knows the id of a segment.
func TestForgedMark(t *testing.T) {
	path, disk := useDisk(t)
	build := func() (*bank, *world.Func[string]) {
		x := newBank(1)
		return x, world.RegisterFunc(x.World, "say", func(*world.EntityContext, string) {})
	}
	x, say := build()
	st, err := x.open(path)
	require.NoError(t, err)
	port, err := x.OpenPort()
	require.NoError(t, err)
	for id := range uint64(3) {
		require.NoError(t, say.Call(port, x.accounts()[0], string(marks.Append(nil, id, 1<<40))))
	}
	x.step(t)
	require.NoError(t, st.Wait(context.Background()))
	st.Crash()
	disk.Edit(log1, func(data []byte) []byte { return data[:len(data)-40] }) // into the record
	y, _ := build()
	st, err = y.open(path)
	require.NoError(t, err)
	require.Error(t, st.Recovered().Torn)
	st.Crash()
}

// oldest damages all snapshots but the first, so that all of the log is needed.
func oldest(t *testing.T, d *faulty.Disk) {
	names, err := d.List()
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, ".snapshot") && name != "000000000001.snapshot" {
			d.Edit(name, flip(-60))
		}
	}
}

// crashing makes a directory of three processes that died, each behind a snapshot and three
// ticks, and what can be seen at each tick.
func crashing(t *testing.T) (disk *faulty.Disk, seen map[uint64]string, given map[handle.Handle]bool) {
	path, disk := useDisk(t)
	seen, given = map[uint64]string{}, map[handle.Handle]bool{}
	for range 3 {
		x := newBank(1)
		x.options.Keep = 20
		st, err := x.open(path)
		require.NoError(t, err)
		for range 2 {
			x.saves(t, st, 1)
			for range 3 {
				given[x.given(t)] = true
				seen[x.Tick()] = x.observe()
			}
		}
		require.NoError(t, st.Wait(context.Background()))
		st.Crash()
	}
	return disk, seen, given
}

// TestOtherFiles exchanges, copies and renames segments, and puts segments of other directories
// in their place: Open names the file. It starts from the oldest snapshot, so it needs them all.
func TestOtherFiles(t *testing.T) {
	disk, seen, given := crashing(t)
	other, _, _ := crashing(t)
	logs := logsOf(t, disk)
	require.Equal(t, logs, logsOf(t, other))
	require.Len(t, logs, 9)
	put := func(d *faulty.Disk, name string, data []byte) {
		f, err := d.Create(name)
		require.NoError(t, err)
		_, err = f.Write(data)
		require.NoError(t, err)
		require.NoError(t, f.Sync())
	}
	whole, _, err := opened(t, disk, func(d *faulty.Disk) { oldest(t, d) }, nil)
	require.NoError(t, err)
	part, first := 1, 0
	switch {
	case check.Enabled: // other pairs with another seed
		part, first = 9, int(seed.Of(t)%9)
	case testing.Short():
		part = 3
	}
	for i := range logs {
		for j := range logs {
			a, b := logs[i], logs[j]
			for what, change := range map[string]func(*faulty.Disk){
				"exchanged": func(d *faulty.Disk) {
					x, y := contents(d, a), contents(d, b)
					put(d, a, y)
					put(d, b, x)
				},
				"copied":  func(d *faulty.Disk) { put(d, a, contents(d, b)) },
				"renamed": func(d *faulty.Disk) { require.NoError(t, d.Rename(b, a)) },
			} {
				if i == j || (i+j+first)%part > 0 {
					continue
				}
				change := func(d *faulty.Disk) { oldest(t, d); change(d) }
				says := []string{a, b}
				_, _, err := opened(t, disk, change, nil)
				require.ErrorIs(t, err, durable.ErrDamaged, "%s %s %s", what, a, b)
				require.True(t, strings.Contains(err.Error(), says[0]) || strings.Contains(err.Error(), says[1]), err)
				y, st, err := opened(t, disk, change, func(o *durable.Options) { o.AcceptLoss = true })
				require.NoError(t, err)
				require.NotEmpty(t, st.Recovered().Lost)
				require.LessOrEqual(t, y.Tick(), whole.Tick())
				if want, is := seen[y.Tick()]; is {
					require.Equal(t, want, y.observe(), what)
				}
				for range 3 {
					require.NotContains(t, given, y.given(t), what)
				}
			}
		}
		for what, change := range map[string]func(*faulty.Disk){
			"foreign": func(d *faulty.Disk) { put(d, logs[i], contents(other, logs[i])) },
			"removed": func(d *faulty.Disk) { require.NoError(t, d.Remove(logs[i])) },
		} {
			_, _, err := opened(t, disk, func(d *faulty.Disk) { oldest(t, d); change(d) }, nil)
			require.ErrorIs(t, err, durable.ErrDamaged, "%s %s", what, logs[i])
			require.True(t, strings.Contains(err.Error(), logs[i]) || i+1 < len(logs) && strings.Contains(err.Error(), logs[i+1]), err)
		}
	}
	next := "000000000010.log"
	_, _, err = opened(t, disk, func(d *faulty.Disk) { put(d, next, contents(d, logs[8])) }, nil)
	require.ErrorIs(t, err, durable.ErrDamaged)
	require.ErrorContains(t, err, next+": durable: a file is in the place of another: its head belongs to "+logs[8])
}

// TestSnapshotRemoved loses all snapshots but the first. If the log leads to its state, that makes
// up for it. If not, because the idle world was changed, it is missed.
func TestSnapshotRemoved(t *testing.T) {
	for _, changed := range []bool{false, true} {
		for _, closes := range []bool{false, true} {
			path, disk := useDisk(t)
			x := newBank(1)
			st, err := x.open(path)
			require.NoError(t, err)
			x.step(t)
			if changed = changed && !durable.Sealed; changed { // or a log has it
				_, err = x.ships.Create(x.World, fleet{Ship{5}})
				require.NoError(t, err)
			}
			if closes {
				require.NoError(t, st.Close())
			} else {
				x.saves(t, st, 1)
				x.step(t)
				require.NoError(t, st.Wait(context.Background()))
				st.Crash()
			}
			names, err := disk.List()
			require.NoError(t, err)
			names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".snapshot") })
			newest := slices.Max(names)
			lose := func(d *faulty.Disk) {
				for _, name := range names {
					if name != "000000000001.snapshot" {
						require.NoError(t, d.Remove(name))
					}
				}
			}
			y, st, err := opened(t, disk, lose, nil)
			if !changed {
				require.NoError(t, err)
				require.Equal(t, x.observe(), y.observe())
				require.ErrorContains(t, st.Recovered().Snapshot.Passed[0], newest)
				continue
			}
			require.ErrorIs(t, err, durable.ErrDamaged)
			_, st, err = opened(t, disk, lose, func(o *durable.Options) { o.AcceptLoss = true })
			require.NoError(t, err)
			require.NotEmpty(t, st.Recovered().Lost)
		}
	}
}

// TestIncarnationLost removes, empties and alters the file incarnation: that is damage. If it is
// accepted, no handle is given that any process gave, even if no segment can be read.
func TestIncarnationLost(t *testing.T) {
	path, disk := useDisk(t)
	given := map[handle.Handle]bool{}
	gives := func(x *bank) {
		port, err := x.OpenPort()
		require.NoError(t, err)
		for range 50 {
			h, err := x.ships.Create(port, fleet{})
			require.NoError(t, err)
			require.NotContains(t, given, h)
			given[h] = true
		}
		port.Close()
	}
	var last uint32
	for range 40 {
		x := newBank(1)
		x.options.Keep = 20
		st, err := x.open(path)
		require.NoError(t, err)
		gives(x)
		last = x.Incarnation()
		st.Crash()
	}
	require.EqualValues(t, 40, last)
	size := len(contents(disk, "incarnation"))
	changes := map[string]func(*faulty.Disk){
		"removed":        func(d *faulty.Disk) { require.NoError(t, d.Remove("incarnation")) },
		"empty":          func(d *faulty.Disk) { d.Edit("incarnation", func([]byte) []byte { return nil }) },
		"something else": func(d *faulty.Disk) { d.Edit("incarnation", func([]byte) []byte { return []byte("what is this") }) },
		"of before":      func(d *faulty.Disk) { d.Edit("incarnation", func([]byte) []byte { return []byte("3 3 1\n") }) },
	}
	apart := 3
	if testing.Short() {
		apart = 9
	}
	drawn := int(seed.Of(t) >> 8)
	turn := drawn % 3
	for at := range size {
		if check.Enabled && at%apart != drawn%apart {
			continue // with another seed
		}
		changes[fmt.Sprint("altered at ", at)] = func(d *faulty.Disk) { d.Edit("incarnation", flip(at)) }
	}
	for what, change := range changes {
		for i, heads := range []int{0, 1, 100} {
			if check.Enabled && strings.HasPrefix(what, "altered") && i != turn {
				continue // with another seed
			}
			change := func(d *faulty.Disk) {
				change(d)
				logs := logsOf(t, d)
				for i := range min(heads, len(logs)) {
					d.Edit(logs[len(logs)-1-i], flip(30))
				}
			}
			if heads > 1 { // nor any snapshot but the first
				heads := change
				change = func(d *faulty.Disk) { heads(d); oldest(t, d) }
			}
			_, _, err := opened(t, disk, change, nil)
			require.ErrorIs(t, err, durable.ErrDamaged, what)
			require.ErrorContains(t, err, "incarnation", what)
			x, st, err := opened(t, disk, change, func(o *durable.Options) { o.AcceptLoss = true })
			require.NoError(t, err, what)
			require.Greater(t, x.Incarnation(), last, "%s, %d heads", what, heads)
			require.False(t, st.Recovered().Clean)
			for range 3 {
				require.NotContains(t, given, x.given(t), what)
			}
		}
	}
}

// blocked is a disk whose syncs of files wait for the test.
type blocked struct {
	*faulty.Disk
	syncs chan chan struct{}
}

type blockedFile struct {
	files.File
	syncs chan chan struct{}
}

func (d blocked) Create(name string) (files.File, error) {
	f, err := d.Disk.Create(name)
	return blockedFile{f, d.syncs}, err
}

func (f blockedFile) Sync() error {
	err := f.File.Sync() // what is written from now on is not on disk
	if f.syncs != nil {
		done := make(chan struct{})
		select {
		case f.syncs <- done:
			<-done
		case <-waitNoMore:
		}
	}
	return err
}

var waitNoMore = make(chan struct{})

// syncedIsSeen makes ticks that wait for the disk: their outcomes are known when that has synced.
func syncedIsSeen(t *testing.T, x *bank, st *durable.Store, syncs <-chan chan struct{}) {
	p, err := x.OpenPort()
	require.NoError(t, err)
	for n := range uint64(3) {
		var done world.Completion
		require.NoError(t, x.grant.Call(p.Notify(&done), n))
		tick := make(chan error, 1)
		was := x.Tick()
		go func() { tick <- x.s.Step(context.Background()) }()
		synced := <-syncs
		for range 10 {
			require.Equal(t, world.Undecided, done.Outcome())
			require.Equal(t, was, x.Tick())
			require.LessOrEqual(t, st.Durable(), was)
			require.Empty(t, tick)
			time.Sleep(time.Millisecond)
		}
		close(synced)
		require.NoError(t, <-tick)
		require.Equal(t, world.Applied, done.Outcome())
		require.Equal(t, x.Tick(), st.Durable())
	}
	x.World.Close()
	go func() {
		for synced := range syncs {
			close(synced)
		}
	}()
	require.NoError(t, st.Close())
}

// TestSyncedIsTold records ticks while others are synced: what is told durable is what the sync
// covers, and not what is recorded by now. A sealed tick does not end before the sync.
func TestSyncedIsTold(t *testing.T) {
	waitNoMore = make(chan struct{})
	path, disk := t.TempDir(), &blocked{Disk: faulty.New()}
	useAs(t, path, func() files.Files { return *disk })
	x := newBank(1)
	st, err := x.open(path)
	require.NoError(t, err)
	st.Crash()
	disk.syncs = make(chan chan struct{})
	x = newBank(1)
	opening := make(chan error, 1)
	go func() { st, err = x.open(path); opening <- err }()
	for open := true; open; {
		select {
		case done := <-disk.syncs:
			close(done)
		case err := <-opening:
			require.NoError(t, err)
			open = false
		}
	}
	if durable.Sealed {
		syncedIsSeen(t, x, st, disk.syncs)
		return
	}
	x.step(t)
	first := <-disk.syncs // of the first tick
	was := x.Tick()
	for range 3 {
		x.step(t)
	}
	waits := make(chan error, 1)
	go func() { waits <- st.Wait(context.Background()) }()
	require.Less(t, st.Durable(), was)
	close(first)
	second := <-disk.syncs // of the others, which are written and not on disk
	require.Equal(t, was, st.Durable())
	select {
	case <-waits:
		t.Fatal("Wait has returned before the sync")
	default:
	}
	close(second)
	require.NoError(t, <-waits)
	require.Equal(t, x.Tick(), st.Durable())
	close(waitNoMore)
	st.Crash()
}

// TestPowerOff loses power while ticks go on, and whatever was told durable at that moment is there.
func TestPowerOff(t *testing.T) {
	path, disk := useDisk(t)
	told := uint64(0)
	for range 20 {
		x := newBank(1)
		st, err := x.open(path)
		require.NoError(t, err)
		require.GreaterOrEqual(t, x.Tick(), told, "what was told durable is lost")
		require.Empty(t, st.Recovered().Lost)
		for range 50 {
			x.step(t)
		}
		told = st.Durable()
		disk.PowerOff()
		st.Crash()
		disk.Reboot()
	}
}

// TestEarlierVersion refuses the log of an earlier version with a word on what to do, and continues
// what that had closed.
func TestEarlierVersion(t *testing.T) {
	path, disk := useDisk(t)
	x := newBank(1)
	st, err := x.open(path)
	require.NoError(t, err)
	x.step(t)
	require.NoError(t, st.Wait(context.Background()))
	st.Crash()
	old := func(d *faulty.Disk) {
		d.Edit(log1, func(data []byte) []byte { data[7]--; return data })
	}
	_, _, err = opened(t, disk, old, nil)
	require.NotErrorIs(t, err, durable.ErrDamaged)
	require.ErrorContains(t, err, log1+": inputlog: the log has another version: 10, want 11; play it with the build of the program that wrote it; nothing is damaged: start the program that wrote it, and stop it by Close")
}

// TestStatementOnDisk cuts the power right behind each call that begins a process: the file
// incarnation is whole, and has what a handle was given of.
func TestStatementOnDisk(t *testing.T) {
	path, disk := useDisk(t)
	given := map[handle.Handle]bool{}
	for range 5 {
		x := newBank(1)
		st, err := x.open(path)
		require.NoError(t, err)
		h := x.given(t)
		require.NotContains(t, given, h)
		given[h] = true
		disk.PowerOff()
		st.Crash()
		disk.Reboot()
		require.Regexp(t, fmt.Sprintf("^atoll-durable-4 [0-9a-f]{16} %d ", x.Incarnation()), string(contents(disk, "incarnation")))
		for _, name := range logsOf(t, disk) { // so that nothing else has it
			require.NoError(t, disk.Remove(name))
		}
		x = newBank(1)
		x.options.AcceptLoss = true
		st, err = x.open(path)
		require.NoError(t, err)
		h = x.given(t)
		require.NotContains(t, given, h)
		given[h] = true
		st.Crash()
	}
}

// counting is a disk that counts syncs.
type counting struct {
	*faulty.Disk
	syncs *atomic.Int64
}

type countingFile struct {
	files.File
	syncs *atomic.Int64
}

func (d counting) Create(name string) (files.File, error) {
	f, err := d.Disk.Create(name)
	return countingFile{f, d.syncs}, err
}

func (d counting) Sync() error { d.syncs.Add(1); return d.Disk.Sync() }

func (f countingFile) Sync() error { f.syncs.Add(1); return f.File.Sync() }

// TestOneSync syncs once for a tick that is waited for: marks cost no sync.
func TestOneSync(t *testing.T) {
	path, disk := t.TempDir(), counting{faulty.New(), new(atomic.Int64)}
	useAs(t, path, func() files.Files { return disk })
	x := newBank(1)
	st, err := x.open(path)
	require.NoError(t, err)
	before := disk.syncs.Load()
	for range 100 {
		x.step(t)
		require.NoError(t, st.Wait(context.Background()))
	}
	require.EqualValues(t, 100, disk.syncs.Load()-before)
	st.Crash()
}
