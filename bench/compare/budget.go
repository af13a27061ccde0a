package main

import "time"

// budget shares time among the jobs still to come.
type budget struct {
	end    time.Time     // zero: no limit
	each   time.Duration // without a limit, the time for a weight of 1
	weight float64       // of the jobs to come
}

// sizeWeight is the share of time that a cell of n entities gets, relative to
// others: large ones take longer to set up.
func sizeWeight(n int) float64 {
	switch {
	case n >= 500_000:
		return 6
	case n >= 100_000:
		return 4
	default:
		return 1
	}
}

// sizeCost is about how many seconds a cell of n entities takes without
// a limit.
func sizeCost(n int) float64 {
	switch {
	case n >= 500_000:
		return 14
	case n >= 100_000:
		return 4
	default:
		return 0.5
	}
}

// next takes the share of a job and returns its deadline.
func (b *budget) next(weight float64) time.Time {
	if b.end.IsZero() {
		return time.Now().Add(time.Duration(weight * float64(b.each)))
	}
	share := weight / b.weight
	b.weight -= weight
	left := time.Until(b.end)
	return time.Now().Add(time.Duration(float64(left) * share))
}

// spent reports whether there is no time left.
func (b *budget) spent() bool { return !b.end.IsZero() && !time.Now().Before(b.end) }
