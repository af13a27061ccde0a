package world

import (
	"fmt"
	"runtime/debug"

	"github.com/atoll-sim/atoll/internal/mem"
)

// New entities are created in runs in the same shard, because each change of shard touches other
// columns and slots. Single entities in turn over eight shards cost a third more at 1M entities;
// and for entities with 10 components, over four shards, runs of 64 cost a quarter more than runs
// of 1024.
const (
	runMost = 1024
	// smallWorld is the number of entities up to which one shard is filled after the other. To most
	// systems a thousand entities are a few microseconds of work, too little to share with another
	// worker. Spread over four shards, they would cost each loop and each refresh the fixed price of
	// a shard and of its tables four times, and a new world four times the first chunks.
	smallWorld = 4096
)

// runLeast is the least length of a run for a number of shards: each gets an equal part of a small
// world.
func runLeast(shards int) int { return max(64, smallWorld/shards&^7) }

// next is the shard of a new entity. If creating it fails, giveBack must follow.
func (w *World) next() int {
	w.touched = true
	if w.run == 0 {
		w.nextShard()
	}
	w.run--
	return w.cursor
}

// giveBack undoes next.
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

// begin begins a run in a shard.
func (w *World) begin(shard, run int) { w.cursor, w.run, w.begun.run = shard, run, run }

// PlaceBy makes place choose the shard of each new entity, 0 to Shards()-1. The default, also for a
// nil place, is the shards in turn, in runs of up to 1024 entities. Up to 4096 entities the idle
// world and global systems fill one shard after the other, so a few hundred are all in one shard;
// ports take the shards in turn. If each of a few entities takes long, spread them by PlaceBy.
// place is called by every goroutine that creates, including those with ports. It must be safe for
// concurrent use and depend on its argument alone. Systems create in their own shard regardless.
//
// If place panics, or chooses a shard that there is not, nothing is created: the call that creates
// returns an ErrFailed that says so, and the rest of it is refused as for any other error. Values
// often come from clients, so think of those that are negative, huge or not a number.
func (b *Bundle[T]) PlaceBy(place func(T) int) *Bundle[T] {
	b.core.w.mustIdle("Bundle.PlaceBy")
	b.place, b.core.place = place, nil
	if place != nil {
		b.core.place = func(v mem.Address) int { return place(*(*T)(v)) }
	}
	return b
}

// placed returns the shard that the function of PlaceBy chooses. It returns an ErrFailed, and with
// it the *PanicError, if that function panics.
func (b *bundle) placed(place func() int) (i int, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %w", ErrFailed, &PanicError{In: inPlace, Name: b.name, Shard: AllShards, Tick: b.w.engine.Tick.Load(), Value: v, Stack: debug.Stack()})
		}
	}()
	if i = place(); i < 0 || i >= len(b.w.shards) {
		return 0, fmt.Errorf("%w: bundle %s: PlaceBy chose shard %d, want 0 to %d", ErrFailed, b.name, i, len(b.w.shards)-1)
	}
	return i, nil
}

// Reserve makes room for n more entities, spread evenly over the shards, so that creating them
// allocates nothing. A small number is not spread: there is room for all of them in each shard.
func (b *Bundle[T]) Reserve(w *World, n int) error { return b.core.reserve(w, n) }

func (b *bundle) reserve(w *World, n int) error {
	b.check(w, "Bundle.Reserve")
	if err := w.ready("Bundle.Reserve"); err != nil {
		return err
	}
	if n < 0 {
		panic(fmt.Sprintf("world: bundle %s: cannot reserve %d entities; want 0 or more", b.name, n))
	}
	w.touched = true // room that is there already is kept from now on
	for i, s := range w.shards {
		share := (n + len(w.shards) - 1 - i) / len(w.shards)
		t := b.part(s).table
		if s.Reserve(t, max(share, min(n, w.runLeast))) == nil {
			continue
		}
		if err := s.Reserve(t, share); err != nil {
			return err
		}
	}
	return nil
}

// portRun is how many new entities of a port in a row are created in the same shard: as many as
// share one or two cache lines of slots.
const portRun = 16

// next is the shard of a new entity: round robin, in runs.
func (p *Port) next() int {
	if p.run == 0 {
		p.run = portRun
		if p.cursor++; int(p.cursor) >= len(p.w.shards) {
			p.cursor = 0
		}
	}
	p.run--
	return int(p.cursor)
}
