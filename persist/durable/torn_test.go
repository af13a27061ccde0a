package durable_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// ends are ways in which the last segment of the log is lost.
var ends = map[string]func(name string) error{
	"removed":   os.Remove,
	"empty":     func(name string) error { return os.Truncate(name, 0) },
	"in header": func(name string) error { return os.Truncate(name, 40) },
}

// crashed returns a directory as a crash leaves it, after ticks that were on disk, but for the last
// segment. With rotated, a snapshot was saved after the first ticks, and another segment begun.
func crashed(t *testing.T, rotated, clean bool, end func(string) error) (dir, last string, ticks uint64) {
	from := t.TempDir()
	if clean { // a process that was stopped came before
		x := newBank(1)
		st, err := x.open(from)
		require.NoError(t, err)
		x.step(t)
		require.NoError(t, st.Close())
	}
	x := newBank(1)
	st, err := x.open(from)
	require.NoError(t, err)
	step := func() {
		for range 5 {
			x.step(t)
		}
		require.NoError(t, st.Wait(context.Background()))
	}
	step()
	if rotated {
		x.saves(t, st, 1)
		step()
	}
	dir = t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(from)))
	require.NoError(t, st.Close())
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	require.NoError(t, err)
	slices.Sort(logs)
	last = logs[len(logs)-1]
	require.NoError(t, end(last))
	return dir, filepath.Base(last), x.Tick()
}

// TestFirstSegmentLost loses the segment with which the last process began: it was on disk, so Open
// refuses the directory, or goes on without it if the loss is accepted.
func TestFirstSegmentLost(t *testing.T) {
	for name, end := range ends {
		for _, clean := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				dir, last, _ := crashed(t, false, clean, end)
				_, err := newBank(1).open(dir)
				require.ErrorIs(t, err, durable.ErrDamaged)
				require.ErrorContains(t, err, last+", whose beginning was on disk, is missing or cut off there")
				x := newBank(1)
				x.options.AcceptLoss = true
				st, err := x.open(dir)
				require.NoError(t, err)
				require.ErrorContains(t, errors.Join(st.Recovered().Lost...), last)
				require.False(t, st.Recovered().Clean && !clean)
				require.NoError(t, st.Close())
				st, err = newBank(1).open(dir)
				require.NoError(t, err)
				require.NoError(t, st.Close())
			})
		}
	}
}

// refuses opens a directory, which Open refuses, naming a file. Then it accepts the loss.
func refuses(t *testing.T, dir, file string) (*bank, *durable.Store) {
	_, err := newBank(1).open(dir)
	require.ErrorIs(t, err, durable.ErrDamaged)
	require.ErrorContains(t, err, file)
	x := newBank(1)
	x.options.AcceptLoss = true
	st, err := x.open(dir)
	require.NoError(t, err)
	require.NotEmpty(t, st.Recovered().Lost)
	require.ErrorContains(t, st.Recovered().Lost[0], file)
	require.False(t, st.Recovered().Clean)
	return x, st
}

// TestLastSegmentLost loses a later segment, and in turn the snapshot with which it began, the file
// incarnation, or both: the head of the segment was on disk, and so was the snapshot.
func TestLastSegmentLost(t *testing.T) {
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			from, last, ticks := crashed(t, true, false, end)
			for lost := range 4 {
				dir, file := t.TempDir(), last
				require.NoError(t, os.CopyFS(dir, os.DirFS(from)))
				if lost&1 != 0 {
					require.NoError(t, os.Remove(filepath.Join(dir, snapshot2)))
				}
				if lost&2 != 0 {
					file = "incarnation"
					require.NoError(t, os.Remove(filepath.Join(dir, file)))
				}
				x, st := refuses(t, dir, file)
				require.Less(t, x.Tick(), ticks)
				require.NoError(t, st.Close())
				st, err := newBank(1).open(dir)
				require.NoError(t, err)
				require.NoError(t, st.Recovered().Torn)
				require.NoError(t, st.Close())
			}
		})
	}
}

// TestHandleTwiceWithoutLog loses the log of a process with NoLog, which has its incarnation:
// handles that it gave after a clean stop are not given again. The loss of the file incarnation is
// told.
func TestHandleTwiceWithoutLog(t *testing.T) {
	for _, lost := range []string{"*.log", "incarnation"} {
		from := t.TempDir()
		open := func(dir string) (*bank, *durable.Store) {
			x := newBank(1)
			x.options.NoLog, x.options.AcceptLoss = true, dir != from
			st, err := x.open(dir)
			require.NoError(t, err)
			return x, st
		}
		x, st := open(from)
		x.step(t)
		require.NoError(t, st.Close())
		x, st = open(from)
		require.True(t, st.Recovered().Clean)
		given := x.given(t)
		dir := t.TempDir()
		require.NoError(t, os.CopyFS(dir, os.DirFS(from)))
		require.NoError(t, st.Close())
		all, err := filepath.Glob(filepath.Join(dir, lost))
		require.NoError(t, err)
		require.NoError(t, os.Remove(slices.Max(all)))
		x, st = open(dir)
		require.Equal(t, lost == "incarnation", len(st.Recovered().Lost) > 0)
		require.False(t, st.Recovered().Clean, lost)
		require.False(t, x.Alive(given), lost)
		for range 5 {
			require.NotEqual(t, given, x.given(t), lost)
		}
		require.NoError(t, st.Close())
	}
}

// given creates a ship by a port.
func (x *bank) given(t *testing.T) handle.Handle {
	port, err := x.OpenPort()
	require.NoError(t, err)
	defer port.Close()
	h, err := x.ships.Create(port, fleet{})
	require.NoError(t, err)
	x.step(t)
	return h
}

// TestAnotherPays plays the log of a crashed process by a program that does something else with a
// few entities. The log shows it, though it is short.
func TestAnotherPays(t *testing.T) {
	type (
		purse struct {
			Name string
			Gold int
		}
		person struct{ purse }
	)
	const people = 200
	for _, ticks := range []int{20, 500} {
		start := func(dir string, pays int) (*world.World, *scheduler.Scheduler, *durable.Store, error) {
			w := world.MustNew(world.Options{VersionsEach: 1000})
			world.Register[purse](w, "purse")
			persons := world.NewBundle[person](w)
			s := scheduler.New(w, scheduler.Options{})
			s.MustAdd("pay", func(b *world.Build) func(*world.Context) {
				purses := world.Write[purse](b)
				all := b.Query(purses)
				return func(*world.Context) {
					for ch := range all.Chunks() {
						for i := range purses.Slice(ch) {
							purses.Slice(ch)[i].Gold += pays
						}
					}
				}
			})
			st, err := durable.Open(t.Context(), dir, w, s, durable.Options{Interval: -1, New: func(w *world.World) error {
				return persons.CreateN(w, people, func(_ int, p *person) { p.Name = "Ann" })
			}})
			return w, s, st, err
		}
		dir, copied := t.TempDir(), t.TempDir()
		_, s, st, err := start(dir, 1)
		require.NoError(t, err)
		for range ticks {
			require.NoError(t, s.Step(t.Context()))
		}
		require.NoError(t, st.Wait(t.Context()))
		require.NoError(t, os.CopyFS(copied, os.DirFS(dir)))
		require.NoError(t, st.Close())
		w, _, _, err := start(copied, 2)
		require.ErrorIs(t, err, durable.ErrDamaged)
		require.ErrorContains(t, err, "the program that wrote the log does not differ from this one")
		require.Less(t, w.Tick(), uint64(10))
	}
}

// TestNotTorn stops a world with a port open, which is a reason for another incarnation: nothing of
// the log is lost.
func TestNotTorn(t *testing.T) {
	for _, noLog := range []bool{false, true} {
		dir := t.TempDir()
		for range 3 {
			x := newBank(1)
			x.options.NoLog = noLog
			st, err := x.open(dir)
			require.NoError(t, err)
			require.NoError(t, st.Recovered().Torn)
			_, err = x.OpenPort()
			require.NoError(t, err)
			x.step(t)
			require.NoError(t, st.Close())
		}
	}
}
