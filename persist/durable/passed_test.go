package durable_test

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// damage alters the newest snapshot at a byte, counted from its end if that is negative.
func damage(t *testing.T, at int) func(*faulty.Disk) {
	return func(d *faulty.Disk) {
		names, err := d.List()
		require.NoError(t, err)
		names = slices.DeleteFunc(names, func(name string) bool { return filepath.Ext(name) != ".snapshot" })
		d.Edit(slices.Max(names), func(data []byte) []byte { data[(at+len(data))%len(data)] ^= 4; return data })
	}
}

// TestPassedUpgrade damages the snapshot of what Options.Upgrade has done: no log has that.
func TestPassedUpgrade(t *testing.T) {
	for _, at := range []int{-60, 20} { // behind its head, and in it
		path, disk := useDisk(t)
		x := newBank(1)
		st, err := x.open(path)
		require.NoError(t, err)
		x.step(t)
		require.NoError(t, st.Close())

		x = newBank(1)
		x.options.Upgrade = func(w *world.World) error {
			world.Write[Account](w).Get(x.accounts()[0]).Sum = 77
			return nil
		}
		st, err = x.open(path)
		require.NoError(t, err)
		for range 3 {
			x.step(t)
		}
		require.NoError(t, st.Wait(t.Context()))
		st.Crash()
		_, _, err = opened(t, disk, nil, nil)
		require.NoError(t, err)
		_, _, err = opened(t, disk, damage(t, at), nil)
		require.ErrorIs(t, err, durable.ErrDamaged, "byte %d", at)
		require.NotContains(t, err.Error(), "another", "it is no other program")
		y, st, err := opened(t, disk, damage(t, at), func(o *durable.Options) { o.AcceptLoss = true })
		require.NoError(t, err)
		require.Len(t, st.Recovered().Lost, 1)
		require.Zero(t, y.account.Get(y.accounts()[0]).Sum)
	}
}

// TestPassedSave damages snapshots that were saved behind a write that nobody can see, before a
// crash and by Close.
func TestPassedSave(t *testing.T) {
	type Purse struct{ Coins []int }
	open := func(disk *faulty.Disk) (*bank, *durable.Store, *world.Reader[Purse], error) {
		path := t.TempDir()
		useAs(t, path, func() files.Files { return disk })
		x := newBank(1)
		purses := world.Register[Purse](x.World, "purse")
		fill := x.options.New
		x.options.New = func(w *world.World) error {
			return errors.Join(fill(w), purses.Add(w, x.accounts()[0], Purse{[]int{1, 2}}))
		}
		st, err := x.open(path)
		return x, st, world.Read[Purse](x.World), err
	}
	for _, closed := range []bool{false, true} {
		for _, at := range []int{-60, 20} {
			disk := faulty.New()
			x, st, purses, err := open(disk)
			require.NoError(t, err)
			x.step(t)
			purses.Get(x.accounts()[0]).Coins[1] = 77
			if closed {
				require.NoError(t, st.Close())
			} else {
				x.saves(t, st, 1)
				x.step(t)
				require.NoError(t, st.Wait(t.Context()))
				st.Crash()
			}
			whole, damaged := disk.Clone(), disk.Clone()
			y, st, purses, err := open(whole)
			require.NoError(t, err)
			require.Equal(t, []int{1, 77}, purses.Get(y.accounts()[0]).Coins)
			st.Crash()
			damage(t, at)(damaged)
			_, _, _, err = open(damaged)
			require.ErrorIs(t, err, durable.ErrDamaged, "byte %d, closed %t", at, closed)
		}
	}
}

// TestPassedNoLog keeps a world without a log, and goes on with one.
func TestPassedNoLog(t *testing.T) {
	path, disk := useDisk(t)
	x := newBank(1)
	x.options.NoLog = true
	st, err := x.open(path)
	require.NoError(t, err)
	x.step(t)
	x.saves(t, st, 1)
	st.Crash()
	_, _, err = opened(t, disk, nil, nil)
	require.NoError(t, err)
	_, _, err = opened(t, disk, damage(t, -60), nil)
	require.ErrorIs(t, err, durable.ErrDamaged)
}

// gives creates a ship by a port, and waits until that is on disk.
func (x *bank) gives(t *testing.T, st *durable.Store) handle.Handle {
	port, err := x.OpenPort()
	require.NoError(t, err)
	h, err := x.ships.Create(port, fleet{})
	require.NoError(t, err)
	x.step(t)
	require.NoError(t, st.Wait(t.Context()))
	return h
}

// TestIncarnationKept removes, empties and cuts the segments of a process that has given a handle:
// the next gives others.
func TestIncarnationKept(t *testing.T) {
	path, disk := useDisk(t)
	x := newBank(1)
	st, err := x.open(path)
	require.NoError(t, err)
	x.step(t)
	st.Crash()
	disk.Reboot()
	x = newBank(1)
	st, err = x.open(path)
	require.NoError(t, err)
	given := x.gives(t, st)
	was := st.Recovered().Incarnation
	st.Crash()
	names, err := disk.List()
	require.NoError(t, err)
	segments := slices.DeleteFunc(names, func(name string) bool { return filepath.Ext(name) != ".log" })
	for what, change := range map[string]func(*faulty.Disk, string){
		"removed": func(d *faulty.Disk, name string) { require.NoError(t, d.Remove(name)) },
		"emptied": func(d *faulty.Disk, name string) { d.Edit(name, func([]byte) []byte { return nil }) },
		"cut":     func(d *faulty.Disk, name string) { d.Edit(name, func(data []byte) []byte { return data[:100] }) },
	} {
		lose := func(d *faulty.Disk) { change(d, slices.Max(segments)) }
		_, _, err := opened(t, disk, lose, nil)
		require.ErrorIs(t, err, durable.ErrDamaged, what)
		y, st, err := opened(t, disk, lose, func(o *durable.Options) { o.AcceptLoss = true })
		require.NoError(t, err, what)
		require.Greater(t, st.Recovered().Incarnation, was, what)
		require.False(t, y.Alive(given), what)
		for range 5 {
			require.NotEqual(t, given, y.gives(t, st), what)
		}
	}
	empty := func(d *faulty.Disk) {
		all, err := d.List()
		require.NoError(t, err)
		for _, name := range all {
			if strings.ContainsRune(name, '.') {
				require.NoError(t, d.Remove(name))
			}
		}
	}
	_, _, err = opened(t, disk, empty, nil)
	require.ErrorIs(t, err, durable.ErrDamaged)
	require.ErrorContains(t, err, "its snapshots are missing")
	_, st, err = opened(t, disk, empty, func(o *durable.Options) { o.AcceptLoss = true })
	require.NoError(t, err)
	require.True(t, st.Recovered().New)
	require.Len(t, st.Recovered().Lost, 1)
	require.Greater(t, st.Recovered().Incarnation, was, "a new world where another was")
}

// TestSavesGivenUp leaves one function behind for all Saves that were given up, and no waiters.
func TestSavesGivenUp(t *testing.T) {
	path, _ := useDisk(t)
	x := newBank(1)
	st, err := x.open(path)
	require.NoError(t, err)
	ended, end := context.WithCancel(t.Context())
	end()
	for range 5000 {
		if err := st.Save(ended); err != nil { // the file may be made before
			require.ErrorIs(t, err, context.Canceled)
		}
	}
	called := x.s.Between(func(*world.World) {})
	x.step(t)
	require.NoError(t, <-called)
	before := x.Tick()
	x.saves(t, st, 1)
	found, err := (&snapshot.Dir{Path: path}).Newest()
	require.NoError(t, err)
	require.GreaterOrEqual(t, found.Info.Tick, before)
	require.NoError(t, st.Close())
}

// TestUnreadable lets the newest snapshot be whole, and the program at fault that reads it: by an Extra
// that fails, panics or ends its goroutine. Open says so, whatever its options accept, and takes no
// older snapshot, which would lack what happened since. The mended program opens all.
func TestUnreadable(t *testing.T) {
	path, disk := useDisk(t)
	wrong, clock := errors.New("a bad clock"), byte(0)
	with := func(x *bank, fails func() error) *bank {
		x.options.Content = []byte("a build")
		x.options.Snapshot.Extras = []snapshot.Extra{{
			Name:   "clock",
			Append: func(dst []byte) []byte { return append(dst, clock) },
			Read: func(src []byte) error {
				if src[0] >= 3 {
					return fails()
				}
				return nil
			},
		}}
		return x
	}
	fine := func() error { return nil }
	x := with(newBank(1), fine)
	st, err := x.open(path)
	require.NoError(t, err)
	x.pay(t, 10)
	clock = 3
	x.saves(t, st, 1)
	x.pay(t, 10)
	require.NoError(t, st.Wait(t.Context()))
	want := x.observe()
	st.Crash()
	before, err := disk.List()
	require.NoError(t, err)
	for how, fails := range map[string]func() error{
		"fails":  func() error { return wrong },
		"panics": func() error { panic(wrong) },
		"exits":  func() error { runtime.Goexit(); return nil },
	} {
		for _, options := range []func(o *durable.Options){
			func(*durable.Options) {},
			func(o *durable.Options) { o.AcceptLoss, o.NoLog = true, true },
			func(o *durable.Options) { o.OtherProgram, o.Content = durable.DiscardOther, []byte("another") },
		} {
			y := with(newBank(1), fails)
			options(&y.options)
			_, err = y.open(path)
			require.ErrorContains(t, err, "000000000002.snapshot is whole; this program cannot read it: ", how)
			require.NotErrorIs(t, err, durable.ErrDamaged)
			if how != "exits" {
				require.ErrorIs(t, err, wrong)
			}
		}
	}
	after, err := disk.List()
	require.NoError(t, err)
	require.ElementsMatch(t, before, after)
	x = with(newBank(1), fine)
	st, err = x.open(path)
	require.NoError(t, err)
	require.Equal(t, want, x.observe())
	require.NoError(t, st.Close())
}
