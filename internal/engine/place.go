package engine

// New entities are created in runs in the same shard, because each change of shard touches other
// columns and slots. Single entities in turn over eight shards cost a third more at 1M entities;
// and for entities with 10 components, over four shards, runs of 64 cost a quarter more than runs
// of 1024.
const (
	runMost = 1024
	// smallWorld is the number of entities up to which one shard is filled after the other. To most
	// systems a thousand entities are a few microseconds of work, too little to share with another
	// worker. Spread over four shards, they would cost each loop and each refresh the fixed price
	// of a shard and of its tables four times, and a new world four times the first chunks.
	smallWorld = 4096
)

// runLeast is the least length of a run for a number of shards: each gets an equal part of a small
// world.
func runLeast(shards int) int { return max(64, smallWorld/shards&^7) }

// next is the shard of a new entity, for the idle world or a global system. If creating the entity
// fails, giveBack must follow.
func (w *World) next() int {
	w.Touched()
	if w.run == 0 {
		w.nextShard()
	}
	w.run--
	return w.cursor
}

// giveBack undoes next after an error: the next entity gets the shard that this one would have had.
func (w *World) giveBack() {
	if w.run++; w.run == w.begun.run {
		w.cursor, w.run = w.begun.after, 0
	}
}

// nextShard begins the next run. In a small world it fills up the first shard that has less than
// half of its part; in others it takes the shards in turn. The run is then an eighth of the average
// number of entities in a shard, in whole cache lines of slots. nextShard is not inlined, to keep
// next small.
//
// Ownership: the idle world's goroutine, or that of a global system, which has all shards to
// itself.
//
//go:noinline
func (w *World) nextShard() {
	w.begun.after = w.cursor
	n := 0
	for _, s := range w.shards {
		n += s.Alive()
	}
	if n < smallWorld {
		for i, s := range w.shards {
			if have := s.Alive(); have < w.runLeast/2 {
				w.begin(i, w.runLeast-have)
				return
			}
		}
	}
	next := w.cursor + 1
	if next >= len(w.shards) {
		next = 0
	}
	w.begin(next, max(w.runLeast, min(n/(8*len(w.shards))&^7, runMost)))
}

// begin begins a run of so many entities in a shard, for nextShard.
func (w *World) begin(shard, run int) { w.cursor, w.run, w.begun.run = shard, run, run }
