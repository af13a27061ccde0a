package demo

import (
	"slices"
	"time"

	"github.com/atoll-sim/atoll/scheduler"
)

const (
	bucketWidth  = 20 * time.Microsecond
	buckets      = 20_000 // up to 400 ms; longer ticks count as the longest
	recentWindow = 10 * time.Second
)

// meter keeps how long ticks took: all of them in buckets, the most recent ones
// exactly. Its size is fixed.
//
// Ownership: the goroutine that makes ticks; read when they have ended.
type meter struct {
	counts   []uint32 // by bucket
	ticks    uint64
	longest  time.Duration
	overruns uint64 // over budget, the ticks of the first second not counted
	skipped  uint64
	warmUp   uint64 // ticks in the first second

	recent []time.Duration // a ring
	next   int
}

func newMeter(hz int) *meter {
	return &meter{
		counts: make([]uint32, buckets), warmUp: uint64(hz),
		recent: make([]time.Duration, 0, hz*int(recentWindow/time.Second)),
	}
}

func (m *meter) add(r scheduler.Report) {
	m.counts[min(int(r.Duration/bucketWidth), buckets-1)]++
	m.longest = max(m.longest, r.Duration)
	if r.Overrun && m.ticks >= m.warmUp {
		m.overruns++
	}
	m.ticks++
	m.skipped = r.Skipped
	if len(m.recent) < cap(m.recent) {
		m.recent = append(m.recent, r.Duration)
		return
	}
	m.recent[m.next] = r.Duration
	m.next = (m.next + 1) % len(m.recent)
}

// quantile returns the time within which the share q of all ticks were done. It rounds up
// to the width of a bucket.
func (m *meter) quantile(q float64) time.Duration {
	if m.ticks == 0 {
		return 0
	}
	rank, seen := rankOf(q, m.ticks), uint64(0)
	for i, n := range m.counts {
		if seen += uint64(n); seen > rank {
			if i == buckets-1 {
				break
			}
			return min(time.Duration(i+1)*bucketWidth, m.longest)
		}
	}
	return m.longest
}

// rankOf returns which of n ordered values, from 0, is the quantile.
func rankOf(q float64, n uint64) uint64 {
	at := q * float64(n)
	rank := uint64(at)
	if float64(rank) == at && rank > 0 {
		rank--
	}
	return min(rank, n-1)
}

// lately returns a copy of the most recent ticks' times, in order of length.
func (m *meter) lately() []time.Duration {
	sorted := slices.Clone(m.recent)
	slices.Sort(sorted)
	return sorted
}

// quantileOf returns a quantile of sorted times, or 0 if there are none.
func quantileOf(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[rankOf(q, uint64(len(sorted)))]
}
