package drive

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
)

// Copying is entities that are to be copied, each in its shard: Of, which become Made. Behind that so
// many requests of a size are to be sent.
//
// Ownership: the caller's, who keeps it for its memory.
type Copying struct {
	Of, Made    []handle.Handle
	Requests    int
	RequestSize uint32

	Tables map[*store.Table]int // how many are in each
	Shards []int
}

// Reset empties it.
func (c *Copying) Reset() {
	clear(c.Tables)
	clear(c.Shards)
	*c = Copying{Of: c.Of[:0], Made: c.Made[:0], Tables: c.Tables, Shards: c.Shards[:0]}
}
