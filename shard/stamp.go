package shard

import (
	"fmt"
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/check"
)

// stamp says who uses a shard: what the Ownership paragraphs tell of, for the
// check build to hold. A release build gives it no room.
type stamp [check.Count]atomic.Pointer[string]

// Enter notes who uses the shard until Leave, and panics if somebody else does. To
// be called in the check build only.
func (s *Shard) Enter(who string) {
	for i := range s.stamp {
		if s.stamp[i].CompareAndSwap(nil, &who) {
			continue
		}
		other := "somebody"
		if p := s.stamp[i].Load(); p != nil {
			other = *p
		}
		panic(fmt.Sprintf("world: shard %d is used by %s while %s uses it; a shard is for one goroutine at a time: act from elsewhere through a Port", s.id, who, other))
	}
}

// Leave ends what Enter began.
func (s *Shard) Leave() {
	for i := range s.stamp {
		s.stamp[i].Store(nil)
	}
}
