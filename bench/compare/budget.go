package main

import "time"

// budget shares the time there is among the cells still to come.
type budget struct {
	end    time.Time
	weight float64 // of the cells to come
}

// weight is the share that a cell of n entities gets, relative to others: large
// ones take longer to set up.
func weight(n int) float64 {
	switch {
	case n >= 500_000:
		return 6
	case n >= 100_000:
		return 4
	default:
		return 1
	}
}

// next takes the share of a cell and returns when it has to be done.
func (b *budget) next(n int) time.Time {
	share := weight(n) / b.weight
	b.weight -= weight(n)
	left := time.Until(b.end)
	return time.Now().Add(time.Duration(float64(left) * share))
}

// spent reports whether there is no time left.
func (b *budget) spent() bool { return !time.Now().Before(b.end) }
