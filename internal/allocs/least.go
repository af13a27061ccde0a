// Package allocs counts allocations in tests, on a machine that also runs other work.
package allocs

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// tries is how often a count is taken. A busy process also allocates for a collection, a cleanup or
// a goroutine that had to wait, but not in every try.
const tries = 5

// Least returns the lowest of several results of testing.AllocsPerRun, with the collector off. f is
// called tries times runs+1 times at the most.
func Least(runs int, f func()) float64 {
	return Fewest(func() float64 { return testing.AllocsPerRun(runs, f) })
}

// Fewest calls count several times, or until it returns 0, with the collector off, and returns the
// lowest result. A test calls it on its own goroutine, and not in parallel with others.
func Fewest[N int | uint64 | float64](count func() N) N {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	least := count()
	for n := 1; n < tries && least > 0; n++ {
		least = min(least, count())
	}
	return least
}
