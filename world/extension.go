package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/internal/drive"
)

// extensions holds the extensions of a world.
type extensions struct {
	w       *World
	all     []extended
	late    []late
	framed  []drive.Framed // those that frames can have copies of
	derived []drive.Derived
	parts   []any // of all and late, in the order in which they were added
	deaths  drive.DyingSet

	measured []drive.Measurable

	// What is running, for errors: a drive.Extension and its method, or the name of a
	// drive.Requests.
	running any
	method  string
}

type extended struct {
	drive.Extension
	notified int // how many of the deaths it was notified of
}

// late is a drive.Late, with its steps bound once.
type late struct {
	drive.Late
	collect, deliver func(int)
}

// extend applies the requests to extensions.
func (x *partition) extend() {
	for _, r := range x.Joint {
		x.lost.Decide(r.Request, x.w.space.Apply(r))
	}
}

func (e *extensions) begin() {
	for i := range e.all {
		e.run(i, "Begin").Begin()
	}
	e.running = nil
}

// run returns an extension whose method is about to be called.
func (e *extensions) run(i int, method string) drive.Extension {
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
func (e *extensions) refresh(partitions []*partition) (spared bool) {
	for _, x := range partitions {
		x.extend()
	}
	e.collect()
	if len(e.deaths.All()) > 0 {
		spared = e.spare()
		e.spread()
	}
	for i := range e.all {
		e.run(i, "Settle").Settle()
	}
	e.running = nil
	for _, s := range e.w.shards {
		s.DecideHeld()
	}
	return spared
}

// collect lists the marked entities of each shard.
func (e *extensions) collect() { e.deaths.Collect(e.w.space, e.w.shards, len(e.all)) }

// spare calls the extensions until none of them spares another entity. It reports whether some
// were spared.
func (e *extensions) spare() (spared bool) {
	for again := true; again; {
		again = false
		for i := range e.all {
			again = e.run(i, "Spare").Spare(&e.deaths) || again
		}
	}
	if spared = e.deaths.Spared(); spared {
		e.collect()
	}
	return spared
}

// spread notifies each extension of the deaths that it does not know yet, until all know all.
func (e *extensions) spread() {
	for i := range e.all {
		e.all[i].notified = 0
	}
	for known := 0; known < len(e.all); {
		known = 0
		for i := range e.all {
			x := &e.all[i]
			if x.notified == len(e.deaths.All()) {
				known++
				continue
			}
			from := x.notified
			e.run(i, "Spread").Spread(&e.deaths, from)
			x.notified = len(e.deaths.All())
		}
	}
}
