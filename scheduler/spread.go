package scheduler

import (
	"math"
	"math/bits"
	"time"

	"github.com/atoll-sim/atoll/world/stats"
)

// The buckets of a spread: two for each doubling, from 256 ns to 2 s. It has a tenth of the size of
// a stats.Histogram, because there is one for each system and shard.
const (
	spreadLeast   = 8 // as a shift
	spreadOctaves = 23
	spreadBuckets = 1 + 2*spreadOctaves + 1
)

// spread counts how long the runs of a system on a shard took.
//
// Ownership: as for the program.
type spread [spreadBuckets]uint32

func (s *spread) add(d time.Duration) {
	b := 0
	if d >= 1<<spreadLeast {
		shift := bits.Len64(uint64(d)) - 2
		b = min(2*(shift+1-spreadLeast)+int(uint64(d)>>shift)-1, spreadBuckets-1)
	}
	if s[b] < math.MaxUint32 {
		s[b]++
	}
}

// lower returns the least duration of a bucket.
func (s *spread) lower(b int) time.Duration {
	if b == 0 {
		return 0
	}
	return time.Duration(2+(b-1)%2) << ((b-1)/2 + spreadLeast - 1)
}

// quantiles returns the median and the 99th percentile of n runs, neither above the longest.
func (s *spread) quantiles(n uint64, longest time.Duration) (p50, p99 time.Duration) {
	if n == 0 {
		return 0, 0
	}
	below, half, most := uint64(0), (n-1)/2, (n-1)-(n-1)/100
	for b, c := range s {
		if c == 0 {
			continue
		}
		at := longest
		if b < spreadBuckets-1 {
			at = min((s.lower(b)+s.lower(b+1))/2, longest)
		}
		if below <= half {
			p50 = at
		}
		if below <= most {
			p99 = at
		}
		if below += uint64(c); below > most {
			break
		}
	}
	return p50, p99
}

// ofWorker is what one worker measured of a system on all shards, so that Stats need not ask each
// shard.
//
// Ownership: the worker; the coordinator between ticks.
type ofWorker struct {
	stats.Histogram        // of its runs
	panics          uint64 // of its runs
	_               [64]byte
}
