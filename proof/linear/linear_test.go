package linear_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

var histories = flag.Int("histories", 1000, "histories to record and check, a tenth of that under -short")

// seedOf is the seed of the n-th history; what clients do depends on it, when they do
// it does not.
func seedOf(n int) uint64 { return uint64(n) }

func TestLinear(t *testing.T) {
	n := *histories
	if testing.Short() {
		n = max(1, n/10)
	}
	var count struct{ operations, slots, undelayed, calls, waits int }
	least, clients := 1<<30, [2]int{1 << 30, 0}
	began := time.Now()
	for i := range n {
		s := newShape(rand.New(rand.NewPCG(seedOf(i), 0)))
		h := newHistory(s, seedOf(i))
		if result := h.check(h.rules); result != porcupine.Ok {
			t.Fatalf("history of seed %d is %v\n%+v\n%s", seedOf(i), result, s, h.firstBad(h.rules))
		}
		count.operations += h.operations
		count.slots += len(h.slots)
		least = min(least, h.operations)
		clients = [2]int{min(clients[0], s.ports), max(clients[1], s.ports)}
		count.undelayed += one(h.overlap.undelayed)
		count.calls += one(h.overlap.calls)
		count.waits += one(h.overlap.waits)
	}
	percent := func(k int) float64 { return 100 * float64(k) / float64(n) }
	t.Logf("%d histories in %v, %d slots, %d operations by %d to %d ports, at least %d in a history",
		n, time.Since(began).Round(time.Millisecond), count.slots, count.operations, clients[0], clients[1], least)
	t.Logf("operations of two clients overlap on one slot in %.1f %% of them, with neither delayed in %.1f %%, waits for an outcome included in %.1f %%",
		percent(count.calls), percent(count.undelayed), percent(count.waits))
	require.GreaterOrEqual(t, least, 50, "operations in a history")
	require.GreaterOrEqual(t, percent(count.calls), 30.0, "per cent of histories with overlapping operations on a slot")
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// firstBad shows the records of the first slot that did not behave.
func (h history) firstBad(u rules) string {
	for _, own := range h.slots {
		one := h
		one.slots = [][]record{own}
		if one.check(u) != porcupine.Ok {
			text := ""
			slices.SortStableFunc(own, func(a, b record) int { return int(a.called - b.called) })
			for i := range own {
				text += fmt.Sprintln(&own[i])
			}
			return text
		}
	}
	return "each slot alone is right"
}
