package world

import "fmt"

// Transfer is a decision to move a number of entities from one shard to another, without naming
// them. The last rows of From's tables move, from each table in proportion to its rows, so that
// From keeps its mixture. Which ones depends on the world alone, so a log of inputs needs to
// hold no more than this.
type Transfer struct {
	From, To, Entities int
}

// Transfer decides that entities move at the refresh, as by Move, when all requests are done.
// Entities that are marked, that a request moves already, or that have a pinned component stay.
// If From has too few others, fewer move. It is for schedulers, which call it between the last
// system and End. The requests' outcomes and counts do not show it, but Stats.Moved does. While
// a log is replayed Transfer does nothing: the recorded decisions count. It panics if there are
// no such shards, or if there is nothing to move.
func (t Tick) Transfer(transfers []Transfer) {
	w := t.w
	for _, x := range transfers {
		if n := len(w.shards); x.From < 0 || x.From >= n || x.To < 0 || x.To >= n || x.From == x.To || x.Entities < 1 {
			panic(fmt.Sprintf("world: Tick.Transfer of %d entities from shard %d to %d, want 1 or more, and two shards of 0 to %d", x.Entities, x.From, x.To, n-1))
		}
	}
	switch {
	case w.replayer != nil: // the recorded decisions count
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

// Entities returns the number of entities in a shard, marked ones included. For schedulers,
// while no system runs.
func (t Tick) Entities(shard int) int { return t.w.shards[shard].Alive() }

// Pin keeps entities that have any of the components from being moved when shards are balanced.
// Move can still move them.
func (w *World) Pin(components ...ComponentSet) {
	w.mustIdle("World.Pin")
	w.pinned = w.pinned.Union(w.setOf("World.Pin", components))
}
