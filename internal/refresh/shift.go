package refresh

import (
	"fmt"

	"github.com/atoll-sim/atoll/internal/extend"
)

// Shift makes entities move at the refresh, before that begins; see engine.Tick.Shift. It panics,
// and moves none, if one of shifts cannot be.
func (e *Engine) Shift(shifts []extend.Shift) {
	for _, x := range shifts {
		if n := len(e.Shards); x.From < 0 || x.From >= n || x.To < 0 || x.To >= n || x.From == x.To || x.Entities < 1 {
			panic(fmt.Sprintf("world: shift of %d entities from shard %d to %d, want 1 or more, and two shards of 0 to %d", x.Entities, x.From, x.To, n-1))
		}
	}
	if e.Replay == nil { // the recorded decisions count instead
		e.shifts = append(e.shifts, shifts...)
	}
}

// shift finds the entities that migrate by the decisions for this tick.
func (e *Engine) shift() {
	for _, x := range e.shifts {
		n := min(x.Entities, shiftMax)
		e.Shards[x.From].MigrateSome(x.To, n, &e.Pinned)
		e.shifted = min(e.shifted+n, shiftMax)
	}
}

// shiftMax is more entities than a shard has, and so small that the sum of two of it is an int
// of 32 bits.
const shiftMax = 1<<30 - 1
