package main

import (
	"runtime"
	"slices"
	"time"
)

// settle collects garbage, so that no contender pays for the garbage of another.
func settle() { runtime.GC() }

// median returns the middle value; of two, the lower one.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}

// clockCost is the time that an empty section takes.
var clockCost = func() time.Duration {
	costs := make([]time.Duration, 10_001)
	for i := range costs {
		start := time.Now()
		costs[i] = time.Since(start)
	}
	slices.Sort(costs)
	return costs[len(costs)/2]
}()
