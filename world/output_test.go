package world_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/allocs"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// spoken is what a handler was called with.
type spoken struct {
	world.Moment
	Text string
}

// say makes an output of texts whose handler appends to all.
func (f *fixture) say(name string, all *[]spoken) *world.Output[string] {
	o := world.RegisterOutput[string](f.World, name)
	o.Handle(func(at world.Moment, v string) { *all = append(*all, spoken{at, name + " " + v}) })
	return o
}

// texts returns what was told, and checks that the moments are of one tick, in order.
func texts(t testing.TB, all []spoken, tick uint64) (texts []string) {
	t.Helper()
	for i, x := range all {
		require.Equal(t, world.Moment{Incarnation: 1, Tick: tick, N: uint32(i)}, x.Moment)
		texts = append(texts, x.Text)
	}
	return texts
}

// TestOutputOrder has everything that may put something do so, into two outputs.
func TestOutputOrder(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	var all []spoken
	a, b := f.say("a", &all), f.say("b", &all)
	f.Observe("tells", world.OnDestroy, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(c *world.Context, _ world.Event, hs []handle.Handle) {
			require.NoError(t, a.Put(c, fmt.Sprint("hook ", c.Shard())))
		}
	})
	do := f.doingIn()
	p := f.port()
	units := f.newUnits(32)
	require.NoError(t, f.do(f.World, units[0], func(e *world.EntityContext) {
		require.NoError(t, b.Put(e, "function of the idle world"))
	}))
	require.NoError(t, a.Put(f.World, "idle world"))
	require.NoError(t, do.Call(f.World, func(tx *world.Tx) error { return b.Put(tx, "transaction of the idle world") }))
	require.NoError(t, do.Call(p, func(tx *world.Tx) error {
		require.NoError(t, tx.Destroy(units[0]))
		require.NoError(t, tx.Destroy(units[31]))
		return errors.Join(b.Put(tx, "transaction"), a.Put(tx, "transaction"))
	}))
	for _, h := range []handle.Handle{units[31], units[0]} {
		require.NoError(t, f.do(p, h, func(e *world.EntityContext) {
			require.NoError(t, b.Put(e, fmt.Sprint("function ", e.Shard())))
		}))
	}
	system := func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			require.NoError(t, a.Put(c, fmt.Sprint("system ", c.Shard())))
			require.NoError(t, a.Put(c, fmt.Sprint("system ", c.Shard())))
			require.NoError(t, b.Put(c, fmt.Sprint("system ", c.Shard())))
		}
	}
	f.global(nil, func(*world.Build) func(*world.Context) {
		return func(c *world.Context) { require.NoError(t, b.Put(c, "global")) }
	}, system)
	require.NoError(t, f.Failure())
	require.Equal(t, []string{
		"b function of the idle world", "a idle world", "b transaction of the idle world",
		"a system 0", "a system 0", "b system 0", "a system 1", "a system 1", "b system 1", "b global",
		"b function 0", "b function 1",
		"b transaction", "a transaction",
		"a hook 0", "a hook 1",
	}, texts(t, all, 0))
	all = nil
	f.Refresh()
	require.Empty(t, all, "at most once")
	require.EqualValues(t, 16, f.stats().Outputs)
	require.EqualValues(t, 16, f.stats().OutputsHandled)
	require.Zero(t, f.stats().OutputsDropped)
}

// TestOutputOfTransaction keeps nothing of a transaction that fails or panics, and all else.
func TestOutputOfTransaction(t *testing.T) {
	for _, idle := range []bool{false, true} {
		f := newFixture(t, world.Options{Shards: 2})
		var all []spoken
		a, b := f.say("a", &all), f.say("b", &all)
		do := f.doingIn()
		by := world.Actor(f.World)
		if !idle {
			by = f.port()
		}
		call := func(end func() error, texts ...string) {
			run := func(tx *world.Tx) error {
				for i, text := range texts {
					require.NoError(t, []*world.Output[string]{a, b}[i%2].Put(tx, text))
				}
				return end()
			}
			if !idle {
				require.NoError(t, do.Call(by, run))
				return
			}
			func() {
				defer func() { _ = recover() }()
				_ = do.Call(by, run)
			}()
		}
		fine, fails := func() error { return nil }, func() error { return errPoor }
		panics := func() error { panic("no") }
		call(fails, "1")
		call(fine, "2", "3", "4")
		call(fails, "5")
		call(panics, "6", "7")
		call(fine, "8")
		call(func() error { return do.Call(by, nil) }) // not by the Tx: it panics
		call(panics)
		call(fails, "9", "10", "11")
		f.Refresh()
		require.Equal(t, []string{"a 2", "b 3", "a 4", "a 8"}, texts(t, all, 0), "idle: %v", idle)
		require.EqualValues(t, 4, f.stats().Outputs)
	}
}

// TestOutputOfPanic keeps what a system, function and hook have put before they panic.
func TestOutputOfPanic(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	var all []spoken
	a := f.say("a", &all)
	f.Observe("panics", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(c *world.Context, _ world.Event, hs []handle.Handle) {
			require.NoError(t, a.Put(c, "hook"))
			panic("hook")
		}
	})
	u, p := f.newUnit(1), f.port()
	require.NoError(t, f.do(p, u, func(e *world.EntityContext) {
		require.NoError(t, a.Put(e, "function"))
		panic("function")
	}))
	require.Panics(t, func() {
		f.tick(func(*world.Build) func(*world.Context) {
			return func(c *world.Context) {
				require.NoError(t, a.Put(c, "system"))
				panic("system")
			}
		})
	})
	require.Equal(t, []string{"a system", "a function", "a hook"}, texts(t, all, 0))
}

// TestOutputFull meets the limits of a shard in values and bytes. What is refused is not there, and
// the next tick has room.
func TestOutputFull(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2, OutboxRequests: 3, OutboxBytes: 4096})
	var all []spoken
	a := f.say("a", &all)
	large := world.RegisterOutput[[1500]byte](f.World, "large")
	larger := world.RegisterOutput[[4097]byte](f.World, "larger")
	do := f.doingIn()
	for range 3 {
		first := f.stats().Outputs
		all = nil
		f.tick(func(*world.Build) func(*world.Context) {
			return func(c *world.Context) {
				for i := range 3 {
					require.NoError(t, a.Put(c, fmt.Sprint(i)))
				}
				require.Equal(t, world.ErrFull, a.Put(c, "more"))
			}
		})
		require.Len(t, all, 6)
		require.Equal(t, first+6, f.stats().Outputs)
	}
	f.tick(func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			require.ErrorIs(t, larger.Put(c, [4097]byte{}), world.ErrTooLarge)
			require.NoError(t, large.Put(c, [1500]byte{}))
			require.NoError(t, large.Put(c, [1500]byte{}))
			require.Equal(t, world.ErrFull, large.Put(c, [1500]byte{}))
			require.NoError(t, a.Put(c, "small"))
		}
	})
	all = nil
	p := f.port()
	require.NoError(t, do.Call(p, func(tx *world.Tx) error {
		for range 3 {
			require.NoError(t, a.Put(tx, "gone"))
		}
		require.Equal(t, world.ErrFull, a.Put(tx, "more"))
		return errPoor
	}))
	require.NoError(t, do.Call(p, func(tx *world.Tx) error {
		for i := range 3 {
			require.NoError(t, a.Put(tx, fmt.Sprint(i)))
		}
		require.Equal(t, world.ErrFull, a.Put(tx, "more"))
		return nil
	}))
	f.Refresh()
	require.NoError(t, f.Failure())
	require.Equal(t, []string{"a 0", "a 1", "a 2"}, texts(t, all, 4))
}

// TestOutputHandler sets a handler late, again, and none.
func TestOutputHandler(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	a := world.RegisterOutput[handle.Handle](f.World, "a")
	u := f.newUnit(1)
	require.NoError(t, a.Put(f.World, u))
	f.Refresh()
	require.EqualValues(t, 1, f.stats().OutputsDropped)
	require.Zero(t, f.stats().OutputsHandled)
	require.NoError(t, a.Put(f.World, u))
	a.Handle(func(world.Moment, handle.Handle) { t.Error("replaced") })
	var alive []bool
	a.Handle(func(at world.Moment, h handle.Handle) {
		require.Equal(t, world.Moment{Incarnation: 1, Tick: 1}, at)
		alive = append(alive, f.Alive(h))
	})
	require.True(t, f.Destroy(u))
	f.Refresh()
	require.Equal(t, []bool{false}, alive, "the entity has died in that refresh")
	require.PanicsWithValue(t, `world: Output.Handle of "a" with a nil function; pass one to call`, func() { a.Handle(nil) })
	require.PanicsWithValue(t, `world: output name "a" is taken; pass another`, func() { world.RegisterOutput[int](f.World, "a") })
	require.Panics(t, func() { world.RegisterOutput[int](f.World, "") })
	require.Panics(t, func() { world.RegisterOutput[struct{ x chan int }](nil, "b") })
	p := f.port()
	require.PanicsWithValue(t, "world: Output.Put by a *world.Port, which cannot do that; request a function or a transaction that does", func() { _ = a.Put(p, u) })
	other := newFixture(t, world.Options{})
	require.Panics(t, func() { _ = a.Put(other.World, u) })
}

// TestOutputHandlerPanics goes on after handlers that panic, and keeps as many of the panics as of
// functions.
func TestOutputHandlerPanics(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	a, handled := world.RegisterOutput[int](f.World, "a"), 0
	a.Handle(func(_ world.Moment, v int) {
		if handled++; v%2 == 0 {
			panic(errPoor)
		}
	})
	put := func(n int) {
		for i := range n {
			require.NoError(t, a.Put(f.World, i))
		}
	}
	put(3)
	f.Refresh()
	require.Equal(t, 3, handled)
	require.EqualValues(t, 3, f.stats().OutputsHandled)
	var failure *world.PanicError
	require.ErrorAs(t, f.Failure(), &failure)
	require.ErrorIs(t, failure, errPoor)
	require.Equal(t, `world: the handler of output "a" panicked, after tick 0: too few points`, failure.Error())
	require.Contains(t, string(failure.Stack), "TestOutputHandlerPanics")
	require.NoError(t, f.Err())
	f.Refresh()
	require.NoError(t, f.Failure())
	put(200)
	f.Refresh()
	require.Equal(t, 203, handled)
	require.ErrorContains(t, f.Failure(), "world: 36 more handlers of outputs panicked after tick 2; details are kept of 64")
}

// TestOutputHandlerExits ends the goroutine by a handler: what comes behind it waits for the next
// refresh, and keeps its moment.
func TestOutputHandlerExits(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	a := world.RegisterOutput[int](f.World, "a")
	var all []world.Moment
	a.Handle(func(at world.Moment, v int) {
		if all = append(all, at); v == 1 {
			runtime.Goexit()
		}
	})
	for i := range 4 {
		require.NoError(t, a.Put(f.World, i))
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.Refresh()
	}()
	<-ended
	require.Len(t, all, 2)
	require.NoError(t, a.Put(f.World, 9))
	f.Refresh()
	require.Equal(t, []world.Moment{{1, 0, 0}, {1, 0, 1}, {1, 0, 2}, {1, 0, 3}, {1, 1, 0}}, all)
}

// TestOutputHandlerActs puts again, changes the world, refreshes it, and closes it in a handler.
func TestOutputHandlerActs(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	a := world.RegisterOutput[int](f.World, "a")
	do := f.doingIn()
	var all []world.Moment
	u := f.newUnit(1)
	a.Handle(func(at world.Moment, v int) {
		all = append(all, at)
		switch v {
		case 0: // comes after the next refresh
			require.NoError(t, a.Put(f.World, 1))
		case 1: // all that an idle world may do
			made := f.newUnit(2)
			require.NoError(t, f.health.Set(f.World, made, Health{3}))
			require.NoError(t, do.Call(f.World, func(tx *world.Tx) error { return a.Put(tx, 2) }))
			require.True(t, f.Destroy(u))
			f.Refresh() // its handlers are called after this one
			require.Len(t, all, 2)
			require.False(t, f.Alive(u))
		case 2:
			require.NoError(t, a.Put(f.World, 9))
			f.Close()
			require.ErrorIs(t, a.Put(f.World, 3), world.ErrClosed)
			require.Panics(t, func() { a.Handle(nil) })
		default:
			t.Error("the world is closed")
		}
	})
	require.NoError(t, a.Put(f.World, 0))
	f.Refresh()
	require.Equal(t, []world.Moment{{1, 0, 0}}, all)
	f.Refresh()
	require.Equal(t, []world.Moment{{1, 0, 0}, {1, 1, 0}, {1, 2, 0}}, all)
	require.ErrorIs(t, f.Err(), world.ErrClosed)
}

// TestOutputClosed drops what waits when the world is closed, or breaks.
func TestOutputClosed(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	a := world.RegisterOutput[int](f.World, "a")
	a.Handle(func(world.Moment, int) { t.Error("the world is closed") })
	f.Observe("tells", world.OnDestroy, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(c *world.Context, _ world.Event, hs []handle.Handle) { require.NoError(t, a.Put(c, 2)) }
	})
	f.newUnit(1)
	require.NoError(t, a.Put(f.World, 1))
	f.Close()
	require.ErrorIs(t, a.Put(f.World, 1), world.ErrClosed)
}

// TestOutputClear is handled after a Clear, too.
func TestOutputClear(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	var all []spoken
	a := f.say("a", &all)
	require.NoError(t, a.Put(f.World, "1"))
	f.Clear()
	require.Equal(t, []string{"a 1"}, texts(t, all, 0))
}

// TestOutputAllocates puts and handles in ticks that allocate nothing.
func TestOutputAllocates(t *testing.T) {
	if check.Enabled {
		t.Skip("the check build allocates")
	}
	f := newFixture(t, world.Options{Shards: 2})
	a := world.RegisterOutput[[2]uint64](f.World, "a")
	sum := uint64(0)
	a.Handle(func(at world.Moment, v [2]uint64) { sum += v[0] + uint64(at.N) })
	s := f.build(func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			for i := range 100 {
				_ = a.Put(c, [2]uint64{uint64(i)})
			}
		}
	})
	tick := func() { f.runTick(s) }
	tick()
	require.Zero(t, allocs.Least(100, tick))
	require.NotZero(t, sum)
}

// BenchmarkOutput puts a value and handles it.
func BenchmarkOutput(b *testing.B) {
	f := newFixture(b, world.Options{Shards: 2})
	a := world.RegisterOutput[[2]uint64](f.World, "a")
	sum := uint64(0)
	a.Handle(func(_ world.Moment, v [2]uint64) { sum += v[0] })
	const each = 1000
	s := f.build(func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			for i := range each / 2 {
				_ = a.Put(c, [2]uint64{uint64(i)})
			}
		}
	})
	b.ReportAllocs()
	for range b.N/each + 1 {
		f.runTick(s)
	}
}

// TestOutputHandlerRefreshes has a handler panic, and a later one refresh the world: the panic is
// still reported.
func TestOutputHandlerRefreshes(t *testing.T) {
	w := world.MustNew(world.Options{Shards: 1})
	out := world.RegisterOutput[int](w, "out")
	out.Handle(func(_ world.Moment, n int) {
		if n == 0 {
			panic("first")
		}
		w.Refresh()
		panic("second")
	})
	require.NoError(t, out.Put(w, 0))
	require.NoError(t, out.Put(w, 1))
	w.Refresh()
	require.ErrorContains(t, w.Failure(), "first")
	require.ErrorContains(t, w.Failure(), "second")
	w.Refresh()
	require.NoError(t, w.Failure())
}
