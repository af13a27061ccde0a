package scheduler

import (
	"math/bits"
	"time"
)

// RecentTicks is the number of ticks that Quantiles cover.
const RecentTicks = 1024

// Quantiles describe how the durations of the last ticks are spread, at most RecentTicks of
// them. Each is within 4 % of the duration that it stands for.
type Quantiles struct {
	Ticks         int           // how many durations were looked at
	P50, P99, Max time.Duration // half of them, and 99 of 100, were no longer; the longest
}

// Buckets of a histogram. Durations below bucketsPerOctave nanoseconds have one each. Above
// that, each doubling is divided into as many buckets, so a bucket is at most a sixteenth of
// its lower bound wide.
const (
	octaveBits       = 4
	bucketsPerOctave = 1 << octaveBits
	longest          = 1<<43 - 1 // nanoseconds, more than two hours
	buckets          = (43 - octaveBits + 1) * bucketsPerOctave
)

// recent is a histogram of the last durations. Adding one takes the oldest out, and allocates
// nothing. The zero value has none.
//
// Invariants: counts add up to size. ring has the bucket of each of the last size durations, the
// oldest at next if it is full.
//
// Ownership: the scheduler's goroutine.
type recent struct {
	counts [buckets]uint16
	ring   [RecentTicks]uint16
	next   int
	size   int
}

// bucketOf returns the bucket of a duration.
func bucketOf(d time.Duration) int {
	v := uint64(min(max(d, 0), longest))
	if v < bucketsPerOctave {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - octaveBits
	return (shift+1)<<octaveBits + int(v>>shift) - bucketsPerOctave
}

// middle returns the duration in the middle of a bucket.
func middle(bucket int) time.Duration {
	if bucket < 2*bucketsPerOctave { // one nanosecond each
		return time.Duration(bucket)
	}
	shift := bucket>>octaveBits - 1
	least := uint64(bucket&(bucketsPerOctave-1)+bucketsPerOctave) << shift
	return time.Duration(least + 1<<shift/2)
}

// add adds a duration.
func (r *recent) add(d time.Duration) {
	if r.size == RecentTicks {
		r.counts[r.ring[r.next]]--
	} else {
		r.size++
	}
	b := bucketOf(d)
	r.counts[b]++
	r.ring[r.next] = uint16(b)
	r.next = (r.next + 1) % RecentTicks
}

// quantiles looks at all buckets once.
func (r *recent) quantiles() Quantiles {
	q := Quantiles{Ticks: r.size}
	below, half, most := 0, (r.size+1)/2, r.size-r.size/100
	for b, n := range r.counts {
		if n == 0 {
			continue
		}
		at := middle(b)
		if below < half && below+int(n) >= half {
			q.P50 = at
		}
		if below < most && below+int(n) >= most {
			q.P99 = at
		}
		below += int(n)
		q.Max = at
	}
	return q
}
