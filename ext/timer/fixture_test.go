package timer_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Ping is what timers deliver.
type Ping struct {
	N    int
	Text string
}

type unit struct{ Body }

// Body is what entities are.
type Body struct{ N int }

// game is a world whose systems note what is delivered, and call what a test sets.
type game struct {
	t testing.TB
	*world.World
	s      *scheduler.Scheduler
	bodies *world.Component[Body]
	units  *world.Bundle[unit]
	pings  *world.Message[Ping]
	timers *timer.Timers[Ping]
	act    *world.Func[int]
	got    [][]world.Envelope[Ping] // by shard, in this tick

	systems  func(c *world.Context)
	global   func(c *world.Context)
	function func(self *world.EntityContext, n int)
}

func newGame(t testing.TB, shards, workers int, o timer.Options) *game {
	w := world.MustNew(world.Options{Shards: shards, Seed: 5})
	g := &game{t: t, World: w, bodies: world.Register[Body](w, "body"), units: world.NewBundle[unit](w), pings: world.RegisterMessage[Ping](w, "ping"), got: make([][]world.Envelope[Ping], shards)}
	g.timers = timer.New(w, "pings", g.pings, o)
	g.act = world.RegisterFunc(w, "act", func(self *world.EntityContext, n int) { g.function(self, n) })
	g.s = scheduler.New(w, scheduler.Options{Workers: workers})
	g.s.MustAdd("receive", func(b *world.Build) func(*world.Context) {
		in := world.Receive[Ping](b)
		return func(c *world.Context) {
			g.got[c.Shard()] = append(g.got[c.Shard()][:0], in.All()...)
			if g.systems != nil {
				g.systems(c)
			}
		}
	})
	g.s.MustAdd("global", func(b *world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if g.global != nil {
				g.global(c)
			}
		}
	}, scheduler.Global())
	t.Cleanup(w.Close)
	return g
}

func (g *game) create(n int) handle.Handle {
	h, err := g.units.Create(g.World, unit{Body{n}})
	require.NoError(g.t, err)
	return h
}

func (g *game) step() {
	g.t.Helper()
	require.NoError(g.t, g.s.Step(context.Background()))
}

// heard makes a tick, and returns the numbers that were delivered in it, by shard.
func (g *game) heard() (all []int) {
	g.t.Helper()
	g.step()
	for _, got := range g.got {
		for _, e := range got {
			all = append(all, e.Body.N)
		}
	}
	return all
}

// until returns what is heard in so many ticks, as "tick:number".
func (g *game) until(ticks int) string {
	g.t.Helper()
	var all []string
	for range ticks {
		at := g.Tick()
		for _, n := range g.heard() {
			all = append(all, fmt.Sprintf("%d:%d", at, n))
		}
	}
	return fmt.Sprint(all)
}

func (g *game) hash() state.Hash {
	g.t.Helper()
	h, err := state.StateHash(g.World, nil)
	require.NoError(g.t, err)
	return h
}

func (g *game) save() []byte {
	g.t.Helper()
	var b bytes.Buffer
	require.NoError(g.t, snapshot.Write(&b, g.World, snapshot.Options{Scheduler: g.s}))
	return b.Bytes()
}

// loaded returns a game that was saved.
func loaded(t testing.TB, image []byte, shards, workers int) *game {
	t.Helper()
	g := newGame(t, shards, workers, timer.Options{})
	require.NoError(t, snapshot.Load(bytes.NewReader(image), g.World, snapshot.Options{Scheduler: g.s}))
	return g
}

// must returns an ID, which there must be.
func (g *game) must(id timer.ID, err error) timer.ID {
	g.t.Helper()
	require.NoError(g.t, err)
	require.NotEqual(g.t, timer.None, id)
	return id
}
