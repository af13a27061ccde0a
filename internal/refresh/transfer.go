package refresh

import (
	"fmt"

	"github.com/atoll-sim/atoll/internal/extend"
)

// Transfer makes entities move at the refresh; see extend.Tick.Transfer.
func (e *Engine) Transfer(transfers []extend.Transfer) {
	for _, x := range transfers {
		if n := len(e.Shards); x.From < 0 || x.From >= n || x.To < 0 || x.To >= n || x.From == x.To || x.Entities < 1 {
			panic(fmt.Sprintf("world: transfer of %d entities from shard %d to %d, want 1 or more, and two shards of 0 to %d", x.Entities, x.From, x.To, n-1))
		}
	}
	if e.Replay == nil { // the recorded decisions count instead
		e.transfers = append(e.transfers, transfers...)
	}
}

// transfer finds the entities that migrate by the decisions for this tick.
func (e *Engine) transfer() {
	for _, x := range e.transfers {
		n := min(x.Entities, transferMax)
		e.Shards[x.From].MigrateSome(x.To, n, &e.Pinned)
		e.transferred = min(e.transferred+n, transferMax)
	}
}

// transferMax is more entities than a shard has, and so small that the sum of two of it is an int
// of 32 bits.
const transferMax = 1<<30 - 1
