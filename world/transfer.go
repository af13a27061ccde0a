package world

import "fmt"

// Transfer is a decision to move entities from one shard to another, without saying
// which: the last rows of From's tables, from each in proportion to its rows, so
// that From keeps its mixture. It depends on the world alone, so a log of inputs
// needs to hold no more than this.
type Transfer struct {
	From, To, Entities int
}

// Transfer decides that entities move at the refresh, as Move does when all that was
// requested is done: whoever somebody asked to move, or is marked, is not among
// them, nor is who has a component that is pinned. If From has too few, fewer
// move. For schedulers, which call it between the last system and End; the
// requests' outcomes and counts do not show it, but Stats.Moved does. While a log is
// replayed it does nothing: what was decided when that was recorded counts. It panics
// if there are no such shards, or there is nothing to move.
func (t Tick) Transfer(transfers []Transfer) {
	w := t.w
	for _, x := range transfers {
		if n := len(w.shards); x.From < 0 || x.From >= n || x.To < 0 || x.To >= n || x.From == x.To || x.Entities < 1 {
			panic(fmt.Sprintf("world: Tick.Transfer of %d entities from shard %d to %d, want 1 or more, and two shards of 0 to %d", x.Entities, x.From, x.To, n-1))
		}
	}
	switch {
	case w.replayer != nil: // what was decided then counts
	case w.recording != nil:
		w.recording.Shifts = append(w.recording.Shifts, transfers...)
		fallthrough
	default:
		w.transfer(transfers)
	}
}

func (w *World) transfer(transfers []Transfer) {
	for _, x := range transfers {
		w.shards[x.From].MigrateSome(x.To, x.Entities, &w.pinned)
		w.refresh.transferred += x.Entities
	}
}

// Entities returns the number of atoms in a shard, marked ones included. For
// schedulers, while no system runs.
func (t Tick) Entities(shard int) int { return t.w.shards[shard].Alive() }

// Pin keeps entities that have any of the components from being shifted when shards
// are balanced. Who has them can be moved by Move all the same.
func (w *World) Pin(components ...ComponentSet) {
	w.mustIdle("World.Pin")
	w.pinned = w.pinned.Union(w.setOf("World.Pin", components))
}
