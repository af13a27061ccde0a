package main

import (
	"runtime"
	"slices"
	"time"
)

// settle collects garbage, so that nobody pays for what another left.
func settle() { runtime.GC() }

// median returns the middle value, which of two is the lower.
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
