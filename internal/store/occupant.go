package store

import (
	"fmt"
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/check"
)

// occupant holds the current user of a shard, with which the check build checks the Ownership
// paragraphs. In a release build it takes no room.
type occupant [check.Count]atomic.Pointer[Occupant]

// Occupant describes the goroutine that uses a shard, in the check build.
//
// Ownership: the goroutine that uses the shard. It must not change until Leave.
type Occupant struct {
	What string
	Name string // may be empty
}

func (o *Occupant) String() string {
	switch {
	case o == nil:
		return "somebody"
	case o.Name == "":
		return o.What
	}
	return fmt.Sprintf("%s %q", o.What, o.Name)
}

// Enter sets the user of the shard until Leave, and panics if the shard is in use already. Call it
// only in the check build.
func (s *Shard) Enter(user *Occupant) {
	for i := range s.occupant {
		if !s.occupant[i].CompareAndSwap(nil, user) {
			panic(fmt.Sprintf("world: shard %d is used by %v while %v uses it; a shard is for one goroutine at a time: act from elsewhere through a Port", s.id, user, s.occupant[i].Load()))
		}
	}
}

// Leave undoes Enter.
func (s *Shard) Leave() {
	for i := range s.occupant {
		s.occupant[i].Store(nil)
	}
}
