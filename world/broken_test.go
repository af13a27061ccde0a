package world_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

var errCause = errors.New("the cause")

// breakers break a world in its next refresh, or in the tick that begins: what, by f.
var breakers = map[string]struct {
	during string
	set    func(f *fixture, h handle.Handle, fail func())
}{
	"Spare":  {"Spare of extension \"calls\"", func(f *fixture, _ handle.Handle, fail func()) { engine.Of(f.World).Extend(calls{spare: fail}) }},
	"Spread": {"Spread of extension \"calls\"", func(f *fixture, _ handle.Handle, fail func()) { engine.Of(f.World).Extend(calls{spread: fail}) }},
	"Settle": {"Settle of extension \"calls\"", func(f *fixture, _ handle.Handle, fail func()) { engine.Of(f.World).Extend(calls{settle: fail}) }},
	"Begin":  {"Begin of extension \"calls\"", func(f *fixture, _ handle.Handle, fail func()) { engine.Of(f.World).Extend(calls{begin: fail}) }},
	"a request": {`a request of extension "vows"`, func(f *fixture, h handle.Handle, fail func()) {
		r := engine.NewRequests(engine.Of(f.World), "vows", func(handle.Handle, *int) engine.Outcome { fail(); return engine.Applied })
		engine.Of(f.World).Extend(calls{})
		require.NoError(f.t, r.Send(f.port(), h, 1))
	}},
	"a step": {"the refresh", func(f *fixture, _ handle.Handle, fail func()) {
		r := engine.NewDirect(engine.Of(f.World), "vows", func(int, *int) engine.Outcome { fail(); return engine.Applied })
		p := f.port()
		for i := range 1000 { // so many that workers share the step
			require.NoError(f.t, r.SendShard(p, i%f.Shards(), i))
		}
	}},
}

// alone runs f on a goroutine of its own, which it may end, and returns what it panicked with.
func alone(f func()) (value any) {
	var done sync.WaitGroup
	done.Go(func() {
		defer func() { value = recover() }()
		f()
	})
	done.Wait()
	return value
}

// TestBroken breaks a world in each way, by a panic and by the end of a goroutine, with steps
// that run on other goroutines and without: everybody who waits is told, all handles
// are dead, and all that is asked of it says that it is broken, and by what.
func TestBroken(t *testing.T) {
	for name, b := range breakers {
		for how, fail := range map[string]func(){"panics": func() { panic(errCause) }, "exits": runtime.Goexit} {
			for where, refresh := range map[string]func(f *fixture){
				"idle": func(f *fixture) { f.Refresh() },
				"tick": func(f *fixture) { engine.Of(f.World).BeginTick().End(inGoroutines) },
			} {
				if name == "Begin" && where == "idle" {
					continue
				}
				t.Run(name+" "+how+" "+where, func(t *testing.T) {
					f := newFixture(t, world.Options{Shards: 4, QueueRequests: 1000})
					all := f.newUnits(100)
					f.Destroy(all[99])
					b.set(f, all[0], fail)
					w := f.wait(all)
					v := alone(func() { refresh(f) })
					if how == "panics" || name+where == "a steptick" { // of another goroutine
						require.IsType(t, new(world.BrokenError), v)
						require.Equal(t, f.Err(), v)
					} else {
						require.Nil(t, v)
					}
					w.mustBeTold()
					f.mustBeBroken(all, b.during, how == "panics")
				})
			}
		}
	}
}

// inGoroutines is a Parallel with a goroutine for each part.
func inGoroutines(n int, f func(int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { f(i) })
	}
	group.Wait()
}

// waiters wait for what a port has sent, in all ways.
type waiters struct {
	f       *fixture
	created handle.Handle
	done    []*world.Completion
	answer  world.Answer[Health]
	group   sync.WaitGroup
}

// wait sends enough for a refresh in parallel, and waits.
func (f *fixture) wait(all []handle.Handle) *waiters {
	w := &waiters{f: f}
	p := f.port()
	var err error
	w.created, err = f.creature.Create(p.Notify(w.completion()), Creature{})
	require.NoError(f.t, err)
	require.NoError(f.t, p.Notify(w.completion()).Destroy(all[1]))
	require.NoError(f.t, f.health.Ask(p, all[2], &w.answer))
	for p.Waiting() < 1000 {
		require.NoError(f.t, f.health.Set(p.Notify(w.completion()), all[3], Health{1}))
	}
	idle := f.port()
	require.NoError(f.t, idle.Destroy(all[4]))
	require.ErrorIs(f.t, p.Destroy(all[5]), world.ErrFull)
	for _, c := range w.done {
		w.group.Go(func() {
			outcome, err := c.Wait(f.t.Context())
			require.NoError(f.t, err)
			require.Equal(f.t, world.Broken, outcome)
		})
	}
	w.group.Go(func() {
		_, err := w.answer.Get(f.t.Context())
		require.ErrorIs(f.t, err, world.ErrBroken)
	})
	w.group.Go(func() {
		if err := p.Within(f.t.Context()).Destroy(all[5]); err != nil { // or it was in time for the queue that was emptied
			require.ErrorIs(f.t, err, world.ErrBroken)
		}
		require.ErrorIs(f.t, p.Destroy(all[5]), world.ErrBroken)
	})
	return w
}

func (w *waiters) completion() *world.Completion {
	w.done = append(w.done, new(world.Completion))
	return w.done[len(w.done)-1]
}

func (w *waiters) mustBeTold() {
	w.group.Wait()
	require.False(w.f.t, w.f.Alive(w.created))
	require.Equal(w.f.t, world.Stale, w.f.Status(w.created))
}

// mustBeBroken checks what a broken world says.
func (f *fixture) mustBeBroken(all []handle.Handle, during string, caused bool) {
	t := f.t
	err := f.Err()
	require.ErrorIs(t, err, world.ErrBroken)
	require.ErrorIs(t, err, world.ErrClosed)
	require.ErrorContains(t, err, "world: broken by a panic in "+during+", at the end of tick 0: ")
	require.Equal(t, caused, errors.Is(err, errCause))
	if !caused {
		require.ErrorContains(t, err, "runtime.Goexit")
	}
	require.Error(t, f.Err())
	for _, h := range all {
		require.False(t, f.Alive(h))
		require.Equal(t, world.Stale, f.Status(h))
		require.False(t, f.Destroy(h))
	}
	_, err = f.unit.Create(f.World, Unit{})
	require.Equal(t, f.Err(), err)
	_, err = f.OpenPort()
	require.Equal(t, f.Err(), err)
	require.Equal(t, f.Err(), f.health.Set(f.World, all[0], Health{}))
	for call, run := range map[string]func(){
		"World.Refresh": f.Refresh, "World.Clear": f.Clear, "a new tick": func() { engine.Of(f.World).BeginTick() }, "World.Count": func() { f.Count() }, "World.Failure": func() { _ = f.Failure() },
	} {
		mustPanic(t, []string{call + " of a broken world (world: broken by a panic in " + during, "make another with world.New"}, run)
	}
	f.Close()
	f.Close()
}

// TestBrokenWhileClosed closes a world whose extension panics: it is closed all the same.
func TestBrokenWhileClosed(t *testing.T) {
	f := newFixture(t, world.Options{})
	all := f.newUnits(100)
	engine.Of(f.World).Extend(calls{spread: func() { panic(errCause) }})
	require.IsType(t, new(world.BrokenError), alone(f.Close))
	f.mustBeBroken(all, "Spread of extension \"calls\"", true)
}

// TestBrokenGivesMemoryBack keeps a broken world.
func TestBrokenGivesMemoryBack(t *testing.T) {
	f := newFixture(t, world.Options{})
	require.NoError(t, f.creature.CreateN(f.World, 200_000, nil))
	engine.Of(f.World).Extend(calls{settle: func() { panic(errCause) }})
	before := heap()
	require.NotNil(t, alone(f.Refresh))
	require.Less(t, heap(), before/2)
	runtime.KeepAlive(f)
}

// lateCalls is an extension that calls a function for each shard.
type lateCalls struct{ deliver func() }

func (lateCalls) Name() string { return "late" }

func (lateCalls) Due(uint64) int { return 1 << 10 } // so much that workers share it
func (lateCalls) Collect(int)    {}
func (c lateCalls) Deliver(int)  { c.deliver() }

// TestBrokenLate breaks a world when its requests are done, and before their senders are notified:
// they learn it all the same, also of ports that were closed. The error names the extension.
func TestBrokenLate(t *testing.T) {
	for _, parallel := range []extend.Parallel{serial, inGoroutines} {
		f := newFixture(t, world.Options{Shards: 2})
		hs := f.newUnits(3)
		engine.Of(f.World).ExtendLate(lateCalls{func() { panic(errCause) }})
		var done [3]world.Completion
		var ports []*world.Port
		for i := range done {
			ports = append(ports, f.port())
			require.NoError(t, ports[i].Notify(&done[i]).Destroy(hs[i]))
		}
		ports[0].Close()
		tick := engine.Of(f.World).BeginTick()
		require.NotNil(t, alone(func() { tick.End(parallel) }))
		var broken *world.BrokenError
		require.ErrorAs(t, f.Err(), &broken)
		require.Equal(t, "Deliver of extension \"late\"", broken.During)
		for i := range done {
			require.Equal(t, world.Applied, done[i].Outcome(), "port %d", i)
		}
	}
}

// TestRecorderFails has a Recorder panic, or end its goroutine, in each method: the refresh is
// completed, the error names the method, and nothing is told any more.
func TestRecorderFails(t *testing.T) {
	for _, parallel := range []extend.Parallel{serial, inGoroutines} {
		for how, fail := range map[string]func(){"panics": func() { panic(errCause) }, "exits": runtime.Goexit} {
			var later atomic.Int32 // calls of what comes behind the one that fails
			hear := func() { later.Add(1) }
			for method, l := range map[string]*ears{"Begin": {begin: fail, requests: hear, end: hear, settled: hear}, "Requests": {requests: fail, end: hear, settled: hear}, "End": {end: fail, settled: hear}, "Settled": {settled: fail}} {
				t.Run(method+" "+how, func(t *testing.T) {
					f := newFixture(t, world.Options{Shards: 4})
					all := f.newUnits(100)
					var failed error
					l.failed = func(err error) { failed = err }
					require.NoError(t, engine.Of(f.World).RecordInputs(*l, nil))
					var done [2000]world.Completion
					ports := []*world.Port{f.port(), f.port(), f.port()}
					for i := range done {
						require.NoError(t, f.health.Set(ports[i%3].Notify(&done[i]), all[i%100], Health{int64(i)}))
					}
					engine.Of(f.World).BeginTick().End(parallel)
					for i := range done {
						require.Equal(t, world.Applied, done[i].Outcome())
					}
					err := new(world.PanicError)
					require.ErrorAs(t, f.Failure(), &err)
					require.Equal(t, method, err.Name)
					require.Equal(t, how == "panics", errors.Is(f.Failure(), errCause))
					require.Equal(t, err, failed)
					require.Zero(t, later.Load(), "it is told nothing more")
					require.NoError(t, f.health.Set(ports[0], all[0], Health{}))
					f.Refresh()
					require.NoError(t, f.Failure())
					require.NoError(t, engine.Of(f.World).RecordInputs(*l, nil)) // nobody listens by now
					require.NoError(t, engine.Of(f.World).RecordInputs(nil, nil))
					f.mustGoOn(all)
				})
			}
		}
	}
}
