package durable_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
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
)

// voyage is a bank that is followed, whatever process it is.
type voyage struct {
	*bank
	t     *testing.T
	path  string
	disk  *faulty.Disk
	st    *durable.Store
	seen  map[uint64][]string // by tick
	given map[handle.Handle]bool
	set   func(o *durable.Options)
}

func newVoyage(t *testing.T) *voyage {
	x := &voyage{t: t, seen: map[uint64][]string{}, given: map[handle.Handle]bool{}}
	x.path, x.disk = useDisk(t)
	return x
}

// start opens the bank, which sees what its last process has left.
func (x *voyage) start() {
	x.bank = newBank(1)
	if x.set != nil {
		x.set(&x.options)
	}
	st, err := x.open(x.path)
	require.NoError(x.t, err)
	x.st = st
	for tick := range x.seen {
		if tick >= x.Tick() {
			delete(x.seen, tick)
		}
	}
	x.see()
}

func (x *voyage) see() { x.seen[x.Tick()] = append(x.seen[x.Tick()], x.observe()) }

// sail makes ticks with a create each, and a change between two of them.
func (x *voyage) sail(ticks int) {
	for range ticks {
		x.given[x.bank.given(x.t)] = true
		x.see()
	}
	if !durable.Sealed {
		_, err := x.ships.Create(x.World, fleet{Ship{7}})
		require.NoError(x.t, err)
		x.see()
	}
	x.step(x.t)
	x.see()
	require.NoError(x.t, x.st.Wait(context.Background()))
}

// save saves a snapshot while ticks are made.
func (x *voyage) save() {
	done := make(chan error, 1)
	go func() { done <- x.st.Save(context.Background()) }()
	for len(done) == 0 {
		x.step(x.t)
		x.see()
	}
	require.NoError(x.t, <-done)
}

// once follows the bank to a disk.
func (x *voyage) once(dest string) error {
	return durable.Follow(x.t.Context(), x.path, dest, durable.FollowOptions{Once: true})
}

// mustOpen opens a clone of a copy: it is as the bank was at a tick, and gives no handle again.
func (x *voyage) mustOpen(disk *faulty.Disk, least uint64, what string) {
	x.t.Helper()
	y, st, err := opened(x.t, disk, nil, nil)
	require.NoError(x.t, err, what)
	require.GreaterOrEqual(x.t, y.Tick(), least, what)
	require.Contains(x.t, x.seen[y.Tick()], y.observe(), what)
	require.Greater(x.t, st.Recovered().Incarnation, x.Incarnation())
	require.NotContains(x.t, x.given, y.given(x.t), what)
}

// TestFollow copies a bank at times, which is opened, saved, changed, crashed, closed and pruned.
func TestFollow(t *testing.T) {
	for range 3 {
		dice := rand.New(rand.NewPCG(seed.Of(t), 3))
		x := newVoyage(t)
		x.set = func(o *durable.Options) { o.Keep, o.Increments = 1+dice.IntN(3), dice.IntN(3) }
		path, copied := useDisk(t)
		for life := range 4 {
			x.start()
			for n := range 8 {
				switch dice.IntN(4) {
				case 0, 1:
					x.sail(dice.IntN(4))
				case 2:
					x.save()
				case 3:
					least := x.st.Durable()
					require.NoError(t, x.once(path))
					x.mustOpen(copied, least, fmt.Sprint(life, n))
				}
			}
			switch dice.IntN(3) {
			case 0:
				require.NoError(t, x.st.Close())
			case 1:
				x.disk.PowerOff()
				fallthrough
			default:
				x.st.Crash()
				x.disk.Reboot()
			}
			if dice.IntN(2) == 0 {
				require.NoError(t, x.once(path))
				x.mustOpen(copied, 0, fmt.Sprint(life, " ended"))
			}
		}
		require.NoError(t, x.once(path))
		x.mustOpen(copied, 0, "ended")
	}
}

// stages returns a bank at three times, as disks.
func stages(t *testing.T, increments int) (x *voyage, all [3]*faulty.Disk) {
	x = newVoyage(t)
	x.set = func(o *durable.Options) { o.Keep, o.Increments = 1+20*increments, increments }
	for i := range all {
		x.start()
		x.sail(2)
		x.save()
		x.sail(2)
		x.save()
		x.sail(3)
		if all[i] = x.disk.Clone(); i == 0 {
			x.save()
			all[i] = x.disk.Clone()
		}
		x.st.Crash()
	}
	return x, all
}

// TestFollowFaulty lets each call of a disk fail while it is followed or copied to, or the power go:
// the copy can be opened at any moment from its first snapshot on, and goes on.
func TestFollowFaulty(t *testing.T) {
	first, stride := 1, 1
	switch {
	case check.Enabled && testing.Short(): // one goroutine does nearly all of it
		stride = 97
	case check.Enabled || testing.Short():
		stride = 23
	}
	if stride > 1 { // other calls with another seed
		first += int(seed.Of(t) % uint64(stride))
	}
	from, to := t.TempDir(), t.TempDir()
	var source, copied *faulty.Disk
	useAs(t, from, func() files.Files { return source })
	useAs(t, to, func() files.Files { return copied })
	once := func() error { return durable.Follow(t.Context(), from, to, durable.FollowOptions{Once: true}) }
	for increments := range 2 {
		x, all := stages(t, increments)
		for _, atSource := range []bool{false, true} {
			for _, fault := range faulty.Faults {
				for at := first; ; at += stride {
					what := fmt.Sprintf("increments %d, at the source %v: %s at call %d", increments, atSource, fault.Name, at)
					source, copied = all[0].Clone(), faulty.New()
					whole := at%2 == 0
					if whole {
						require.NoError(t, once(), what)
						source = all[1].Clone()
					}
					bad := copied
					if atSource {
						bad = source
					}
					bad.FailAt(at, fault)
					err := once()
					reached := bad.Calls() >= at
					source.Reboot()
					copied.Reboot()
					require.True(t, err == nil || errors.Is(err, faulty.ErrDisk), "%s: %v", what, err)
					if y, st, err := opened(t, copied, nil, nil); err == nil {
						if !st.Recovered().New { // nothing was written yet
							require.Contains(t, x.seen[y.Tick()], y.observe(), what)
							require.NotContains(t, x.given, y.given(t), what)
						}
					} else {
						require.False(t, whole, "%s: %v", what, err)
						require.ErrorContains(t, err, "has not copied a snapshot yet", what)
					}
					source = all[2].Clone()
					require.NoError(t, once(), what)
					x.mustOpen(copied, x.Tick(), what)
					if !reached {
						break
					}
				}
			}
		}
	}
}

// TestFollowHole has the power go at the copy while a part of a file is not on disk, and what is
// behind it is: that is a tear, because marks are written when all before them is on disk.
func TestFollowHole(t *testing.T) {
	x := newVoyage(t)
	x.start()
	path, copied := useDisk(t)
	require.NoError(t, x.once(path))
	had := len(contents(copied, log1))
	for range 5 {
		x.step(t)
		x.see()
		require.NoError(t, x.st.Wait(context.Background()))
	}
	require.NoError(t, x.once(path))
	size, mark := len(contents(copied, log1)), len(marks.Append(nil, 0, 0))
	require.Greater(t, size, had+6*mark)
	require.Equal(t, size, len(contents(x.disk, log1)))
	torn := copied.Clone()
	torn.Edit(log1, func(data []byte) []byte {
		clear(data[had+10 : had+30])
		return data[:size-mark]
	})
	y, st, err := opened(t, torn, nil, nil)
	require.NoError(t, err)
	require.Error(t, st.Recovered().Torn)
	require.Contains(t, x.seen[y.Tick()], y.observe())
	useAs(t, path, func() files.Files { return torn })
	require.NoError(t, x.once(path))
	x.mustOpen(torn, x.st.Durable(), "mended")
	x.st.Crash()

	// What the source was not told to be on disk may be gone there when the power is: it is not copied.
	source, tail := x.disk.Clone(), 0
	source.Edit(log1, func(data []byte) []byte {
		data = data[:len(data)-mark]
		tail = len(data) - bytes.LastIndex(data, []byte{'M', 16, 0, 0, 0}) - mark
		return data
	})
	require.Greater(t, tail, 20)
	from, to := t.TempDir(), t.TempDir()
	copied = faulty.New()
	useAs(t, from, func() files.Files { return source })
	useAs(t, to, func() files.Files { return copied })
	require.NoError(t, durable.Follow(t.Context(), from, to, durable.FollowOptions{Once: true}))
	require.Equal(t, len(contents(source, log1))-tail, len(contents(copied, log1)))
	x.mustOpen(copied, 1, "without the tail")
}

// TestFollowRefuses does not touch what is no copy of the source.
func TestFollowRefuses(t *testing.T) {
	_, all := stages(t, 0)
	other, _ := stages(t, 0)
	for name, do := range map[string]func(source *faulty.Disk, copied **faulty.Disk, from, to string){
		"the copy was opened": func(_ *faulty.Disk, _ **faulty.Disk, _, to string) {
			y := newBank(1)
			st, err := y.open(to)
			require.NoError(t, err)
			require.NoError(t, st.Close())
		},
		"it is a world": func(source *faulty.Disk, copied **faulty.Disk, _, _ string) { *copied = source.Clone() },
		"it is of another world": func(source *faulty.Disk, _ **faulty.Disk, _, _ string) {
			*source = *other.disk.Clone()
		},
		"the source is new": func(source *faulty.Disk, _ **faulty.Disk, from, _ string) {
			*source = *faulty.New()
			y := newBank(1)
			st, err := y.open(from)
			require.NoError(t, err)
			st.Crash()
		},
		"the source was restored": func(source *faulty.Disk, _ **faulty.Disk, _, _ string) { *source = *all[0].Clone() },
		"the source was restored, and has gone on": func(source *faulty.Disk, _ **faulty.Disk, from, _ string) {
			*source = *all[0].Clone()
			for range 12 {
				y := newBank(1)
				y.options.Keep = 100
				st, err := y.open(from)
				require.NoError(t, err)
				y.given(t)
				st.Crash()
			}
		},
	} {
		from, to := t.TempDir(), t.TempDir()
		source, copied := all[1].Clone(), faulty.New()
		useAs(t, from, func() files.Files { return source })
		useAs(t, to, func() files.Files { return copied })
		once := func() error {
			return durable.Follow(t.Context(), from, to, durable.FollowOptions{Once: true})
		}
		require.NoError(t, once())
		do(source, &copied, from, to)
		was := copied.Clone()
		require.ErrorIs(t, once(), durable.ErrNotCopy, name)
		names, _ := was.List()
		now, _ := copied.List()
		require.ElementsMatch(t, names, now, name)
		for _, n := range names {
			require.Equal(t, contents(was, n), contents(copied, n), name)
		}
	}
}

// TestFollowDamaged has damage at the source, or at the copy: the copy can be opened all the same.
func TestFollowDamaged(t *testing.T) {
	x, all := stages(t, 0)
	for _, atSource := range []bool{true, false} {
		names, err := all[2].List()
		require.NoError(t, err)
		for _, name := range names {
			for _, at := range []int{-40, 100} {
				if name == "incarnation" && atSource {
					continue
				}
				from, to := t.TempDir(), t.TempDir()
				source, copied := all[1].Clone(), faulty.New()
				useAs(t, from, func() files.Files { return source })
				useAs(t, to, func() files.Files { return copied })
				once := func() error {
					return durable.Follow(t.Context(), from, to, durable.FollowOptions{Once: true})
				}
				require.NoError(t, once())
				had, _ := copied.List()
				source = all[2].Clone()
				bad := copied
				if atSource {
					bad = source
				}
				if list, _ := bad.List(); !strings.Contains(fmt.Sprint(list), name) || len(contents(bad, name)) < 150 {
					continue
				}
				bad.Edit(name, flip(at))
				err := once()
				if !atSource {
					require.NoError(t, err, name)
					x.mustOpen(copied, x.Tick(), name)
					continue
				}
				newer := slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, ".snapshot") && n > name })
				require.Equal(t, err != nil, !strings.Contains(fmt.Sprint(had), name) && !(strings.HasSuffix(name, ".snapshot") && newer) || strings.HasSuffix(name, ".log") && len(contents(copied, name)) < len(contents(source, name)), "%s: %v", name, err)
				_, _, err = opened(t, copied, nil, nil)
				require.NoError(t, err, name)
			}
		}
	}
}

// TestFollowAccepted makes a copy of a directory in which a loss was accepted: the damaged increment is
// still there, and the snapshot that Open has saved since makes up for it. The Logger is told, once.
func TestFollowAccepted(t *testing.T) {
	x, all := stages(t, 3)
	from, to := t.TempDir(), t.TempDir()
	source, copied := all[1].Clone(), faulty.New()
	useAs(t, from, func() files.Files { return source })
	useAs(t, to, func() files.Files { return copied })
	names, err := source.List()
	require.NoError(t, err)
	slices.Sort(names)
	last := ""
	for _, name := range names {
		if strings.HasSuffix(name, ".increment") {
			last = name
		}
	}
	require.NotEmpty(t, last)
	source.Edit(last, flip(-40))
	var log tale
	o := durable.FollowOptions{Once: true, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	require.ErrorContains(t, durable.Follow(t.Context(), from, to, o), last)
	b := newBank(1)
	x.set(&b.options)
	b.options.AcceptLoss = true
	st, err := b.open(from)
	require.NoError(t, err)
	b.step(t)
	require.NoError(t, st.Wait(t.Context()))
	log.lines()
	require.NoError(t, durable.Follow(t.Context(), from, to, o))
	require.Contains(t, log.String(), "a damaged file of the source is left out, and a newer snapshot makes up for it")
	require.Contains(t, log.String(), last)
	want := b.observe()
	st.Crash()
	b = newBank(1)
	x.set(&b.options)
	st, err = b.open(to)
	require.NoError(t, err)
	require.Equal(t, want, b.observe())
	st.Crash()
}

// fullDisk has room for some writes only.
type fullDisk struct {
	files.Files
	room *int
}

type fullFile struct {
	files.File
	room *int
}

func (d fullDisk) Create(name string) (files.File, error) {
	f, err := d.Files.Create(name)
	return fullFile{f, d.room}, err
}

func (d fullDisk) Append(name string) (files.File, error) {
	f, err := d.Files.Append(name)
	return fullFile{f, d.room}, err
}

func (f fullFile) Write(p []byte) (int, error) {
	n := min(len(p), *f.room)
	*f.room -= n
	if n, err := f.File.Write(p[:n]); n < len(p) || err != nil {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// TestFollowFull has the disk of the copy full, at any place, for a while.
func TestFollowFull(t *testing.T) {
	x, all := stages(t, 0)
	stride := 997
	if testing.Short() || check.Enabled {
		stride = 4001
	}
	for most := 0; ; most += stride {
		from, to := t.TempDir(), t.TempDir()
		source, copied, room := all[0].Clone(), faulty.New(), 1<<30
		useAs(t, from, func() files.Files { return source })
		useAs(t, to, func() files.Files { return fullDisk{copied, &room} })
		once := func() error {
			return durable.Follow(t.Context(), from, to, durable.FollowOptions{Once: true})
		}
		require.NoError(t, once())
		source = all[2].Clone()
		room = most
		err := once()
		if err != nil {
			require.ErrorIs(t, err, syscall.ENOSPC)
			y, _, err := opened(t, copied, nil, nil)
			require.NoError(t, err)
			require.Contains(t, x.seen[y.Tick()], y.observe())
			room = 1 << 30
			require.NoError(t, once())
		}
		x.mustOpen(copied, x.Tick(), "full")
		if err == nil {
			break
		}
	}
}

// TestFollowLive follows a bank that saves all the time and keeps little, on the disk of the system,
// and opens copies of copies.
func TestFollowLive(t *testing.T) {
	x := newVoyage(t)
	x.path = t.TempDir()
	x.set = func(o *durable.Options) { o.Keep, o.Increments, o.Interval = 1, 2, time.Millisecond }
	x.start()
	first, second := t.TempDir(), t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var is [2]atomic.Uint64
	ended := make(chan error, 2)
	for i, dest := range []string{first, second} {
		from := [2]string{x.path, first}[i]
		go func() {
			o := durable.FollowOptions{Every: time.Millisecond, OnProgress: func(now durable.Followed) { is[i].Store(now.Tick) }}
			if i == 0 {
				ended <- x.st.Follow(ctx, dest, o)
			} else {
				ended <- durable.Follow(ctx, from, dest, o)
			}
		}()
	}
	end := time.Now().Add(2 * time.Second)
	for time.Now().Before(end) || is[0].Load() <= 100 || is[1].Load() <= 100 { // a slow disk takes longer
		x.sail(2)
	}
	var lag float64
	x.st.Measured(func(name string, value float64) {
		if name == "atoll_store_copy_lag_ticks" {
			lag = value
		}
	})
	require.Less(t, lag, float64(x.Tick()))
	require.NoError(t, x.st.Close())
	stop()
	require.NoError(t, <-ended)
	require.NoError(t, <-ended)
	for i, dest := range []string{first, second} {
		require.NoError(t, durable.Follow(t.Context(), [2]string{x.path, first}[i], dest, durable.FollowOptions{Once: true}))
	}
	for _, dest := range []string{first, second} {
		y := newBank(1)
		st, err := y.open(dest)
		require.NoError(t, err)
		require.Equal(t, x.observe(), y.observe())
		require.False(t, st.Recovered().Clean)
		require.NotContains(t, x.given, y.given(t))
		require.ErrorIs(t, durable.Follow(t.Context(), x.path, dest, durable.FollowOptions{Once: true}), durable.ErrInUse)
		require.NoError(t, st.Close())
		require.ErrorIs(t, durable.Follow(t.Context(), x.path, dest, durable.FollowOptions{Once: true}), durable.ErrNotCopy)
	}
}

// TestFollowItself is refused, whatever the directory has and however it is spelled, and changes
// nothing. Who else uses a copy is told without the advice for Open.
func TestFollowItself(t *testing.T) {
	once := func(from, to string) error {
		return durable.Follow(t.Context(), from, to, durable.FollowOptions{Once: true})
	}
	path, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(path, link))
	mustRefuse := func() {
		t.Helper()
		for _, dest := range []string{path, path + "/.", link} {
			err := once(path, dest)
			require.ErrorIs(t, err, durable.ErrNotCopy)
			require.ErrorContains(t, err, "is the source itself")
		}
	}
	mustRefuse()
	x := newBank(1)
	st, err := x.open(path) // it has no file copy
	require.NoError(t, err)
	require.True(t, st.Recovered().New)
	mustRefuse()
	y := newBank(1)
	other, err := y.open(t.TempDir())
	require.NoError(t, err)
	err = other.Follow(t.Context(), path, durable.FollowOptions{Once: true})
	require.ErrorIs(t, err, durable.ErrInUse)
	require.NotContains(t, err.Error(), "LockTimeout", "Follow has none")
	require.NoError(t, other.Close())
	require.NoError(t, st.Close())
	mustRefuse()
}
