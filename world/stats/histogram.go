package stats

import (
	"iter"
	"math"
	"math/bits"
	"time"
)

// The buckets of a Histogram. Each doubling is divided into parts, so that a bucket's width is at
// most an eighth of its lower bound. The first has all durations below least, the last all from 68
// seconds on.
const (
	partBits  = 3
	parts     = 1 << partBits
	leastBits = 7 // 128 ns
	octaves   = 29
	buckets   = 1 + octaves*parts + 1
)

// Histogram counts durations by their length. The zero value is empty. Its size is fixed, some
// 1,900 bytes; it is copied by assignment.
//
// Ownership: one goroutine at a time.
type Histogram struct {
	sum    time.Duration
	most   time.Duration
	counts [buckets]uint64
}

// bucketOf returns the bucket of a duration.
func bucketOf(d time.Duration) int {
	if d < 1<<leastBits {
		return 0
	}
	shift := bits.Len64(uint64(d)) - 1 - partBits
	return min((shift+partBits-leastBits)<<partBits+int(uint64(d)>>shift)-parts+1, buckets-1)
}

// lower returns the least duration of a bucket, and upper the longest. All but the last have one.
func lower(bucket int) time.Duration {
	if bucket == 0 {
		return 0
	}
	octave, part := (bucket-1)>>partBits, (bucket-1)&(parts-1)
	return time.Duration(parts+part) << (octave + leastBits - partBits)
}

func upper(bucket int) time.Duration { return lower(bucket+1) - 1 }

// Add counts a duration. A negative one counts as 0. It takes a few nanoseconds and allocates
// nothing.
func (h *Histogram) Add(d time.Duration) {
	d = max(d, 0)
	h.counts[bucketOf(d)]++
	h.sum += d
	h.most = max(h.most, d)
}

// Merge adds what another histogram has counted.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.sum += other.sum
	h.most = max(h.most, other.most)
}

// Since returns what was counted after an earlier copy of the same histogram was made. Its Max is
// exact only if the longest duration of all came after the copy; otherwise it may be up to 12.5 %
// more or, beyond 68 s, any amount.
func (h *Histogram) Since(earlier *Histogram) (since Histogram) {
	for i, n := range h.counts {
		since.counts[i] = n - earlier.counts[i]
		if since.counts[i] > 0 {
			if since.most = h.most; i < buckets-1 {
				since.most = min(upper(i), h.most)
			}
		}
	}
	since.sum = h.sum - earlier.sum
	return since
}

// Count returns how many durations were counted.
func (h *Histogram) Count() (n uint64) {
	for _, c := range h.counts {
		n += c
	}
	return n
}

// Sum returns all durations together.
func (h *Histogram) Sum() time.Duration { return h.sum }

// Max returns the longest duration, or 0 if there is none.
func (h *Histogram) Max() time.Duration { return h.most }

// Quantile returns a duration that at least the share q of all, from 0 to 1, did not exceed: 0.5 is
// the median. The shortest such duration is never more than what it returns, which is 12.5 % more
// at most between 128 ns and 68 s, and never more than Max. It returns 0 if nothing was counted.
func (h *Histogram) Quantile(q float64) time.Duration {
	n := h.Count()
	if n == 0 {
		return 0
	}
	want := min(max(uint64(math.Ceil(min(max(q, 0), 1)*float64(n))), 1), n)
	var sum uint64
	for i, c := range h.counts[:buckets-1] {
		if sum += c; sum >= want {
			return min(upper(i), h.most)
		}
	}
	return h.most
}

// Buckets yields ascending upper bounds, each with how many durations in all were shorter. The
// bounds are the same for all histograms: the powers of two from 128 ns to 68 s. Longer durations
// are only in Count.
func (h *Histogram) Buckets() iter.Seq2[time.Duration, uint64] {
	return func(yield func(time.Duration, uint64) bool) {
		var n uint64
		for i, c := range h.counts[:buckets-1] {
			n += c
			if i%parts == 0 && !yield(lower(i+1), n) {
				return
			}
		}
	}
}
