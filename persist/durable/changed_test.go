package durable_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// harbour is a world with some of everything that can be changed while it is idle.
type harbour struct {
	*world.World
	s       *scheduler.Scheduler
	all     []handle.Handle // ships, when it was opened; OnTick writes the first
	ship    *world.Component[Ship]
	ships   *world.Bundle[fleet]
	account *world.Bundle[holder]
	in      *hierarchy.Relation
	called  *names.Names[string]
	score   *world.Resource[int]
	hail    *world.Message[int]
	hook    *world.Hook
	onTick  func()
}

func newHarbour(t *testing.T, path string, o durable.Options) (*harbour, *durable.Store) {
	return newHarbourOf(t, path, o, func(*harbour) {})
}

func newHarbourOf(t *testing.T, path string, o durable.Options, before func(*harbour)) (*harbour, *durable.Store) {
	w := world.MustNew(world.Options{Shards: 2, VersionsEach: 1000, FramesMax: 1})
	x := &harbour{World: w, in: hierarchy.New(w, "in", hierarchy.Options{}), called: names.New[string](w, "called", names.Options{})}
	world.Register[Account](w, "account")
	x.ship, x.ships, x.account = world.Register[Ship](w, "ship"), world.NewBundle[fleet](w), world.NewBundle[holder](w)
	x.score, x.hail = world.RegisterResource(w, "score", 0), world.RegisterMessage[int](w, "hail")
	x.hook = w.Observe("greet", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(*world.Context, world.Event, []handle.Handle) {}
	})
	x.s = scheduler.New(w, scheduler.Options{Workers: 1, OnTick: func(scheduler.Report) {
		for h := range w.Query(world.With[Ship](w)).Entities() {
			world.Write[Ship](w).Get(h).N++ // a replay does this too
			break
		}
		if x.onTick != nil {
			x.onTick()
		}
	}})
	x.s.MustAdd("count", func(b *world.Build) func(*world.Context) {
		score := world.WriteResource[int](b)
		return func(*world.Context) { *score++ }
	}, scheduler.Global())
	o.Interval, o.New = -1, func(w *world.World) error { return x.ships.CreateN(w, 200, nil) }
	o.Snapshot = snapshot.Options{Compression: snapshot.None}
	before(x)
	st, err := durable.Open(t.Context(), path, w, x.s, o)
	require.NoError(t, err)
	for h := range w.Query(world.With[Ship](w)).Entities() {
		x.all = append(x.all, h)
	}
	return x, st
}

func (x *harbour) hash(t *testing.T) state.Hash {
	h, err := state.StateHash(x.World, nil)
	require.NoError(t, err)
	return h
}

// TestIdleChanges changes the idle world in each way that there is, and cuts the power when Wait
// says that it is on disk: the world that comes back is as if nothing had happened.
func TestIdleChanges(t *testing.T) {
	notSealed(t)
	for _, x := range []struct {
		name   string
		change func(x *harbour) error
	}{
		{"create", func(x *harbour) error { _, err := x.ships.Create(x.World, fleet{Ship{7}}); return err }},
		{"create many", func(x *harbour) error { return x.ships.CreateN(x.World, 100, nil) }},
		{"destroy", func(x *harbour) error { x.Destroy(x.all[3]); return nil }},
		{"clear", func(x *harbour) error { x.Clear(); return nil }},
		{"refresh", func(x *harbour) error { x.Refresh(); return nil }},
		{"destroy, refresh and create", func(x *harbour) error {
			x.Destroy(x.all[5])
			x.Refresh()
			_, err := x.ships.Create(x.World, fleet{Ship{8}})
			return err
		}},
		{"add", func(x *harbour) error { return x.account.Add(x.World, x.all[2], holder{}) }},
		{"copy", func(x *harbour) error { _, err := world.Copy(x.World, x.all[2]); return err }},
		{"move", func(x *harbour) error {
			owner, _ := x.Owner(x.all[4])
			return world.Move(x.World, x.all[4], 1-owner)
		}},
		{"set", func(x *harbour) error { return x.ship.Set(x.World, x.all[150], Ship{9}) }},
		{"write", func(x *harbour) error { world.Write[Ship](x.World).Get(x.all[199]).N = 4; return nil }},
		{"resource", func(x *harbour) error { x.score.Set(-40); return nil }},
		{"message", func(x *harbour) error { return x.hail.Send(x.World, x.all[1], 5) }},
		{"message to shards", func(x *harbour) error { return x.hail.Broadcast(x.World, 5) }},
		{"relation", func(x *harbour) error { return x.in.AddChild(x.World, x.all[0], x.all[1]) }},
		{"name", func(x *harbour) error { return x.called.Bind(x.World, x.all[6], "Aurora") }},
		{"flag", func(x *harbour) error { return world.AddFlags(x.World, x.all[8], 1<<3) }},
		{"hook", func(x *harbour) error { x.hook.SetEnabled(false); return nil }},
		{"pin", func(x *harbour) error { x.Pin(x.account); return nil }},
		{"disable", func(x *harbour) error { return x.s.Disable("count") }},
		{"scheduler's state", func(x *harbour) error {
			on := x.s.AppendState(nil)
			if err := x.s.Disable("count"); err != nil {
				return err
			}
			off := x.s.AppendState(nil)
			return errors.Join(x.s.LoadState(on), x.s.LoadState(off))
		}},
		{"reserve", func(x *harbour) error { return x.ships.Reserve(x.World, 10_000) }},
	} {
		for _, when := range []string{"between", "by hand"} {
			t.Run(x.name+" "+when, func(t *testing.T) {
				path, disk := useDisk(t)
				run, st := newHarbour(t, path, durable.Options{})
				for range 3 {
					require.NoError(t, run.s.Step(t.Context()))
				}
				var done <-chan error
				if when == "between" {
					done = run.s.Between(func(*world.World) { require.NoError(t, x.change(run)) })
				} else {
					require.NoError(t, x.change(run))
				}
				for n := range 3 {
					require.NoError(t, run.s.Step(t.Context()))
					if n == 0 && done != nil {
						require.NoError(t, <-done)
					}
				}
				require.NoError(t, st.Wait(t.Context()))
				require.Equal(t, run.Tick(), st.Durable())
				st.Crash()
				disk.PowerOff()
				disk.Reboot()

				back, st := newHarbour(t, path, durable.Options{})
				require.Equal(t, run.Tick(), back.Tick())
				require.NoError(t, run.Reincarnate(back.Incarnation()))
				require.Equal(t, run.hash(t), back.hash(t))
				require.NoError(t, st.Close())
			})
		}
	}
}

// TestIdleOnTick does in OnTick what a replay does too, or cannot.
func TestIdleOnTick(t *testing.T) {
	notSealed(t)
	for _, x := range []struct {
		name   string
		change func(x *harbour) error
		saves  bool
	}{
		{"create", func(x *harbour) error { _, err := x.ships.Create(x.World, fleet{}); return err }, false},
		{"resource", func(x *harbour) error { x.score.Set(-40); return nil }, false},
		{"disable", func(x *harbour) error { return x.s.Disable("count") }, false}, // the log has it
		{"enable what is", func(x *harbour) error { return x.s.Enable("count") }, false},
		{"refresh", func(x *harbour) error { x.Refresh(); return nil }, true},
		{"clear", func(x *harbour) error { x.Clear(); return nil }, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			path, disk := useDisk(t)
			run, st := newHarbour(t, path, durable.Options{})
			run.onTick = func() { require.NoError(t, x.change(run)) }
			before, err := disk.List()
			require.NoError(t, err)
			for range 10 {
				require.NoError(t, run.s.Step(t.Context()))
			}
			require.NoError(t, st.Wait(t.Context()))
			st.Crash()
			disk.PowerOff()
			disk.Reboot()
			after, err := disk.List()
			require.NoError(t, err)
			require.Equal(t, x.saves, len(after) > len(before))

			back, st := newHarbourOf(t, path, durable.Options{}, func(back *harbour) {
				back.onTick = func() { require.NoError(t, x.change(back)) }
			})
			require.Equal(t, run.Tick(), back.Tick())
			require.NoError(t, run.Reincarnate(back.Incarnation()))
			require.Equal(t, run.hash(t), back.hash(t))
			require.NoError(t, st.Close())
		})
	}
}

// TestSwitchedWhenever has another goroutine switch a system off while a tick goes on: the switch
// counts from the next tick on, and the Store knows it.
func TestSwitchedWhenever(t *testing.T) {
	notSealed(t)
	for _, when := range []string{"system", "condition", "OnTick", "Between"} {
		for _, more := range []int{0, 1, 30} {
			t.Run(fmt.Sprint(when, ", ticks behind: ", more), func(t *testing.T) {
				path, disk := useDisk(t)
				var run *harbour
				now := ""
				at := func(moment string) {
					if now != moment {
						return
					}
					now = ""
					done := make(chan error)
					go func() { done <- run.s.Disable("count") }()
					require.NoError(t, <-done)
				}
				slow := func(x *harbour) {
					x.onTick = func() { at("OnTick") }
					x.s.MustAdd("slow", func(*world.Build) func(*world.Context) {
						return func(*world.Context) { at("system") }
					}, scheduler.Global(), scheduler.Before("count"), scheduler.When(func(*world.World) bool {
						at("condition")
						return true
					}))
				}
				run, st := newHarbourOf(t, path, durable.Options{}, slow)
				require.NoError(t, run.s.Step(t.Context()))
				now = when
				run.s.Between(func(*world.World) { at("Between") })
				require.NoError(t, run.s.Step(t.Context()))
				counted := run.score.Get()
				for range more {
					require.NoError(t, run.s.Step(t.Context()))
				}
				require.Equal(t, counted, run.score.Get())
				require.NoError(t, st.Wait(t.Context()))
				st.Crash()
				disk.PowerOff()
				disk.Reboot()
				back, st := newHarbourOf(t, path, durable.Options{}, slow)
				require.Equal(t, run.Tick(), back.Tick())
				require.Equal(t, more == 0 && when != "Between", back.s.Enabled("count"))
				require.NoError(t, run.Reincarnate(back.Incarnation()))
				require.Equal(t, run.hash(t), back.hash(t))
				require.NoError(t, st.Close())
			})
		}
	}
}

// TestIdleLooks looks at the idle world, and changes it in OnTick: nothing needs a snapshot.
func TestIdleLooks(t *testing.T) {
	notSealed(t)
	path, disk := useDisk(t)
	x, st := newHarbour(t, path, durable.Options{})
	before, err := disk.List()
	require.NoError(t, err)
	for range 100 {
		x.s.Between(func(w *world.World) {
			for rows := range w.Query(world.With[Ship](w)).Chunks() {
				_ = world.Read[Ship](w).Slice(rows)
			}
			_, _ = x.score.Get(), x.in.Links()
			_, _ = w.Describe(), x.s.Enable("count")
			x.hook.SetEnabled(true)
			_, _ = x.called.Unbind(w, x.all[0]), x.in.RemoveChild(w, x.all[0], 0)
		})
		require.NoError(t, x.s.Step(t.Context()))
	}
	require.NoError(t, st.Wait(t.Context()))
	after, err := disk.List()
	require.NoError(t, err)
	require.ElementsMatch(t, before, after)
	require.NoError(t, st.Close())
}

// TestIdleChangesFail lets each call of the disk fail, or the power go, around a change: the world
// that comes back has it if Wait has said so, and is damaged never.
func TestIdleChangesFail(t *testing.T) {
	notSealed(t)
	first, stride := 1, 1
	switch {
	case check.Enabled: // other calls with another seed
		if stride = 37; testing.Short() {
			stride = 73
		}
		first += int(seed.Of(t) % uint64(stride))
	case testing.Short():
		stride = 5
	}
	for _, fault := range faulty.Faults {
		missed := 0
		for at := first; missed < 3; at += stride {
			what := fmt.Sprintf("%s at call %d", fault.Name, at)
			path, disk := useDisk(t)
			x, st := newHarbour(t, path, durable.Options{})
			disk.FailAt(at, fault)
			require.NoError(t, x.ships.CreateN(x.World, 200, nil))
			for range 3 {
				_ = x.s.Step(t.Context())
			}
			told := st.Wait(t.Context())
			reached := disk.Calls() >= at
			for range 70 {
				_ = x.s.Step(t.Context())
			}
			require.LessOrEqual(t, st.Durable(), x.Tick(), what)
			st.Crash()
			disk.Reboot()

			y, st := newHarbour(t, path, durable.Options{})
			if ships := y.Query(world.With[Ship](y.World)).Count(); told == nil {
				require.Equal(t, 400, ships, what)
			} else {
				require.Contains(t, []int{200, 400}, ships, what)
			}
			require.NoError(t, st.Close())
			if missed++; reached {
				missed = 0
			}
		}
	}
}

// TestIdleChangesNotSaved makes a change that cannot be captured: Wait says so, until a snapshot
// has it.
func TestIdleChangesNotSaved(t *testing.T) {
	notSealed(t)
	path, _ := useDisk(t)
	x, st := newHarbour(t, path, durable.Options{})
	view, err := x.NewView(x.ship)
	require.NoError(t, err)
	frame, err := view.Now()
	require.NoError(t, err)
	require.NoError(t, x.ships.CreateN(x.World, 200, nil))
	for range 3 {
		require.NoError(t, x.s.Step(t.Context()))
		require.ErrorIs(t, st.Wait(t.Context()), world.ErrFrames)
		require.Equal(t, uint64(0), st.Durable())
	}
	frame.Release()
	require.Eventually(t, func() bool { // it is tried again
		return x.s.Step(t.Context()) == nil && st.Wait(t.Context()) == nil
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, x.Tick(), st.Durable())
	require.NoError(t, st.Close())
}

// TestIdleChangesAtOnce changes and saves from many goroutines while the scheduler runs.
func TestIdleChangesAtOnce(t *testing.T) {
	notSealed(t)
	path, disk := useDisk(t)
	x, st := newHarbour(t, path, durable.Options{})
	ctx, stop := context.WithCancel(t.Context())
	var all, loop errgroup.Group
	loop.Go(func() error { return x.s.Run(ctx) })
	for range 4 {
		all.Go(func() error {
			for range 10 {
				if err := <-x.s.Between(func(w *world.World) { _, _ = x.ships.Create(w, fleet{}) }); err != nil {
					return err
				}
				if err := st.Wait(t.Context()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	all.Go(func() error {
		for range 10 {
			if err := st.Save(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, all.Wait())
	stop()
	require.NoError(t, loop.Wait())
	st.Crash()
	disk.PowerOff()
	disk.Reboot()
	y, st := newHarbour(t, path, durable.Options{})
	require.Equal(t, 240, y.Query(world.With[Ship](y.World)).Count())
	require.NoError(t, st.Close())
}

// TestWaitBesideClose waits for a change that Close saves.
func TestWaitBesideClose(t *testing.T) {
	for range 20 {
		path, _ := useDisk(t)
		x := newBank(1)
		store, err := x.open(path)
		require.NoError(t, err)
		var over sync.WaitGroup
		for range 2 {
			over.Go(func() {
				for store.Wait(t.Context()) == nil {
				}
			})
		}
		x.step(t)
		x.add(t, 1)
		require.NoError(t, store.Close())
		over.Wait()
		require.ErrorIs(t, store.Wait(t.Context()), durable.ErrClosed)
	}
}

// TestCloseBetween closes the Store in a function of Between, behind that of a Save.
func TestCloseBetween(t *testing.T) {
	path, _ := useDisk(t)
	x := newBank(1)
	store, err := x.open(path)
	require.NoError(t, err)
	saved := make(chan error, 1)
	x.s.Between(func(*world.World) { // so that the Save asks while functions are called
		go func() { saved <- store.Save(t.Context()) }()
		time.Sleep(20 * time.Millisecond)
		x.s.Between(func(*world.World) { require.NoError(t, store.Close()) })
	})
	x.step(t)
	x.step(t)
	err = <-saved
	require.True(t, err == nil || errors.Is(err, durable.ErrClosed), err)
	_, err = newBank(1).open(path)
	require.NoError(t, err)
}

// TestWorldClosedFirstNoLog says what is lost: there is neither a log nor a snapshot.
func TestWorldClosedFirstNoLog(t *testing.T) {
	path, _ := useDisk(t)
	x := newBank(1)
	x.options.NoLog = true
	store, err := x.open(path)
	require.NoError(t, err)
	x.step(t)
	x.World.Close()
	err = store.Close()
	require.ErrorIs(t, err, world.ErrClosed)
	require.ErrorContains(t, err, "after tick 0")
	require.NoError(t, store.Close())
	x = newBank(1)
	x.options.NoLog = true
	_, err = x.open(path)
	require.NoError(t, err)
	require.Zero(t, x.Tick())
}

// TestWorldClosedFirst has what was done to the idle world before World.Close.
func TestWorldClosedFirst(t *testing.T) {
	for _, between := range []bool{true, false} {
		path, _ := useDisk(t)
		x := newBank(1)
		store, err := x.open(path)
		require.NoError(t, err)
		x.step(t)
		if durable.Sealed {
			x.add(t, 7)
			x.World.Close()
			require.NoError(t, store.Close())
			x = newBank(1)
			_, err = x.open(path)
			require.NoError(t, err)
			require.Contains(t, x.observe(), "{7}")
			continue
		}
		last := func(w *world.World) {
			_, err := x.ships.Create(w, fleet{Ship{7}})
			require.NoError(t, err)
			w.Close()
		}
		if between {
			called := x.s.Between(last)
			require.ErrorIs(t, x.s.Step(t.Context()), world.ErrClosed)
			require.NoError(t, <-called)
		} else {
			last(x.World)
		}
		require.NoError(t, store.Wait(t.Context()))
		require.NoError(t, store.Close())
		x = newBank(1)
		_, err = x.open(path)
		require.NoError(t, err)
		require.Contains(t, x.observe(), "{7}")
	}
}
