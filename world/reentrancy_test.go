package world_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/world"
)

// places are where code of the user's runs while somebody has the world. Each runs f once,
// in a way of its own, and has the rest of the refresh or tick done.
var places = map[string]struct {
	says string
	run  func(f *fixture, h handle.Handle, call func())
}{
	"a function of a refresh": {"while a refresh runs; within a hook use its Context, within a function its EntityContext", func(f *fixture, h handle.Handle, call func()) {
		require.NoError(f.t, f.do(f.port(), h, func(*world.EntityContext) { call() }))
		f.Refresh()
	}},
	"a function of an idle world": {`inside function "do" would move the row it works on; call it after the function`, func(f *fixture, h handle.Handle, call func()) {
		require.NoError(f.t, f.do(f.World, h, func(*world.EntityContext) { call() }))
	}},
	"a question": {"while a refresh runs", func(f *fixture, h handle.Handle, call func()) {
		q := world.RegisterQuestion(f.World, "question", func(*world.EntityContext, int) int { call(); return 1 })
		var answer world.Answer[int]
		require.NoError(f.t, q.Ask(f.port(), h, 1, &answer))
		f.Refresh()
	}},
	"a hook": {"while a refresh runs", func(f *fixture, h handle.Handle, call func()) {
		f.onSet(call)
		require.NoError(f.t, f.health.Set(f.World, h, Health{7}))
		f.Refresh()
	}},
	"a hook in a tick": {"while a refresh runs", func(f *fixture, h handle.Handle, call func()) {
		f.onSet(call)
		require.NoError(f.t, f.health.Set(f.World, h, Health{7}))
		engine.Of(f.World).BeginTick().End(serial)
	}},
	"an extension's request": {"while a refresh runs", func(f *fixture, h handle.Handle, call func()) {
		r := engine.NewRequests(engine.Of(f.World), "extension", func(handle.Handle, *int) engine.Outcome { call(); return engine.Applied })
		engine.Of(f.World).Extend(calls{spread: func() {}})
		require.NoError(f.t, r.Send(f.port(), h, 1))
		f.Refresh()
	}},
	"an extension": {"while a refresh runs", func(f *fixture, _ handle.Handle, call func()) {
		engine.Of(f.World).Extend(calls{spread: call})
		f.Destroy(f.newUnit(9))
		f.Refresh()
	}},
	"an extension when a tick begins": {"while a tick runs", func(f *fixture, _ handle.Handle, call func()) {
		engine.Of(f.World).Extend(calls{begin: call})
		engine.Of(f.World).BeginTick().End(serial)
	}},
	"a listener": {"while a refresh runs", func(f *fixture, h handle.Handle, call func()) {
		require.NoError(f.t, engine.Of(f.World).RecordInputs(ears{requests: call}, nil))
		require.NoError(f.t, f.health.Set(f.port(), h, Health{7}))
		f.Refresh()
		require.NoError(f.t, engine.Of(f.World).RecordInputs(nil, nil))
	}},
	"a tick": {"while a tick runs", func(f *fixture, _ handle.Handle, call func()) {
		tick := engine.Of(f.World).BeginTick()
		call()
		tick.End(serial)
	}},
	"another goroutine in a tick": {"while a tick runs", func(f *fixture, _ handle.Handle, call func()) {
		tick, done := engine.Of(f.World).BeginTick(), make(chan any)
		go func() {
			defer func() { done <- recover() }()
			call()
		}()
		if v := <-done; v != nil {
			panic(v)
		}
		tick.End(serial)
	}},
	"a query loop": {"inside a query loop would move the rows it walks; call it after the loop", func(f *fixture, _ handle.Handle, call func()) {
		for range f.Query(world.Read[Health](f.World)).Chunks() {
			call()
			return
		}
	}},
	"the init of a batch": {"inside a query loop would move the rows it walks", func(f *fixture, _ handle.Handle, call func()) {
		require.NoError(f.t, f.unit.CreateN(f.World, 1, func(int, *Unit) { call() }))
	}},
}

// onSet has a hook make a call, once.
func (f *fixture) onSet(call func()) {
	f.Observe("calls", world.OnSet, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(*world.Context, world.Event, []handle.Handle) { call() }
	}, f.health)
}

// calls is an extension that makes calls.
type calls struct{ begin, spare, spread, settle func() }

func run(f func()) {
	if f != nil {
		f()
	}
}

func (c calls) Begin()                      { run(c.begin) }
func (c calls) Spare(*extend.DyingSet) bool { run(c.spare); return false }
func (c calls) Name() string                { return "calls" }

func (c calls) Spread(d *extend.DyingSet, _ int) {
	run(c.spread)
}
func (c calls) Settle() { run(c.settle) }

// TestReentrancy calls what takes the idle world, or moves rows in it, wherever code of the
// user's runs while the world is taken: each is a panic that says where it was called and
// what to do, and nothing of the world is changed.
func TestReentrancy(t *testing.T) {
	for place, p := range places {
		for call, run := range map[string]func(f *fixture, h handle.Handle){
			"World.Refresh":                 func(f *fixture, _ handle.Handle) { f.Refresh() },
			"World.Close":                   func(f *fixture, _ handle.Handle) { f.Close() },
			"World.Clear":                   func(f *fixture, _ handle.Handle) { f.Clear() },
			"a new tick":                    func(f *fixture, _ handle.Handle) { engine.Of(f.World).BeginTick() },
			"Component.Add by the World":    func(f *fixture, h handle.Handle) { _ = f.name.Add(f.World, h, Name{}) },
			"Component.Remove by the World": func(f *fixture, h handle.Handle) { _ = f.health.Remove(f.World, h) },
			"world.Move by the World":       func(f *fixture, h handle.Handle) { _ = world.Move(f.World, h, 1) },
		} {
			t.Run(call+" in "+place, func(t *testing.T) {
				f := newFixture(t, world.Options{Shards: 2})
				all := f.newUnits(100)
				called := false
				p.run(f, all[0], func() {
					called = true
					says := p.says
					if call == "a new tick" && says == "while a tick runs" {
						says = "a world has one scheduler at a time"
					}
					mustPanic(t, []string{call, says}, func() { run(f, all[0]) })
				})
				require.True(t, called)
				f.mustGoOn(all)
			})
		}
	}
}

// mustGoOn checks that the world works: the units are as they were, and go when they are to.
func (f *fixture) mustGoOn(all []handle.Handle) {
	f.t.Helper()
	require.NoError(f.t, f.Failure())
	p := f.port()
	for _, h := range all {
		require.True(f.t, f.Alive(h))
		require.NoError(f.t, p.Destroy(h))
	}
	f.Refresh()
	for _, h := range all {
		require.False(f.t, f.Alive(h))
	}
	f.newUnit(1)
	f.Clear()
	require.Zero(f.t, f.Count())
	f.Close()
	require.True(f.t, f.Err() != nil)
}

// TestCloseWithinClose closes a world again in a hook of the first Close: that is under way.
func TestCloseWithinClose(t *testing.T) {
	f := newFixture(t, world.Options{})
	f.newUnit(1)
	called := 0
	f.Observe("closes", world.OnDestroy, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(*world.Context, world.Event, []handle.Handle) {
			called++
			f.Close()
			mustPanic(t, []string{"World.Refresh of a closed world"}, f.Refresh)
		}
	})
	f.Close()
	require.Equal(t, 1, called)
	require.Error(t, f.Err())
}

// TestTakenAtOnce has goroutines refresh, tick and close a world at the same time: one of
// them has it, the others are told so, and Close wins once.
func TestTakenAtOnce(t *testing.T) {
	for range iterations(100) {
		f := newFixture(t, world.Options{})
		f.newUnits(10)
		tries := make(chan any, 4)
		for i := range cap(tries) {
			go func() {
				defer func() { tries <- recover() }()
				for range 20 {
					switch i {
					case 0, 1:
						f.Refresh()
					case 2:
						engine.Of(f.World).BeginTick().End(serial)
					case 3:
						f.Close()
					}
				}
			}()
		}
		for range cap(tries) {
			if v := <-tries; v != nil {
				require.Regexp(t, `^world: (World\.(Refresh|Close)|a new tick) (while a (tick|refresh) runs|of a closed world)`, fmt.Sprint(v))
			}
		}
		f.Close()
		require.Error(t, f.Err())
	}
}

// ears is a Recorder that makes calls.
type ears struct {
	begin, requests, end, settled func()
	failed                        func(error)
}

func (e ears) Failed(err error)                          { e.failed(err) }
func (e ears) Begin()                                    { run(e.begin) }
func (e ears) Requests(int, int, []queue.PendingRequest) { run(e.requests) }
func (e ears) End(*extend.Inputs)                        { run(e.end) }
func (e ears) Settled()                                  { run(e.settled) }
