package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/internal/drive"
)

// decide makes entities move at the refresh; see drive.Tick.Transfer.
func (w *World) decide(transfers []drive.Transfer) {
	for _, x := range transfers {
		if n := len(w.shards); x.From < 0 || x.From >= n || x.To < 0 || x.To >= n || x.From == x.To || x.Entities < 1 {
			panic(fmt.Sprintf("world: transfer of %d entities from shard %d to %d, want 1 or more, and two shards of 0 to %d", x.Entities, x.From, x.To, n-1))
		}
	}
	switch {
	case w.replayer != nil: // the recorded decisions count instead
	case w.recording != nil:
		w.recording.Transfers = append(w.recording.Transfers, transfers...)
		fallthrough
	default:
		w.transfer(transfers)
	}
}

func (w *World) transfer(transfers []drive.Transfer) {
	for _, x := range transfers {
		n := min(x.Entities, transferMax)
		w.shards[x.From].MigrateSome(x.To, n, &w.pinned)
		w.refresh.transferred = min(w.refresh.transferred+n, transferMax)
	}
}

// transferMax is more entities than a shard has, and so small that the sum of two of it is an int of 32 bits.
const transferMax = 1<<30 - 1

// Pin keeps entities that have any of the components in their shard when shards are balanced. Pin a
// component that only these entities have: a bundle pins all entities with any of its components.
// Move can still move them.
func (w *World) Pin(components ...ComponentSet) {
	w.mustIdle("World.Pin")
	w.touched = true
	w.pinned = w.pinned.Union(w.setOf("World.Pin", components))
}
