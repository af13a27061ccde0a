package queue_test

import (
	"math/rand/v2"
	"testing"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
)

// finished is a Finisher that notes what it is told.
type finished []queue.Outcome

func (f *finished) Finish(o queue.Outcome) { *f = append(*f, o) }

// newKinds returns the kinds of requests of a small world.
func newKinds() *queue.Registry {
	dir := new(slots.Directory)
	dir.Init(3, handle.IndexMax, handle.VersionMax, handle.VersionMax, new(mem.Memory))
	return queue.NewRegistry(dir.Lookup)
}

// iterations is n, or less where that takes long: in the check build, which is
// slow, and under -short.
func iterations(n int) int {
	switch {
	case check.Enabled: // also under -short: the race detector sees the queue at work
		return max(1, n/5)
	case testing.Short():
		return max(1, n/20)
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
