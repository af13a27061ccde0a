package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
)

// DyingSet holds the entities that die in a refresh: first the marked ones, by shard in order,
// then those that extensions mark as a consequence.
//
// Ownership: as for Extension.
type DyingSet struct {
	w      *World
	all    []handle.Handle
	spared bool
	told   bool // another extension must learn what one marks
}

// All returns the dying entities that the extension must know. The slice is good until the next
// call of Mark.
func (d *DyingSet) All() []handle.Handle { return d.all }

// Has reports whether an entity is marked.
func (d *DyingSet) Has(h handle.Handle) bool {
	l := d.w.space.LocateStaged(h)
	return l != 0 && d.w.space.Marked(l)
}

// Mark marks the given entities that are alive, for use in Extension.Spread. The other
// extensions are notified of them.
func (d *DyingSet) Mark(hs []handle.Handle) {
	if d.told {
		d.w.space.MarkEach(hs, &d.all)
	} else {
		d.w.space.MarkEach(hs, nil)
	}
}

// Spare removes the mark of an entity, for use in Extension.Spare.
func (d *DyingSet) Spare(h handle.Handle) {
	if l := d.w.space.LocateStaged(h); l != 0 {
		d.w.space.Spare(l)
		d.spared = true
	}
}

// collect lists the marked entities of each shard.
func (d *DyingSet) collect() {
	d.all = d.all[:0]
	for _, s := range d.w.shards {
		d.all = s.AppendMarked(d.all)
	}
}

// extensions holds the extensions of a world.
type extensions struct {
	w      *World
	all    []extended
	deaths DyingSet

	// What is running, for errors: an Extension and its method, or the name of a Requests.
	running any
	method  string
}

type extended struct {
	Extension
	told int // of how many of the deaths it was notified
}

// extend applies the requests to extensions.
func (x *partition) extend() {
	for _, r := range x.Joint {
		x.lost.Decide(r, x.w.space.Apply(r))
	}
}

func (e *extensions) begin() {
	for i := range e.all {
		e.run(i, "Begin").Begin()
	}
	e.running = nil
}

// run returns an extension that is about to be called.
func (e *extensions) run(i int, method string) Extension {
	x := e.all[i].Extension
	e.running, e.method = x, method
	return x
}

// during names what is running.
func (e *extensions) during() string {
	switch x := e.running.(type) {
	case nil:
		return "the refresh"
	case string:
		return fmt.Sprintf("a request of extension %q", x)
	default:
		return fmt.Sprintf("%s of extension %T", e.method, x)
	}
}

// refresh is the extensions' part of a refresh: it applies the requests to them, partition by
// partition, and finds the deaths that follow. It reports whether some entities were spared.
func (e *extensions) refresh(shares []*partition) (spared bool) {
	for _, x := range shares {
		x.extend()
	}
	e.deaths.w, e.deaths.spared = e.w, false
	e.deaths.collect()
	if len(e.deaths.all) > 0 {
		e.spare()
		e.spread()
	}
	for i := range e.all {
		e.run(i, "Settle").Settle()
	}
	e.running = nil
	for _, s := range e.w.shards {
		s.DecideHeld()
	}
	return e.deaths.spared
}

// spare calls the extensions until none of them spares another entity.
func (e *extensions) spare() {
	for again := true; again; {
		again = false
		for i := range e.all {
			again = e.run(i, "Spare").Spare(&e.deaths) || again
		}
	}
	if e.deaths.spared {
		e.deaths.collect()
	}
}

// spread notifies each extension of the deaths it does not know yet, until all know all.
func (e *extensions) spread() {
	e.deaths.told = len(e.all) > 1
	for i := range e.all {
		e.all[i].told = 0
	}
	for known := 0; known < len(e.all); {
		known = 0
		for i := range e.all {
			x := &e.all[i]
			if x.told == len(e.deaths.all) {
				known++
				continue
			}
			from := x.told
			e.run(i, "Spread").Spread(&e.deaths, from)
			x.told = len(e.deaths.all)
		}
	}
}
