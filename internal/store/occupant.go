package store

import (
	"fmt"
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/check"
)

// occupant says who uses a shard: what the Ownership paragraphs tell of, for the
// check build to hold. A release build gives it no room.
type occupant [check.Count]atomic.Pointer[Occupant]

// Occupant is who uses a shard, in the check build.
//
// Ownership: who uses the shard. It must not change until Leave.
type Occupant struct {
	What string
	Name string // may be empty
}

func (v *Occupant) String() string {
	switch {
	case v == nil:
		return "somebody"
	case v.Name == "":
		return v.What
	}
	return fmt.Sprintf("%s %q", v.What, v.Name)
}

// Enter notes who uses the shard until Leave, and panics if somebody else does. To
// be called in the check build only.
func (s *Shard) Enter(who *Occupant) {
	for i := range s.occupant {
		if !s.occupant[i].CompareAndSwap(nil, who) {
			panic(fmt.Sprintf("world: shard %d is used by %v while %v uses it; a shard is for one goroutine at a time: act from elsewhere through a Port", s.id, who, s.occupant[i].Load()))
		}
	}
}

// Leave ends what Enter began.
func (s *Shard) Leave() {
	for i := range s.occupant {
		s.occupant[i].Store(nil)
	}
}
