package durable_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
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
	all     []handle.Handle // ships, when it was opened; each tick writes the first
	ship    *world.Component[Ship]
	ships   *world.Bundle[fleet]
	account *world.Bundle[holder]
	in      *hierarchy.Relation
	called  *names.Names[string]
	score   *world.Resource[int]
	hail    *world.Message[int]
	hook    *world.Hook
	onTick  func()
	inTick  func(*world.Context)              // by a system, where ticks are sealed
	change  *world.Transaction[changing, int] // makes one of idleChanges
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
	x.change = world.RegisterTransaction(w, "change", func(tx *world.Tx, c changing) (int, error) {
		return c.Row, x.makes(tx, c)
	})
	x.s = scheduler.New(w, scheduler.Options{Workers: 1, OnTick: func(scheduler.Report) {
		for h := range w.Query(world.With[Ship](w)).Entities() {
			if !durable.Sealed {
				world.Write[Ship](w).Get(h).N++ // a replay does this too
			}
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
	if durable.Sealed { // what OnTick does otherwise
		x.salutes()
	}
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

// salutes adds a system that has a transaction write the first ship, and calls inTick.
func (x *harbour) salutes() {
	salute := world.RegisterTransaction(x.World, "salute", func(tx *world.Tx, h handle.Handle) (int, error) {
		x.ship.Edit(tx, h).N++
		return 0, nil
	})
	x.s.MustAdd("salute", func(b *world.Build) func(*world.Context) {
		ships := b.Query(world.With[Ship](b))
		return func(c *world.Context) {
			for h := range ships.Entities() {
				_ = salute.Call(c, h)
				break
			}
			if x.inTick != nil && c.Shard() == 0 {
				x.inTick(c)
			}
		}
	})
}

func (x *harbour) hash(t *testing.T) state.Hash {
	h, err := state.StateHash(x.World, nil)
	require.NoError(t, err)
	return h
}

// same compares a world whose Store has crashed with the one that came back.
func (x *harbour) same(t *testing.T, back *harbour) {
	t.Helper()
	require.Equal(t, x.Tick(), back.Tick())
	require.NoError(t, engine.Of(x.World).RecordInputs(nil, nil)) // nothing is sealed any more
	require.NoError(t, x.Reincarnate(back.Incarnation()))
	require.Equal(t, x.hash(t), back.hash(t))
}

// changing is one of idleChanges, and two ships for it.
type changing struct {
	Row  int
	A, B handle.Handle
}

// idleChanges are the ways to change an idle world. A transaction can make some of them, too.
var idleChanges []idleChange

type idleChange struct {
	name   string
	change func(x *harbour, by world.Actor, a, b handle.Handle) error
	sealed sealedChange
}

// sealedChange says who makes a change where ticks are sealed.
type sealedChange int

const (
	byTx   sealedChange = iota // a transaction; the idle world panics
	never                      // nobody
	logged                     // the idle world: the log has it
)

func init() { // for the functions' sake, which a transaction of a harbour looks up
	idleChanges = []idleChange{
		{"create", func(x *harbour, by world.Actor, _, _ handle.Handle) error {
			_, err := x.ships.Create(by, fleet{Ship{7}})
			return err
		}, byTx},
		{"create many", func(x *harbour, by world.Actor, _, _ handle.Handle) error { return x.createMany(by, 200) }, byTx},
		{"destroy", func(x *harbour, by world.Actor, a, _ handle.Handle) error { return x.destroy(by, a) }, byTx},
		{"clear", func(x *harbour, _ world.Actor, _, _ handle.Handle) error { x.Clear(); return nil }, logged},
		{"refresh", func(x *harbour, _ world.Actor, _, _ handle.Handle) error { x.Refresh(); return nil }, logged},
		{"destroy, refresh and create", func(x *harbour, by world.Actor, a, _ handle.Handle) error {
			err := x.destroy(by, a)
			if by == world.Actor(x.World) {
				x.Refresh()
			}
			_, failed := x.ships.Create(by, fleet{Ship{8}})
			return errors.Join(err, failed)
		}, byTx},
		{"add", func(x *harbour, by world.Actor, a, _ handle.Handle) error { return x.account.Add(by, a, holder{}) }, byTx},
		{"copy", func(x *harbour, by world.Actor, a, _ handle.Handle) error { _, err := world.Copy(by, a); return err }, byTx},
		{"move", func(x *harbour, by world.Actor, a, _ handle.Handle) error {
			owner, _ := by.(interface {
				Owner(handle.Handle) (int, bool)
			}).Owner(a)
			return world.Move(by, a, 1-owner)
		}, byTx},
		{"set", func(x *harbour, by world.Actor, _, b handle.Handle) error { return x.ship.Set(by, b, Ship{9}) }, byTx},
		{"write", func(x *harbour, by world.Actor, _, b handle.Handle) error {
			if tx, ok := by.(*world.Tx); ok {
				x.ship.Edit(tx, b).N = 4
			} else {
				world.Write[Ship](x.World).Get(b).N = 4
			}
			return nil
		}, byTx},
		{"resource", func(x *harbour, by world.Actor, _, _ handle.Handle) error {
			if tx, ok := by.(*world.Tx); ok {
				*x.score.Edit(tx) = -40
			} else {
				x.score.Set(-40)
			}
			return nil
		}, byTx},
		{"message", func(x *harbour, by world.Actor, a, _ handle.Handle) error { return x.hail.Send(by, a, 5) }, byTx},
		{"message to shards", func(x *harbour, by world.Actor, _, _ handle.Handle) error { return x.hail.Broadcast(by, 5) }, byTx},
		{"relation", func(x *harbour, by world.Actor, a, b handle.Handle) error { return x.in.AddChild(by, a, b) }, byTx},
		{"name", func(x *harbour, by world.Actor, a, _ handle.Handle) error { return x.called.Bind(by, a, "Aurora") }, byTx},
		{"flag", func(x *harbour, by world.Actor, _, b handle.Handle) error { return world.AddFlags(by, b, 1<<3) }, byTx},
		{"hook", func(x *harbour, _ world.Actor, _, _ handle.Handle) error { x.hook.SetEnabled(false); return nil }, never},
		{"pin", func(x *harbour, _ world.Actor, _, _ handle.Handle) error { x.Pin(x.account); return nil }, never},
		{"disable", func(x *harbour, _ world.Actor, _, _ handle.Handle) error { return x.s.Disable("count") }, logged},
		{"scheduler's state", func(x *harbour, _ world.Actor, _, _ handle.Handle) error {
			on := x.s.AppendState(nil)
			if err := x.s.Disable("count"); err != nil {
				return err
			}
			off := x.s.AppendState(nil)
			return errors.Join(x.s.LoadState(on), x.s.LoadState(off))
		}, never},
		{"reserve", func(x *harbour, by world.Actor, _, _ handle.Handle) error { return x.ships.Reserve(x.World, 10_000) }, never},
		{"transaction", func(x *harbour, by world.Actor, a, b handle.Handle) error {
			_, err := x.change.Run(by, changing{0, a, b})
			return err
		}, byTx},
		{"enable what is", func(x *harbour, _ world.Actor, _, _ handle.Handle) error { return x.s.Enable("count") }, logged},
	}
}

func (x *harbour) makes(by world.Actor, c changing) error {
	return idleChanges[c.Row].change(x, by, c.A, c.B)
}

func (x *harbour) createMany(by world.Actor, n int) error {
	if by == world.Actor(x.World) {
		return x.ships.CreateN(x.World, n, nil)
	}
	for range n {
		if _, err := x.ships.Create(by, fleet{}); err != nil {
			return err
		}
	}
	return nil
}

func (x *harbour) destroy(by world.Actor, h handle.Handle) error {
	if tx, ok := by.(*world.Tx); ok {
		return tx.Destroy(h)
	}
	x.Destroy(h)
	return nil
}

// TestIdleChanges changes the idle world in each way that there is, and cuts the power when Wait
// says that it is on disk: the world that comes back is as if nothing had happened. Where ticks are
// sealed the idle world refuses, a transaction makes the change, and nobody waits.
func TestIdleChanges(t *testing.T) {
	for n, x := range idleChanges {
		for _, when := range []string{"between", "by hand"} {
			t.Run(x.name+" "+when, func(t *testing.T) {
				path, disk := useDisk(t)
				run, st := newHarbour(t, path, durable.Options{})
				for range 3 {
					require.NoError(t, run.s.Step(t.Context()))
				}
				c := changing{n, run.all[3], run.all[199]}
				change := func(*world.World) { require.NoError(t, run.makes(run.World, c)) }
				var done <-chan error
				switch refused := durable.Sealed && x.sealed != logged; {
				case when == "between":
					done = run.s.Between(change)
				case refused:
					mustRefuse(t, func() { change(run.World) })
				default:
					change(run.World)
				}
				p, err := run.OpenPort()
				require.NoError(t, err)
				var made world.Completion
				if durable.Sealed && x.sealed == byTx {
					require.NoError(t, run.change.Call(p.Notify(&made), c))
				}
				p.Close()
				for n := range 3 {
					require.NoError(t, run.s.Step(t.Context()))
					if n == 0 && done != nil {
						err := <-done
						require.Equal(t, durable.Sealed && x.sealed != logged, err != nil, err)
						if err != nil {
							require.ErrorContains(t, err, "cannot be changed while ticks are sealed")
						}
					}
				}
				if durable.Sealed {
					require.Equal(t, x.sealed == byTx, made.Outcome() == world.Applied)
				} else {
					require.NoError(t, st.Wait(t.Context()))
					require.Equal(t, run.Tick(), st.Durable())
				}
				st.Crash()
				disk.PowerOff()
				disk.Reboot()

				back, st := newHarbour(t, path, durable.Options{})
				run.same(t, back)
				require.NoError(t, st.Close())
			})
		}
	}
}

// TestIdleOnTick does in OnTick what a replay does too, or cannot. Where ticks are sealed OnTick is
// refused what it is not, by a panic, and a system asks for a transaction that does it.
func TestIdleOnTick(t *testing.T) {
	for _, x := range []struct {
		name  string // of one of idleChanges
		saves bool
	}{
		{"create", false}, {"resource", false},
		{"disable", false}, // the log has it
		{"enable what is", false},
		{"refresh", true}, {"clear", true},
	} {
		t.Run(x.name, func(t *testing.T) {
			path, disk := useDisk(t)
			row := slices.IndexFunc(idleChanges, func(c idleChange) bool { return c.name == x.name })
			c := changing{Row: row}
			does := func(y *harbour) {
				change := func() { require.NoError(t, y.makes(y.World, c)) }
				y.onTick = change
				byTx := idleChanges[row].sealed == byTx
				if durable.Sealed && (byTx || x.saves) {
					y.onTick = func() { mustRefuse(t, change) }
				}
				if byTx {
					y.inTick = func(by *world.Context) { require.NoError(t, y.change.Call(by, c)) }
				}
			}
			run, st := newHarbourOf(t, path, durable.Options{}, does)
			before, err := disk.List()
			require.NoError(t, err)
			for range 10 {
				require.NoError(t, run.s.Step(t.Context()))
			}
			if !durable.Sealed {
				require.NoError(t, st.Wait(t.Context()))
			}
			st.Crash()
			disk.PowerOff()
			disk.Reboot()
			after, err := disk.List()
			require.NoError(t, err)
			require.Equal(t, x.saves && !durable.Sealed, len(after) > len(before))

			back, st := newHarbourOf(t, path, durable.Options{}, does)
			run.same(t, back)
			require.NoError(t, st.Close())
		})
	}
}

// TestSwitchedWhenever has another goroutine switch a system off while a tick goes on: the switch
// counts from the next tick on, and the Store knows it.
func TestSwitchedWhenever(t *testing.T) {
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
				require.Equal(t, more == 0 && when != "Between", back.s.Enabled("count"))
				run.same(t, back)
				require.NoError(t, st.Close())
			})
		}
	}
}

// TestIdleLooks looks at the idle world, and changes it in OnTick: nothing needs a snapshot, and
// nothing is refused.
func TestIdleLooks(t *testing.T) {
	path, disk := useDisk(t)
	x, st := newHarbour(t, path, durable.Options{})
	before, err := disk.List()
	require.NoError(t, err)
	for range 100 {
		looked := x.s.Between(func(w *world.World) {
			for rows := range w.Query(world.With[Ship](w)).Chunks() {
				_ = world.Read[Ship](w).Slice(rows)
			}
			_, _ = x.score.Get(), x.in.Links()
			_, _ = w.Describe(), x.s.Enable("count")
			x.hook.SetEnabled(true)
			for _, without := range []func() error{ // effect: where ticks are sealed, both are refused all the same
				func() error { return x.called.Unbind(w, x.all[0]) },
				func() error { return x.in.RemoveChild(w, x.all[0], 0) },
			} {
				if !mustRefuse(t, func() { _ = without() }) {
					_ = without()
				}
			}
		})
		require.NoError(t, x.s.Step(t.Context()))
		require.NoError(t, <-looked)
	}
	require.NoError(t, st.Wait(t.Context()))
	after, err := disk.List()
	require.NoError(t, err)
	require.ElementsMatch(t, before, after)
	require.NoError(t, st.Close())
}

// TestIdleChangesFail lets each call of the disk fail, or the power go, around a change: the world
// that comes back has it if Wait has said so, and is damaged never. Where ticks are sealed a
// transaction makes the change, and its outcome says so.
func TestIdleChangesFail(t *testing.T) {
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
			made := x.doubles(t)
			for range 3 {
				_ = x.s.Step(t.Context())
			}
			told := made == nil && st.Wait(t.Context()) == nil || made != nil && made.Outcome() == world.Applied
			reached := disk.Calls() >= at
			for range 70 {
				_ = x.s.Step(t.Context())
			}
			if most := x.Tick(); durable.Sealed { // a tick that failed is on disk, and nobody has seen it
				require.LessOrEqual(t, st.Durable(), most+1, what)
			} else {
				require.LessOrEqual(t, st.Durable(), most, what)
			}
			st.Crash()
			disk.Reboot()

			y, st := newHarbour(t, path, durable.Options{})
			if ships := y.Query(world.With[Ship](y.World)).Count(); told {
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
// has it. Where ticks are sealed a transaction makes it, and needs no snapshot.
func TestIdleChangesNotSaved(t *testing.T) {
	path, _ := useDisk(t)
	x, st := newHarbour(t, path, durable.Options{})
	view, err := x.NewView(x.ship)
	require.NoError(t, err)
	frame, err := view.Now()
	require.NoError(t, err)
	made := x.doubles(t)
	for range 3 {
		require.NoError(t, x.s.Step(t.Context()))
		if made != nil {
			require.Equal(t, world.Applied, made.Outcome())
			require.GreaterOrEqual(t, st.Durable(), x.Tick())
			continue
		}
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

// doubles creates as many ships as there are, by the idle world, or, where ticks are sealed, by a
// transaction of the next tick, whose outcome it returns.
func (x *harbour) doubles(t *testing.T) (made *world.Completion) {
	t.Helper()
	if !mustRefuse(t, func() { _ = x.ships.CreateN(x.World, 200, nil) }) {
		require.NoError(t, x.ships.CreateN(x.World, 200, nil))
		return nil
	}
	p, err := x.OpenPort()
	require.NoError(t, err)
	made = new(world.Completion)
	require.NoError(t, x.change.Call(p.Notify(made), changing{Row: 1}))
	p.Close()
	return made
}

// TestIdleChangesAtOnce changes and saves from many goroutines while the scheduler runs. Where ticks
// are sealed, transactions make the changes, and nobody waits.
func TestIdleChangesAtOnce(t *testing.T) {
	path, disk := useDisk(t)
	x, st := newHarbour(t, path, durable.Options{})
	ctx, stop := context.WithCancel(t.Context())
	var all, loop errgroup.Group
	loop.Go(func() error { return x.s.Run(ctx) })
	for range 4 {
		all.Go(func() error {
			if durable.Sealed {
				p, err := x.OpenPort()
				for range 10 {
					if err == nil {
						_, err = x.change.Ask(t.Context(), p, changing{})
					}
				}
				return err
			}
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
