package durable_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// TestUpgrade changes a world between two versions of a program, whenever the power goes.
func TestUpgrade(t *testing.T) {
	path, disk := useDisk(t)
	type Fuel struct{ Left int64 }
	called := 0
	open := func(fail error) (*bank, *durable.Store, error) {
		x := newBank(2)
		fuel := world.Register[Fuel](x.World, "fuel")
		x.s.MustAdd("burn", func(b *world.Build) func(*world.Context) {
			left := world.Write[Fuel](b)
			all := b.Query(left)
			return func(*world.Context) {
				for rows := range all.Chunks() {
					for i := range left.Slice(rows) {
						left.Slice(rows)[i].Left--
					}
				}
			}
		})
		x.options.Upgrade = func(w *world.World) error {
			called++
			full := world.Write[Fuel](w)
			return errors.Join(fail, fuel.AddTo(w.Query(world.With[Account](w), world.Without[Fuel](w)), func(rows world.Chunk) {
				for i := range full.Slice(rows) {
					full.Slice(rows)[i].Left = 1000
				}
			}))
		}
		st, err := x.open(path)
		return x, st, err
	}
	old := newBank(1)
	st, err := old.open(path)
	require.NoError(t, err)
	old.step(t)
	require.NoError(t, st.Close())

	wrong := errors.New("it cannot")
	_, _, err = open(wrong)
	require.ErrorIs(t, err, wrong)
	for life := range 4 {
		x, st, err := open(nil)
		require.NoError(t, err)
		require.Equal(t, 2+life, called)
		for h := range x.Query(world.With[Account](x.World)).Entities() {
			require.Equal(t, int64(1000-100*life), world.Read[Fuel](x.World).Get(h).Left)
		}
		for range 100 {
			x.step(t)
		}
		require.NoError(t, st.Wait(t.Context()))
		st.Crash()
		disk.Reboot()
	}
}

// TestUpgradeOfNothing starts a program again and again whose Upgrade finds nothing to do: no start
// saves a snapshot, and nothing is lost, wherever the process dies. What is beside the world counts as
// a change, and so does a refresh.
func TestUpgradeOfNothing(t *testing.T) {
	type Fuel struct{ Left int64 }
	for _, noLog := range []bool{false, true} {
		path, disk := useDisk(t)
		extra := byte('a')
		open := func(upgrade func(x *bank, w *world.World) error) (*bank, *durable.Store, bool) {
			var told tale
			x := newBank(2)
			fuel := world.Register[Fuel](x.World, "fuel")
			x.options.NoLog = noLog
			x.options.Logger = slog.New(slog.NewTextHandler(&told, nil))
			x.options.Snapshot.Extras = []snapshot.Extra{{Name: "extra", Append: func(dst []byte) []byte { return append(dst, extra) },
				Read: func([]byte) error { return nil }}}
			x.options.Upgrade = func(w *world.World) error {
				w.Query(world.With[Account](w)).Count()
				return errors.Join(fuel.AddTo(w.Query(world.With[Account](w), world.With[Ship](w)), nil), upgrade(x, w))
			}
			st, err := x.open(path)
			require.NoError(t, err)
			return x, st, strings.Contains(told.String(), "because=Options.Upgrade")
		}
		nothing := func(*bank, *world.World) error { return nil }
		old := newBank(1)
		old.options.NoLog = noLog
		st, err := old.open(path)
		require.NoError(t, err)
		old.step(t)
		require.NoError(t, st.Close())

		for range 3 { // another program, its world as it was
			x, st, saved := open(nothing)
			require.False(t, saved)
			require.Equal(t, old.observe(), x.observe())
			st.Crash()
			disk.Reboot()
		}
		x, st, saved := open(nothing)
		require.False(t, saved)
		for range 5 {
			x.step(t)
		}
		h := handle.None
		if noLog {
			require.NoError(t, st.Close())
		} else {
			port, err := x.OpenPort()
			require.NoError(t, err)
			h, err = x.ships.Create(port, fleet{Ship{7}})
			require.NoError(t, err)
			x.step(t)
			require.NoError(t, st.Wait(t.Context()))
			st.Crash()
			disk.Reboot()
		}
		y, st, saved := open(nothing)
		require.False(t, saved)
		require.Empty(t, st.Recovered().Lost)
		require.Equal(t, x.observe(), y.observe())
		require.Equal(t, !noLog, y.Alive(h))
		st.Crash()
		disk.Reboot()

		for name, change := range map[string]func(x *bank, w *world.World) error{
			"extra":   func(*bank, *world.World) error { extra++; return nil },
			"refresh": func(_ *bank, w *world.World) error { w.Refresh(); return nil },
			"systems": func(x *bank, _ *world.World) error { return x.s.Disable("drift") },
			"port":    func(_ *bank, w *world.World) error { _, err := w.OpenPort(); return err },
			"write":   func(x *bank, w *world.World) error { world.Write[Account](w).Get(x.accounts()[0]); return nil },
		} {
			x, st, saved := open(change)
			require.Equal(t, name != "systems" || noLog, saved, "%s: with a log that has it", name)
			x.step(t)
			if !noLog {
				require.NoError(t, st.Wait(t.Context()), name)
			}
			st.Crash()
			disk.Reboot()
			if !noLog {
				y, st, _ := open(nothing)
				require.Equal(t, x.Tick(), y.Tick(), name)
				require.Equal(t, x.s.Enabled("drift"), y.s.Enabled("drift"), name)
				require.Empty(t, st.Recovered().Lost, name)
				st.Crash()
				disk.Reboot()
			}
		}
	}
}

// TestOtherProgram starts a program with another component and resource where the one before it
// died.
func TestOtherProgram(t *testing.T) {
	path, disk := useDisk(t)
	type Fuel struct{ Left int64 }
	var x *bank
	var fuel *world.Component[Fuel]
	open := func(options func(*durable.Options)) (*durable.Store, error) {
		x = newBank(1)
		fuel = world.Register[Fuel](x.World, "fuel")
		world.RegisterResource(x.World, "prices", 3)
		x.options.Upgrade = func(w *world.World) error {
			return fuel.AddTo(w.Query(world.With[Account](w), world.Without[Fuel](w)), nil)
		}
		options(&x.options)
		return x.open(path)
	}
	fueled := func() int { return x.Query(world.With[Fuel](x.World)).Count() }
	old := newBank(1)
	store, err := old.open(path)
	require.NoError(t, err)
	old.step(t)
	require.NoError(t, store.Close())
	old = newBank(1)
	store, err = old.open(path)
	require.NoError(t, err)
	for range 5 {
		old.step(t)
	}
	require.NoError(t, store.Wait(t.Context()))
	store.Crash()
	disk.Reboot()

	_, err = open(func(*durable.Options) {})
	require.ErrorIs(t, err, inputlog.ErrOtherWorld)
	require.ErrorContains(t, err, "or set OtherProgram to DiscardOther, to go back to the snapshot of tick ")

	_, err = open(func(o *durable.Options) { o.AcceptLoss = true })
	require.ErrorIs(t, err, inputlog.ErrOtherWorld, "nothing is damaged")

	store, err = open(func(o *durable.Options) { o.OtherProgram = durable.DiscardOther })
	require.NoError(t, err)
	require.ErrorIs(t, store.Recovered().Lost[0], inputlog.ErrOtherWorld)
	saved := x.Tick()
	require.True(t, 0 < saved && saved < old.Tick(), saved)
	require.Equal(t, clientsMax, fueled())
	for range 5 {
		x.step(t)
	}
	require.NoError(t, store.Wait(t.Context()))
	store.Crash()
	disk.Reboot()

	store, err = open(func(*durable.Options) {})
	require.NoError(t, err, "its log is of this program")
	require.Empty(t, store.Recovered().Lost)
	require.Equal(t, saved+5, x.Tick())
	require.Equal(t, clientsMax, fueled())
	require.NoError(t, store.Close())
}

// TestUpgradeWithoutLog upgrades where only snapshots are kept.
func TestUpgradeWithoutLog(t *testing.T) {
	path, disk := useDisk(t)
	upgrades := 0
	life := func() (*bank, *durable.Store) {
		x := newBank(1)
		x.options.NoLog = true
		x.options.Upgrade = func(w *world.World) error {
			upgrades++
			_, err := x.ships.Create(w, fleet{Ship{uint64(upgrades)}})
			return err
		}
		store, err := x.open(path)
		require.NoError(t, err)
		return x, store
	}
	made := func(x *bank) (n int) {
		for h := range x.Query(world.With[Ship](x.World)).Entities() {
			if x.ship.Get(h).N>>63 == 0 { // not by the system
				n++
			}
		}
		return n
	}
	x, store := life()
	x.step(t)
	x.saves(t, store, 1)
	store.Crash()
	disk.Reboot()
	require.Zero(t, upgrades)
	for n := 1; n <= 3; n++ { // Open has saved what Upgrade did
		x, store = life()
		require.Equal(t, n, upgrades)
		require.Equal(t, n, made(x))
		x.step(t)
		store.Crash()
		disk.Reboot()
	}
}

// TestUpgradeGives handles of its own incarnation, whatever the process before it gave.
func TestUpgradeGives(t *testing.T) {
	for _, noLog := range []bool{true, false} {
		path, disk := useDisk(t)
		x := newBank(1)
		x.options.NoLog = noLog
		store, err := x.open(path)
		require.NoError(t, err)
		kept := disk.Clone() // the power goes here: nothing of what follows is on disk
		var told handle.Handle
		if noLog {
			told, err = x.ships.Create(x.World, fleet{Ship{1}})
			require.NoError(t, err)
		} else {
			told = x.add(t, 1)
		}
		store.Crash()

		useAs(t, path, func() files.Files { return kept })
		x = newBank(1)
		x.options.NoLog = noLog
		var given handle.Handle
		x.options.Upgrade = func(w *world.World) (err error) {
			given, err = x.ships.Create(w, fleet{Ship{2}})
			return err
		}
		_, err = x.open(path)
		require.NoError(t, err)
		require.NotEqual(t, told, given)
		require.True(t, x.Alive(given))
	}
}

// TestUpgradeDies starts again where the process died within Upgrade, behind a refresh and ticks.
func TestUpgradeDies(t *testing.T) {
	path, disk := useDisk(t)
	x := newBank(1)
	store, err := x.open(path)
	require.NoError(t, err)
	x.step(t)
	require.NoError(t, store.Wait(t.Context()))
	store.Crash()
	x = newBank(1)
	var within *faulty.Disk
	x.options.Upgrade = func(w *world.World) error {
		for range 3 {
			_, err := x.ships.Create(w, fleet{Ship{2}})
			require.NoError(t, err)
			w.Refresh()
			x.step(t)
		}
		time.Sleep(20 * time.Millisecond) // what a log has would be on disk
		within = disk.Clone()
		return nil
	}
	store, err = x.open(path)
	require.NoError(t, err)
	store.Crash()
	for which, left := range []*faulty.Disk{within, disk} {
		y, _, err := opened(t, left, nil, nil)
		require.NoError(t, err)
		if which == 0 {
			require.NotContains(t, y.observe(), "{2}")
			continue
		}
		require.Equal(t, x.observe(), y.observe())
	}
}

// TestUpgradePanics leaves the directory to the next who opens it.
func TestUpgradePanics(t *testing.T) {
	path, _ := useDisk(t)
	x := newBank(1)
	store, err := x.open(path)
	require.NoError(t, err)
	store.Crash()
	x = newBank(1)
	x.options.Upgrade = func(*world.World) error { panic("wrong") }
	require.PanicsWithValue(t, "wrong", func() { _, _ = x.open(path) })
	x = newBank(1)
	store, err = x.open(path)
	require.NoError(t, err)
	require.NoError(t, store.Close())
	empty := t.TempDir()
	x = newBank(1)
	x.options.New = func(*world.World) error { panic("wrong") }
	require.PanicsWithValue(t, "wrong", func() { _, _ = x.open(empty) })
	_, err = newBank(1).open(empty)
	require.NoError(t, err)
}
