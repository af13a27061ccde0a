package extend

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
)

// Copying lists entities to copy, each in its own shard: those of Of are copied, and those of Made
// are the copies. After that, Requests requests of RequestSize are sent.
//
// Ownership: the caller's, which keeps it to use its memory again.
type Copying struct {
	Of, Made    []handle.Handle
	Requests    int
	RequestSize uint32

	Tables map[*store.Table]int // how many are in each
	Shards []int
	Next   [][]handle.Handle // by shard: the handles to come
	Clones [][]mem.Address   // by entity of Of: its components that have a CloneBy
}

// Reset empties it, for the next copy.
func (c *Copying) Reset() {
	clear(c.Tables)
	clear(c.Shards)
	clear(c.Clones)
	*c = Copying{Of: c.Of[:0], Made: c.Made[:0], Tables: c.Tables, Shards: c.Shards[:0], Next: c.Next, Clones: c.Clones[:0]}
}
