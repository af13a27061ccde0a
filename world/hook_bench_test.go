package world_test

import (
	"testing"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// BenchmarkHooksOne does what BenchmarkHooksNone does, with a hook that is told of
// everything.
func BenchmarkHooksOne(b *testing.B) {
	benchmarkHooks(b, func(f *fixture) {
		f.Observe("all", anything, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
			return func(*world.Context, world.Event, []handle.Handle) {}
		}, f.health)
	})
}
