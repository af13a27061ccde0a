// Package allocs counts allocations in tests, on a machine that is busy with others.
package allocs

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// tries is how often a count is taken: what a busy process allocates beside f, for a
// collection, a cleanup or a goroutine that had to wait, does not come every time.
const tries = 5

// Least is the least of several testing.AllocsPerRun, with the collector off. f is called
// tries times runs+1 times at the most.
func Least(runs int, f func()) float64 {
	return Fewest(func() float64 { return testing.AllocsPerRun(runs, f) })
}

// Fewest returns the least that count returns, which is called several times, or until it
// returns 0, with the collector off.
func Fewest[N int | uint64 | float64](count func() N) N {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	least := count()
	for n := 1; n < tries && least > 0; n++ {
		least = min(least, count())
	}
	return least
}
