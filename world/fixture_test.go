package world_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// The components and messages of the tests.
type (
	Position struct{ X, Y float64 }
	Velocity struct{ X, Y float64 }
	Health   struct{ Points int64 }
	Name     struct{ Text string } // holds a pointer
	Frozen   struct{}              // a tag: no bytes at all

	Hit   struct{ Damage int64 }
	Greet struct{ Text string }
)

// The bundles of the tests.
type (
	Unit  struct{ Health }
	Mover struct {
		Position
		Velocity
	}
	Creature struct {
		Position
		Health
		Name
	}
	Statue struct {
		Frozen
		Position
	}
)

// fixture is a world with everything above registered.
type fixture struct {
	*world.World
	position *world.Component[Position]
	velocity *world.Component[Velocity]
	health   *world.Component[Health]
	name     *world.Component[Name]
	frozen   *world.Component[Frozen]
	hit      *world.Message[Hit]
	greet    *world.Message[Greet]
	unit     *world.Bundle[Unit]
	mover    *world.Bundle[Mover]
	creature *world.Bundle[Creature]
	statue   *world.Bundle[Statue]
	doing    *world.Func[func(*world.EntityContext)]

	t testing.TB
}

func newFixture(t testing.TB, o world.Options) *fixture {
	t.Helper()
	w, err := world.New(o)
	require.NoError(t, err)
	engine.Of(w).Scatter(16)
	return &fixture{
		t: t, World: w,
		position: world.Register[Position](w, "position"),
		velocity: world.Register[Velocity](w, "velocity"),
		health:   world.Register[Health](w, "health"),
		name:     world.Register[Name](w, "name"),
		frozen:   world.Register[Frozen](w, "frozen"),
		hit:      world.RegisterMessage[Hit](w, "hit"),
		greet:    world.RegisterMessage[Greet](w, "greet"),
		unit:     world.NewBundle[Unit](w),
		mover:    world.NewBundle[Mover](w),
		creature: world.NewBundle[Creature](w),
		statue:   world.NewBundle[Statue](w),
		doing:    world.RegisterFunc(w, "do", func(self *world.EntityContext, run func(*world.EntityContext)) { run(self) }),
	}
}

// do has code called on an entity. A world that is recorded has no such function.
func (f *fixture) do(by world.Actor, h handle.Handle, run func(*world.EntityContext)) error {
	return f.doing.Call(by, h, run)
}

// port opens a port that is closed with the test.
func (f *fixture) port() *world.Port {
	f.t.Helper()
	p, err := f.OpenPort()
	require.NoError(f.t, err)
	return p
}

// newUnit creates a Unit on the idle world.
func (f *fixture) newUnit(points int64) handle.Handle {
	f.t.Helper()
	h, err := f.unit.Create(f.World, Unit{Health{points}})
	require.NoError(f.t, err)
	return h
}

// newUnits creates n of them, of 0 to n-1 points.
func (f *fixture) newUnits(n int) []handle.Handle {
	f.t.Helper()
	all := make([]handle.Handle, n)
	for i := range all {
		all[i] = f.newUnit(int64(i))
	}
	return all
}

// stats returns the world's counts.
func (f *fixture) stats() world.Stats {
	var s world.Stats
	f.Stats(&s)
	return s
}

// construct is what a system's constructor is to package scheduler.
type construct = func(b *world.Build) func(*world.Context)

// built is a system, by shard.
type built []struct {
	run    func(*world.Context)
	access *extend.Access
}

// build runs a constructor for every shard.
func (f *fixture) build(system construct) built {
	all := make(built, f.Shards())
	for i := range all {
		b := (*world.Build)(engine.Of(f.World).NewBuild(i, "test"))
		all[i].run = system(b)
		all[i].access = (*engine.Build)(b).Finish()
	}
	return all
}

// tick builds systems and runs them in a tick.
func (f *fixture) tick(systems ...construct) {
	f.t.Helper()
	all := make([]built, len(systems))
	for i, system := range systems {
		all[i] = f.build(system)
	}
	f.runTick(all...)
}

// runTick runs systems one after the other, each on the shards in order, and
// then the refresh: what a scheduler does, on one goroutine. It is over even if
// a system panics.
func (f *fixture) runTick(systems ...built) {
	f.t.Helper()
	t := engine.Of(f.World).BeginTick()
	defer t.End(serial)
	for _, shards := range systems {
		for i, s := range shards {
			func() {
				c := (*world.Context)(engine.Of(f.World).Context(i))
				(*engine.Context)(c).Acting().Start("test", s.access)
				defer (*engine.Context)(c).Acting().Stop()
				s.run(c)
				(*engine.Context)(c).Acting().Returned()
			}()
		}
	}
}

// on makes a system that runs on one shard alone.
func on(shard int, system construct) construct {
	return func(b *world.Build) func(*world.Context) {
		run := system(b)
		return func(c *world.Context) {
			if c.Shard() == shard {
				run(c)
			}
		}
	}
}

// serial is an extend.Parallel that is not.
func serial(n int, f func(int)) {
	for i := range n {
		f(i)
	}
}

// iterations is n, or less where that takes long: in the check build, which is
// slow, and under -short.
func iterations(n int) int {
	switch {
	case testing.Short():
		return max(1, n/20)
	case check.Enabled:
		return max(1, n/10)
	}
	return n
}

// newRand returns random numbers that are the same for the same seed, and says
// which seed in case the test fails.
func newRand(t testing.TB, seed uint64) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// noLeaks fails the test if goroutines that it starts from here on are still there behind
// it. On a busy machine one that has told that it is done may stay for a while.
func noLeaks(t testing.TB) {
	t.Helper()
	known := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		require.EventuallyWithT(t, func(c *assert.CollectT) { assert.NoError(c, goleak.Find(known)) }, time.Minute, time.Millisecond)
	})
}
