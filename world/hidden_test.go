package world_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// guess is a world of which a client has guessed two handles that shard 1 gives next: one of a slot
// that was used, and one of a slot that never was.
type guess struct {
	*fixture
	handles [2]handle.Handle
	at      [2]handle.Handle // an entity of each shard
	call    *world.Func[int64]
	timers  *timer.Timers[Hit]
	calls   *async.Call[int, int]
	names   *names.Names[string]
	family  *hierarchy.Relation
}

func newGuess(t *testing.T) *guess {
	g := &guess{fixture: newFixture(t, world.Options{Shards: 2})}
	g.call = world.RegisterFunc(g.World, "call", func(*world.EntityContext, int64) {})
	g.timers = timer.New(g.World, "timers", g.hit, timer.Options{})
	g.names = names.New[string](g.World, "names", names.Options{})
	g.family = hierarchy.New(g.World, "family", hierarchy.Options{})
	g.calls = async.New(g.World, "calls", world.RegisterMessage[async.Result[int]](g.World, "results"),
		func(context.Context, int) (int, error) { return 0, nil }, async.Options{})
	g.unit.PlaceBy(func(Unit) int { return 1 })
	g.statue.PlaceBy(func(s Statue) int { return int(s.X) })
	for i := range g.at {
		g.at[i], _ = g.statue.Create(g.World, Statue{Position: Position{X: float64(i)}})
	}
	for range 63 { // 64 indexes go to the free list at a time
		g.newUnit(1)
	}
	dead := handle.New(1, 5, 1)
	g.Destroy(dead)
	g.Refresh()
	g.handles = [2]handle.Handle{next(dead), handle.New(1, 64, 1)}
	return g
}

// create creates what was guessed.
func (g *guess) create(by world.Actor) {
	for _, want := range g.handles {
		h, err := g.unit.Create(by, Unit{Health{1}})
		require.NoError(g.t, err)
		require.Equal(g.t, want, h)
		require.True(g.t, by.Alive(h))
		require.Equal(g.t, world.Alive, by.Status(h))
	}
}

// look says what an actor is told of the handles.
func (g *guess) look(by world.Actor) (told []string) {
	for _, h := range g.handles {
		_, later := g.timers.After(by, h, 3, Hit{1})
		owner := reference.Own(by, h, nil)
		weak := reference.To(by, h)
		_, asked := g.calls.Go(by, h, 1)
		told = append(told, fmt.Sprint(by.Alive(h), by.Status(h), owner.Shares(), weak.Equal(weak),
			g.health.Set(by, h, Health{7}), g.velocity.Add(by, h, Velocity{}), g.health.Remove(by, h),
			g.unit.Set(by, h, Unit{}), g.mover.Add(by, h, Mover{}), g.hit.Send(by, h, Hit{1}), g.call.Call(by, h, 1),
			world.Move(by, h, 0), world.AddFlags(by, h, 1), world.FlagsOf(by, h),
			g.names.Bind(by, h, "guessed"), g.family.Add(by, h), later, asked))
		told = append(told, g.several(by, h)...)
		switch by := by.(type) {
		case *world.Context:
			at, ok := by.Owner(h)
			told = append(told, fmt.Sprint(by.Destroy(h), at, ok, by.Owns(h), by.Locate(h), by.Has(h, g.health)))
		case *world.EntityContext:
			told = append(told, fmt.Sprint(by.Destroy(h)))
		}
	}
	return told
}

// several says what an actor is told of calls with several handles, with its own entity first.
func (g *guess) several(by world.Actor, h handle.Handle) []string {
	own := g.at[0]
	hs := []handle.Handle{own, h}
	err := g.position.SetN(by, hs, make([]Position, 2))
	told := []string{fmt.Sprint(err, g.family.AddChildren(by, own, h), g.family.AddChild(by, h, own), g.family.MoveBefore(by, own, h))}
	if c, ok := by.(*world.Context); ok {
		_, copied := world.Copy(c, h)
		_, child := prefab.Copy(c, h, g.family)
		told = append(told, fmt.Sprint(copied, child))
	}
	return told
}

// runOn runs a system on some shards, one after the other.
func (g *guess) runOn(shards built, order ...int) {
	for _, i := range order {
		c := (*world.Context)(engine.Of(g.World).Context(i))
		(*engine.Context)(c).Acting().Start("test", shards[i].access)
		shards[i].run(c)
		(*engine.Context)(c).Acting().Returned()
		(*engine.Context)(c).Acting().Stop()
	}
}

// TestHiddenFromSystems has a system look at handles that a system of another shard creates in the
// same tick: before it does, or after. To the shard that creates, to global systems, and to all in
// the next tick they are alive.
func TestHiddenFromSystems(t *testing.T) {
	var first []string
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		g := newGuess(t)
		var told []string
		system := g.build(func(b *world.Build) func(*world.Context) {
			world.Write[Health](b)
			world.Write[Position](b)
			b.Creates(g.unit)
			return func(c *world.Context) {
				if c.Shard() == 1 {
					g.create(c)
				} else {
					told = g.look(c)
				}
			}
		})
		tick := engine.Of(g.World).BeginTick()
		g.runOn(system, order...)
		tick.End(serial)
		for _, h := range g.handles {
			require.Equal(t, world.Alive, g.Status(h))
			at, _ := g.Owner(h)
			require.Equal(t, []int{1, 0}, []int{at, int(world.FlagsOf(g.World, h))})
			require.Equal(t, int64(1), world.Read[Health](g.World).Get(h).Points)
		}
		if first == nil {
			first = told
		}
		require.Equal(t, first, told, "order %v", order)
		stale := world.ErrStale.Error()
		require.Contains(t, told[0], "false unused 0 false "+stale)

		g.tick(func(b *world.Build) func(*world.Context) {
			return func(c *world.Context) {
				for _, h := range g.handles {
					require.True(t, c.Alive(h) && c.Status(h) == world.Alive && c.Locate(h) != 0)
				}
			}
		})
	}
}

// TestHiddenUntilGlobal checks that a global system that has all shards to itself sees everything,
// and that all shards see everything after it. One that runs beside the shards sees what they see.
func TestHiddenUntilGlobal(t *testing.T) {
	for _, alone := range []bool{false, true} {
		g := newGuess(t)
		s := g.build(func(b *world.Build) func(*world.Context) {
			b.Creates(g.unit)
			return func(c *world.Context) { g.create(c) }
		})
		after := g.build(func(*world.Build) func(*world.Context) {
			return func(c *world.Context) { require.Equal(t, alone, c.Alive(g.handles[1])) }
		})
		b := (*world.Build)(engine.Of(g.World).NewBuild(world.AllShards, "global"))
		if alone {
			b.Query()
		}
		access := (*engine.Build)(b).Finish()
		tick := engine.Of(g.World).BeginTick()
		g.runOn(s, 1)
		c := (*world.Context)(engine.Of(g.World).Context(world.AllShards))
		(*engine.Context)(c).Acting().Start("global", access)
		require.Equal(t, alone, c.Alive(g.handles[0]))
		(*engine.Context)(c).Acting().Stop()
		g.runOn(after, 0)
		tick.End(serial)
	}
}

// reversed runs the parts of a step from the last to the first.
func reversed(n int, f func(int)) {
	for i := range n {
		f(n - 1 - i)
	}
}

// TestHiddenFromFunctions has a function look at handles that a function on another shard creates in
// the same refresh, before or after, and the same for hooks.
func TestHiddenFromFunctions(t *testing.T) {
	enough := 1024 // requests and events for the steps of the refresh to run in parallel
	for _, hook := range []bool{false, true} {
		var first []string
		for _, parallel := range []extend.Parallel{serial, reversed} {
			g := newGuess(t)
			var told []string
			looks := func(by world.Actor, shard int) {
				if shard == 1 {
					g.create(by)
				} else {
					told = g.look(by)
				}
			}
			g.Observe("hook", world.OnCreate, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
				b.Creates(g.unit)
				world.Write[Health](b)
				world.Write[Position](b)
				return func(c *world.Context, _ world.Event, _ []handle.Handle) {
					if hook {
						looks(c, c.Shard())
					}
				}
			}, g.statue)
			p := g.port()
			for i := range enough {
				_, err := g.statue.Create(p, Statue{Position: Position{X: float64(i % 2)}})
				require.NoError(t, err)
				require.NoError(t, g.position.Set(p, g.at[i%2], Position{}))
			}
			if !hook {
				for i, h := range g.at {
					require.NoError(t, g.do(p, h, func(self *world.EntityContext) { looks(self, i) }))
				}
			}
			engine.Of(g.World).BeginTick().End(parallel)
			require.Nil(t, g.Failure())
			stale := world.ErrStale.Error()
			require.Contains(t, told[0], "false unused 0 false "+stale)
			if first == nil {
				first = told
			}
			require.Equal(t, first, told)
			for _, h := range g.handles {
				require.Equal(t, world.Alive, g.Status(h))
			}
			g.Refresh()
			for _, h := range g.handles {
				require.Equal(t, int64(1), world.Read[Health](g.World).Get(h).Points)
			}
		}
	}
}
