package worldtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Name is the name of the system that Run runs.
const Name = "system under test"

// Run makes ticks of w with one system and nothing else. The world is idle before
// and after. Every shard has a worker of its own, and the shards run with random
// delays. So the race detector finds shards that share what they should not, and
// a system that depends on their order gives different results. The checks
// that a release build leaves out are on under the race detector and under the
// build tag atollcheck.
//
// It fails the test and ends it if the system cannot be added, or panics: it reports the
// value of the panic, the stack, the shard and the tick. Several Runs
// may follow each other on one world.
func Run(t testing.TB, w *world.World, ticks int, system scheduler.System, options ...scheduler.Option) {
	t.Helper()
	s := scheduler.New(w, scheduler.Options{Workers: w.Shards(), Chaos: rand.Uint64() | 1})
	if err := s.Add(Name, system, options...); err != nil {
		t.Fatal(err)
	}
	for range ticks {
		err := s.Step(context.Background())
		if err == nil {
			continue
		}
		var panicked *world.PanicError
		if errors.As(err, &panicked) {
			t.Fatalf("%v\n\n%s", err, panicked.Stack)
		}
		t.Fatal(err)
	}
}
