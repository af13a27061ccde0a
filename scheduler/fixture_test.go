package scheduler_test

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// The components, bundles and messages of the tests.
type (
	Position struct{ X, Y float64 }
	Velocity struct{ X, Y float64 }
	Value    struct{ N uint64 }

	Marker struct{ Value } // one on each shard
	Mover  struct {
		Position
		Velocity
	}

	Push struct{ X float64 }
)

// construct is a system's constructor.
type construct = func(b *world.Build) func(*world.Context)

// fixture is a world with the above registered, and its scheduler.
type fixture struct {
	*scheduler.Scheduler
	w       *world.World
	value   *world.Component[Value]
	markers *world.Bundle[Marker]
	movers  *world.Bundle[Mover]
	push    *world.Message[Push]
	t       testing.TB
}

func newFixture(t testing.TB, shards, workers int) *fixture {
	return newFixtureOf(t, world.Options{Shards: shards}, scheduler.Options{Workers: workers})
}

func newFixtureOf(t testing.TB, o world.Options, so scheduler.Options) *fixture {
	t.Helper()
	w, err := world.New(o)
	require.NoError(t, err)
	engine.Of(w).Scatter(16)
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	return &fixture{
		t: t, w: w, Scheduler: scheduler.New(w, so),
		value: world.Register[Value](w, "value"), push: world.RegisterMessage[Push](w, "push"),
		markers: world.NewBundle[Marker](w).PlaceBy(func(m Marker) int { return int(m.N) }),
		movers:  world.NewBundle[Mover](w),
	}
}

// mark puts one Marker on each shard and returns them by shard.
func (f *fixture) mark() []handle.Handle {
	f.t.Helper()
	all := make([]handle.Handle, f.w.Shards())
	for i := range all {
		h, err := f.markers.Create(f.w, Marker{Value{uint64(i)}})
		require.NoError(f.t, err)
		require.Equal(f.t, uint32(i), h.Home())
		all[i] = h
	}
	return all
}

// step makes n ticks.
// on returns the Stats of a system by shard.
func (f *fixture) on(system string) []scheduler.ShardStats {
	all, err := f.AppendShards(nil, system)
	require.NoError(f.t, err)
	return all
}

func (f *fixture) step(n int) {
	f.t.Helper()
	for range n {
		require.NoError(f.t, f.Step(f.t.Context()))
	}
}

// pause takes a little time now and then, so that shards and systems meet in
// different orders. It depends on nothing that a test looks at.
func pause() {
	switch rand.IntN(8) {
	case 0:
		time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
	case 1, 2:
		runtime.Gosched()
	}
}

// iterations is n, or less where that takes long: in the check build, which is
// slow, and under -short.
func iterations(n int) int {
	switch {
	case check.Enabled: // also under -short: most of it is shown to the race detector
		return max(1, n/5)
	case testing.Short():
		return max(1, n/20)
	}
	return n
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
