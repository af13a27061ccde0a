package world_test

import (
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// told is what a hook was called with.
type told struct {
	hook   string
	shard  int
	on     world.Event
	hs     []handle.Handle
	health []int64 // of those that have it
}

// diary keeps what hooks are told.
type diary struct {
	byShard [][]told
}

// observe makes a hook that writes down what it is told.
func (d *diary) observe(f *fixture, name string, on world.Event, parts ...world.ComponentSet) *world.Hook {
	d.byShard = make([][]told, f.Shards())
	return f.Observe(name, on, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		health := world.Read[Health](b)
		return func(c *world.Context, on world.Event, hs []handle.Handle) {
			t := told{hook: name, shard: c.Shard(), on: on, hs: slices.Clone(hs)}
			for _, h := range hs {
				if p := health.Get(h); p != nil {
					t.health = append(t.health, p.Points)
				}
			}
			d.byShard[c.Shard()] = append(d.byShard[c.Shard()], t)
		}
	}, parts...)
}

// read returns what was written down, shard by shard, and forgets it.
func (d *diary) read() (all []told) {
	for i := range d.byShard {
		all = append(all, d.byShard[i]...)
		d.byShard[i] = nil
	}
	return all
}

const anything = world.OnCreate | world.OnRemove | world.OnAdd | world.OnSet | world.OnDestroy

// TestHookOfTransactions has transactions write: hooks are told what each leaves, by entities in the
// order in which it first wrote them.
func TestHookOfTransactions(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	do, p := f.doingIn(), f.port()
	hs := f.newUnits(4)
	f.Refresh()
	var d diary
	d.observe(f, "health", anything, f.health)
	ask := func(run ...func(tx *world.Tx) error) {
		t.Helper()
		var left world.Answer[int]
		require.NoError(t, do.Send(p, func(tx *world.Tx) (err error) {
			for _, one := range run {
				err = errors.Join(err, one(tx))
			}
			return err
		}, &left))
	}
	set := func(of, points int64) func(*world.Tx) error {
		return func(tx *world.Tx) error { return f.health.Set(tx, hs[of], Health{points}) }
	}
	remove := func(tx *world.Tx) error { return f.health.Remove(tx, hs[0]) }
	add := func(tx *world.Tx) error { return f.health.Add(tx, hs[0], Health{40}) }
	replaced := func(health []int64, hs ...handle.Handle) []told {
		return []told{{"health", 0, world.OnSet, hs, health}}
	}

	ask(set(2, 20), set(1, 10))
	ask(set(3, 30), set(2, 21))
	ask(set(0, 1), func(*world.Tx) error { return errors.New("none of it") })
	f.Refresh()
	require.Equal(t, replaced([]int64{21, 10, 30}, hs[2], hs[1], hs[3]), d.read())

	ask(set(0, 1), remove)
	ask(add)
	f.Refresh()
	f.mustHave(40)(hs[0])
	require.Empty(t, d.read(), "what it set, it removed; and then it was lost and got again")

	ask(remove, add)
	f.Refresh()
	require.Equal(t, replaced([]int64{40}, hs[0]), d.read())
}

// TestHookEvents has each event happen, by the idle world, a port and a system.
func TestHookEvents(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	var d diary
	d.observe(f, "health", anything, f.health)
	p, err := f.OpenPort()
	require.NoError(t, err)
	expect := func(want ...told) {
		t.Helper()
		for i := range want {
			want[i].hook = "health"
		}
		require.Equal(t, want, d.read())
	}

	h, err := f.unit.Create(f.World, Unit{Health{1}})
	require.NoError(t, err)
	_, err = f.mover.Create(f.World, Mover{}) // without health
	require.NoError(t, err)
	require.NoError(t, f.health.Set(f.World, h, Health{2})) // not told apart
	require.NoError(t, f.name.Add(f.World, h, Name{"n"}))
	f.Refresh()
	expect(told{on: world.OnCreate, hs: []handle.Handle{h}, health: []int64{2}})
	f.Refresh()
	expect()

	require.NoError(t, f.health.Set(p, h, Health{3}))
	require.NoError(t, f.health.Set(p, h, Health{4}))
	require.NoError(t, f.name.Set(p, h, Name{"other"}))
	f.Refresh()
	expect(told{on: world.OnSet, hs: []handle.Handle{h}, health: []int64{4}})

	require.NoError(t, f.health.Remove(f.World, h))
	f.Refresh()
	expect(told{on: world.OnRemove, hs: []handle.Handle{h}})
	require.NoError(t, f.health.Add(p, h, Health{5}))
	f.Refresh()
	expect(told{on: world.OnAdd, hs: []handle.Handle{h}, health: []int64{5}})
	require.NoError(t, f.health.Add(p, h, Health{6})) // it has it
	f.Refresh()
	expect(told{on: world.OnSet, hs: []handle.Handle{h}, health: []int64{6}})
	require.NoError(t, f.health.Remove(f.World, h)) // and back
	require.NoError(t, f.health.Add(p, h, Health{7}))
	f.Refresh()
	expect()
	require.NoError(t, f.unit.Add(f.World, h, Unit{Health{8}}, f.name))
	f.Refresh()
	expect(told{on: world.OnSet, hs: []handle.Handle{h}, health: []int64{8}})

	require.NoError(t, f.health.Set(p, h, Health{9}))
	require.NoError(t, p.Destroy(h))
	f.Refresh()
	expect(told{on: world.OnSet, hs: []handle.Handle{h}, health: []int64{9}},
		told{on: world.OnDestroy, hs: []handle.Handle{h}, health: []int64{9}})
	require.False(t, f.Alive(h))

	h, err = f.unit.Create(p, Unit{})
	require.NoError(t, err)
	require.NoError(t, p.Destroy(h))
	f.Refresh()
	expect() // it was never alive
}

// TestHookTick has systems and ports act in a tick, over several shards.
func TestHookTick(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 3})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) % 3 })
	var d diary
	d.observe(f, "first", world.OnCreate|world.OnDestroy, f.health)
	d.observe(f, "second", world.OnCreate, f.creature)
	hs := create(t, f, 9)
	f.Refresh()
	d.read()

	p, err := f.OpenPort()
	require.NoError(t, err)
	born, err := f.unit.Create(p, Unit{Health{4}})
	require.NoError(t, err)
	tick := engine.Of(f.World).BeginTick()
	var brief, made handle.Handle
	f.in(1, func(c *world.Context) {
		brief, err = f.unit.Create(c, Unit{Health{70}})
		require.NoError(t, err)
		made, err = f.creature.Create(c, Creature{Health: Health{71}})
		require.NoError(t, err)
		require.NoError(t, c.Destroy(brief))
		require.NoError(t, c.Destroy(hs[1]))
		require.NoError(t, c.Destroy(hs[0])) // of another shard
	})
	tick.End(reverse)
	require.Equal(t, []told{
		{"first", 0, world.OnDestroy, []handle.Handle{hs[0]}, []int64{0}},
		{"first", 1, world.OnCreate, []handle.Handle{brief, made, born}, []int64{70, 71, 4}},
		{"second", 1, world.OnCreate, []handle.Handle{made}, []int64{71}},
		{"first", 1, world.OnDestroy, []handle.Handle{hs[1], brief}, []int64{1, 70}},
	}, d.read())
	require.False(t, f.Alive(brief))
}

// create makes n units of health 0, 1, …
func create(t *testing.T, f *fixture, n int) []handle.Handle {
	t.Helper()
	var hs []handle.Handle
	for i := range n {
		h, err := f.unit.Create(f.World, Unit{Health{int64(i)}})
		require.NoError(t, err)
		hs = append(hs, h)
	}
	return hs
}

// in runs a system that writes everything on a shard.
func (f *fixture) in(shard int, system func(c *world.Context)) {
	c := (*world.Context)(engine.Of(f.World).Context(shard))
	var a extend.Access
	for i := range 5 {
		a.Writes.Add(i)
	}
	(*engine.Context)(c).Acting().Start("test", &a)
	defer (*engine.Context)(c).Acting().Stop()
	system(c)
}

// reverse is an extend.Parallel that runs the last first.
func reverse(n int, f func(int)) {
	for i := n - 1; i >= 0; i-- {
		f(i)
	}
}

// TestHookActs has a hook write, create, destroy and send: its own shard's entities at
// once, the rest at the next refresh, which tells of it.
func TestHookActs(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) % 2 })
	hs := create(t, f, 2)
	f.Refresh()
	done := false
	f.Observe("acts", world.OnSet, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		b.Creates(f.unit)
		health := world.Write[Health](b)
		return func(c *world.Context, _ world.Event, set []handle.Handle) {
			if done || c.Shard() != 0 {
				return
			}
			done = true
			require.Equal(t, []handle.Handle{hs[0]}, set)
			health.Get(hs[0]).Points = 100
			require.Nil(t, health.Get(hs[1]), "of another shard")
			h, err := f.unit.Create(c, Unit{Health{50}})
			require.NoError(t, err)
			require.NoError(t, f.health.Set(c, h, Health{51}))
			require.True(t, c.Alive(h))
			require.NoError(t, c.Destroy(hs[0]))
			require.NoError(t, c.Destroy(hs[1]))
			require.Equal(t, world.Alive, c.Status(hs[0]))
			require.NoError(t, f.hit.Send(c, hs[1], Hit{3}))
			require.NoError(t, f.position.Add(c, h, Position{X: 7}))
		}
	}, f.health)
	var d diary
	d.observe(f, "all", anything, f.health)
	require.NoError(t, f.health.Set(f.World, hs[0], Health{4}))
	f.Refresh()
	require.NoError(t, f.Failure())
	require.Equal(t, []told{{"all", 0, world.OnSet, hs[:1], []int64{100}}}, d.read())
	require.True(t, f.Alive(hs[0]))
	require.True(t, f.Alive(hs[1]))
	require.Equal(t, 3, f.Count())
	f.Refresh()
	require.NoError(t, f.Failure())
	require.False(t, f.Alive(hs[0]))
	got := d.read()
	require.Equal(t, []told{
		{"all", 0, world.OnCreate, got[0].hs, []int64{51}},
		{"all", 0, world.OnDestroy, hs[:1], []int64{100}},
		{"all", 1, world.OnDestroy, hs[1:], []int64{1}},
	}, got)
	require.Equal(t, 7.0, world.Read[Position](f.World).Get(got[0].hs[0]).X)
}

// TestHookMoved tells of who was moved by the idle world, and by a refresh, where it is
// then.
func TestHookMoved(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 3})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) % 3 })
	var d diary
	d.observe(f, "all", anything, f.health)
	hs := create(t, f, 4)
	require.NoError(t, world.Move(f.World, hs[0], 2))
	f.Refresh()
	require.Equal(t, []told{
		{"all", 0, world.OnCreate, hs[3:], []int64{3}},
		{"all", 1, world.OnCreate, hs[1:2], []int64{1}},
		{"all", 2, world.OnCreate, []handle.Handle{hs[2], hs[0]}, []int64{2, 0}},
	}, d.read())

	h := hs[1]
	for _, to := range []int{0, 1, 0} { // without health on the way
		require.NoError(t, f.health.Remove(f.World, h))
		require.NoError(t, world.Move(f.World, h, to))
		require.NoError(t, f.health.Add(f.World, h, Health{9}))
	}
	require.NoError(t, f.health.Set(f.World, h, Health{10}))
	require.NoError(t, world.Move(f.World, h, 1))
	require.NoError(t, f.health.Remove(f.World, hs[2]))
	require.NoError(t, world.Move(f.World, hs[2], 0))
	p, err := f.OpenPort()
	require.NoError(t, err)
	require.NoError(t, f.health.Set(p, hs[3], Health{30}))
	require.NoError(t, world.Move(p, hs[3], 1))
	f.Refresh()
	require.Equal(t, []told{
		{"all", 0, world.OnRemove, hs[2:3], nil},
		{"all", 0, world.OnSet, hs[3:], []int64{30}},
		{"all", 1, world.OnSet, []handle.Handle{h}, []int64{10}},
	}, d.read())
	f.Refresh()
	require.Empty(t, d.read())
}

// TestHookBatches sees batches by query, by the idle world.
func TestHookBatches(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	var d diary
	d.observe(f, "pair", anything, f.health, f.position)
	for _, n := range []int{5, 3000} { // one by one, and whole chunks
		require.NoError(t, f.unit.CreateN(f.World, n, nil))
		f.Refresh()
		require.Empty(t, d.read())
		count := func(on world.Event) {
			t.Helper()
			f.Refresh()
			sum := 0
			for _, x := range d.read() {
				require.Equal(t, on, x.on)
				sum += len(x.hs)
				slices.Sort(x.hs)
				require.Len(t, slices.Compact(x.hs), len(x.hs))
			}
			require.Equal(t, n, sum)
		}
		all := f.Query(world.Read[Health](f.World))
		require.NoError(t, f.position.AddTo(all, nil))
		count(world.OnAdd)
		require.NoError(t, all.Remove(f.position))
		count(world.OnRemove)
		require.NoError(t, f.position.AddTo(all, nil))
		all.Destroy()
		f.Refresh()
		sum := map[world.Event]int{}
		for _, x := range d.read() {
			sum[x.on] += len(x.hs)
		}
		require.Equal(t, map[world.Event]int{world.OnAdd: n, world.OnDestroy: n}, sum)
	}
}

// TestHookPanics contains hooks that panic or end their goroutine.
func TestHookPanics(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) % 2 })
	bad := errors.New("bad")
	breaks := func(name string, how func()) *world.Hook {
		return f.Observe(name, world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
			return func(c *world.Context, _ world.Event, _ []handle.Handle) {
				if c.Shard() == 1 {
					how()
				}
			}
		})
	}
	first := breaks("panics", func() { panic(bad) })
	breaks("exits", runtime.Goexit)
	var d diary
	d.observe(f, "fine", world.OnCreate)
	hs := create(t, f, 2)
	f.Refresh()
	require.Len(t, d.read(), 2)
	err := f.Failure()
	require.ErrorIs(t, err, bad)
	require.EqualError(t, err, `world: hook "panics" panicked OnCreate, on shard 1, at the end of tick 0: bad
world: hook "exits" panicked OnCreate, on shard 1, at the end of tick 0: it called runtime.Goexit, as a test that fails does`)
	var e *world.PanicError
	require.ErrorAs(t, err, &e)
	require.Equal(t, "panics", e.Name)
	require.Contains(t, string(e.Stack), "hook_test.go")
	f.Refresh()
	require.NoError(t, f.Failure())

	engine.Of(f.World).Survey().Hooks()[0].Disable(1)
	require.True(t, engine.Of(f.World).Survey().Hooks()[0].Enabled(0))
	require.False(t, engine.Of(f.World).Survey().Hooks()[0].Enabled(1))
	create(t, f, 2)
	f.Refresh()
	require.NotErrorIs(t, f.Failure(), bad)
	first.SetEnabled(true)
	create(t, f, 2)
	f.Refresh()
	require.ErrorIs(t, f.Failure(), bad)
	first.SetEnabled(false)
	require.False(t, engine.Of(f.World).Survey().Hooks()[0].Enabled(0))
	create(t, f, 2)
	f.Refresh()
	require.NotErrorIs(t, f.Failure(), bad)
	require.True(t, f.Alive(hs[0]))
}

// TestHookMisuse refuses hooks that make no sense.
func TestHookMisuse(t *testing.T) {
	f, other := newFixture(t, world.Options{}), newFixture(t, world.Options{})
	fine := func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(*world.Context, world.Event, []handle.Handle) {}
	}
	f.Observe("taken", world.OnCreate, fine)
	for name, bad := range map[string]func(){
		"no name":       func() { f.Observe("", world.OnCreate, fine) },
		"taken":         func() { f.Observe("taken", world.OnCreate, fine) },
		"no event":      func() { f.Observe("x", 0, fine) },
		"unknown event": func() { f.Observe("x", 1<<5, fine) },
		"no component":  func() { f.Observe("x", world.OnAdd, fine) },
		"other world":   func() { f.Observe("x", world.OnAdd, fine, other.health) },
		"nil part":      func() { f.Observe("x", world.OnAdd, fine, nil) },
		"no function":   func() { f.Observe("x", world.OnCreate, nil) },
		"nil built": func() {
			f.Observe("x", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) { return nil })
		},
		"foreign": func() {
			f.Observe("x", world.OnCreate, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
				world.ReadForeign[Health](b)
				return fine(b)
			})
		},
	} {
		require.Panics(t, bad, name)
	}
	require.Len(t, engine.Of(f.World).Survey().Hooks(), 1)
	require.Equal(t, "taken", engine.Of(f.World).Survey().Hooks()[0].Name())
	engine.Of(f.World).BeginTick()
	f.in(0, func(*world.Context) {
		require.Panics(t, func() { f.Observe("late", world.OnCreate, fine) })
	})
	require.Equal(t, "OnCreate|OnRemove|OnAdd|OnSet|OnDestroy", anything.String())
	require.Equal(t, "unknown", world.Event(0).String())
	require.Equal(t, "unknown", world.Event(33).String())
}

// TestHookAllocates counts what notifying hooks allocates in steady state: nothing.
func TestHookAllocates(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	n := 0
	f.Observe("count", anything, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(_ *world.Context, _ world.Event, hs []handle.Handle) { n += len(hs) }
	}, f.health)
	keep := create(t, f, 100)
	cycle := func() {
		for i := range 50 {
			h, _ := f.unit.Create(f.World, Unit{})
			_ = f.health.Set(f.World, keep[i], Health{1})
			_ = f.health.Remove(f.World, keep[50+i])
			f.Refresh()
			_ = f.health.Add(f.World, keep[50+i], Health{1})
			f.Destroy(h)
		}
		f.Refresh()
	}
	for range 5 {
		cycle()
	}
	require.Less(t, testing.AllocsPerRun(10, cycle), 1.0)
	require.Positive(t, n)
}

// TestHookClose runs hooks as a world is closed; what they create does not outlive it.
func TestHookClose(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) % 2 })
	died, last := [2]int{}, handle.None
	f.Observe("phoenix", world.OnDestroy, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		b.Creates(f.unit)
		return func(c *world.Context, _ world.Event, hs []handle.Handle) {
			died[c.Shard()] += len(hs)
			h, err := f.unit.Create(c, Unit{})
			require.NoError(t, err)
			if c.Shard() == 0 {
				last = h
			}
		}
	}, f.health)
	create(t, f, 5)
	f.Close()
	require.GreaterOrEqual(t, died[0], 3)
	require.GreaterOrEqual(t, died[1], 2)
	require.NotEqual(t, handle.None, last)
	require.False(t, f.Alive(last))
	require.Equal(t, world.Stale, f.Status(last))
}

// TestHookOfTheDestroyedByFunction creates, and has functions destroy some of those in
// the same refresh: they were never alive to anyone.
func TestHookOfTheDestroyedByFunction(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	var told [2][]handle.Handle // by shard
	f.Observe("all", world.OnCreate|world.OnDestroy, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(_ *world.Context, _ world.Event, hs []handle.Handle) {
			told[b.Shard()] = append(told[b.Shard()], hs...)
		}
	})
	p := f.port()
	var kept []handle.Handle
	for i := range 100 {
		h, err := f.unit.Create(p, Unit{})
		require.NoError(t, err)
		if i%2 == 0 {
			kept = append(kept, h)
			continue
		}
		require.NoError(t, f.do(p, h, func(self *world.EntityContext) { require.NoError(t, self.Destroy(h)) }))
	}
	f.Refresh()
	require.NoError(t, f.Failure())
	require.ElementsMatch(t, kept, slices.Concat(told[0], told[1]))
}

// TestHookLoops has a hook loop in a refresh of the idle world, whose own loops do not see what
// they create afterwards either.
func TestHookLoops(t *testing.T) {
	for name, refresh := range map[string]func(*fixture){"Refresh": func(f *fixture) { f.Refresh() }, "Clear": func(f *fixture) { f.Clear() }} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, world.Options{Shards: 1})
			f.mover.PlaceBy(func(Mover) int { return 0 })
			told := 0
			f.Observe("more", world.OnCreate|world.OnDestroy, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
				b.Creates(f.mover)
				all := b.Query()
				return func(c *world.Context, _ world.Event, _ []handle.Handle) {
					if told++; told > 1 {
						return
					}
					for range all.Chunks() { // the first loop, as that of the idle world below is
						_, err := f.mover.Create(c, Mover{})
						require.NoError(t, err)
					}
				}
			})
			f.newUnit(1)
			refresh(f)
			refresh(f)
			f.newUnit(1)
			all := f.Query()
			for range 6 {
				before, seen := all.Count(), 0
				for ch := range all.Chunks() {
					if seen += ch.Len(); seen > before {
						break
					}
					for range 10 {
						_, err := f.mover.Create(f.World, Mover{})
						require.NoError(t, err)
					}
				}
				require.Equal(t, before, seen)
			}
			require.Positive(t, told)
		})
	}
}

// TestClearAndHooks clears a world with a hook that creates: what it creates stays.
func TestClearAndHooks(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	f.Observe("again", world.OnDestroy, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		b.Creates(f.unit)
		return func(c *world.Context, _ world.Event, hs []handle.Handle) {
			for range hs {
				_, err := f.unit.Create(c, Unit{})
				require.NoError(t, err)
			}
		}
	})
	old := f.newUnits(10)
	tick := f.Tick()
	f.Clear()
	require.Equal(t, tick+1, f.Tick(), "one refresh")
	for _, h := range old {
		f.mustBeStale(h)
	}
	require.Equal(t, 10, f.Count())
}
