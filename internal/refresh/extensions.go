package refresh

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/queue"
)

// Extensions holds the extensions of a world that take part in its refreshes.
//
// Ownership: the world's, on an idle world; in a refresh the coordinator.
type Extensions struct {
	Derived []extend.Derived
	Sender  extend.Sender // of the requests that are being applied

	of     *Engine
	all    []extended
	late   []late
	aside  joiner
	deaths extend.DyingSet

	running string // for errors: a method, or "a request"; "": nothing of an extension
	name    string // of the extension
}

type extended struct {
	extend.Extension
	notified int // how many of the deaths, or of the spared, it was notified of
}

// late is a extend.Late, with its steps bound once.
type late struct {
	extend.Late
	collect, deliver func(int)
}

// extend applies the requests to extensions and the transactions, sender by sender. The coordinator
// calls it in the step extend. A panic breaks the world. If a transaction ended the goroutine, the next
// call continues after it.
func (x *partition) extend() {
	again := x.extending // with the same sender, and what it has taken
	if again {
		x.lost.Decide(x.Joint[x.extended-1].Request, queue.Failed)
		x.extending = false
	}
	for ; x.sender < len(x.joints); x.sender++ {
		of := x.joints[x.sender]
		if !again {
			x.e.Extensions.Sender = extend.Sender{Port: of.Port, Shard: of.Shard}
		}
		again = false
		for x.extended < of.End {
			r := x.Joint[x.extended]
			x.extended++
			if x.Lasts && x.e.Space.Registry.IsLast(r.Kind()) != x.last {
				continue
			}
			x.extending = true
			x.lost.Decide(r.Request, x.e.Space.Apply(r))
			x.extending = false
		}
	}
}

// apply applies the requests to extensions and the transactions, partition by partition, and then
// those that are to be the last. It reports whether there were transactions; these run aside.
func (e *Extensions) apply(partitions []*partition) (transacted bool) {
	if e.deaths.Guards() { // before names and relations take the marked for dead
		e.collect()
		e.deaths.SpareGuarded()
	}
	transacted, last := e.applyAll(partitions), false
	for _, x := range partitions {
		if x.Lasts {
			x.last, x.sender, x.extended, last = true, 0, 0, true
		}
	}
	if last {
		e.applyAll(partitions)
	}
	e.running = ""
	return transacted
}

// applyAll is apply for those whose turn it is.
func (e *Extensions) applyAll(partitions []*partition) (transacted bool) {
	for _, x := range partitions {
		if x.Transacts && !transacted {
			transacted = true
			e.aside.run(e, partitions)
		}
		x.extend()
	}
	return transacted
}

// joiner runs the extend of all partitions on a goroutine of its own.
//
// Ownership: the coordinator, and the goroutine of the Aside while that waits.
type joiner struct {
	Aside
	partitions []*partition
}

// run does it all.
func (j *joiner) run(e *Extensions, partitions []*partition) {
	if j.partitions == nil {
		j.Bind(func() {
			for len(j.partitions) > 0 {
				j.partitions[0].extend()
				j.partitions = j.partitions[1:]
			}
		})
	}
	for j.partitions = partitions; len(j.partitions) > 0; {
		if !j.Call() && j.Value != nil {
			panic(&Panic{During: e.During(), Value: j.Value, Stack: j.Stack})
		}
	}
}

// Guarded reports whether an extension says that an entity must not die.
func (e *Extensions) Guarded(h handle.Handle) bool { return e.deaths.Guarded(h) }

// Left reports whether an extension says that an entity is somewhere else.
func (e *Extensions) Left(h handle.Handle) bool { return e.deaths.Left(h) }

// Add adds an extension: from now on shards wait with the outcome of destroys until the extensions
// have spared. The world is idle.
func (e *Extensions) Add(x extend.Extension) {
	e.all = append(e.all, extended{Extension: x})
	if g, ok := x.(extend.Guarding); ok {
		e.deaths.Add(g)
	}
	for _, s := range e.of.Shards {
		s.HoldDestroys = true
	}
}

// AddLate adds an extension of the step deliver. The world is idle.
func (e *Extensions) AddLate(x extend.Late) {
	e.late = append(e.late, late{x, x.Collect, e.of.in("deliver", x.Deliver)})
}

// Len returns how many were added by Add.
func (e *Extensions) Len() int { return len(e.all) }

// Drop forgets all extensions, when the world is closed or broken.
func (e *Extensions) Drop() { e.all, e.late, e.Derived = nil, nil, nil }

// Begin tells the extensions that a tick begins, on the goroutine that begins it. A panic breaks
// the world.
func (e *Extensions) Begin() {
	for i := range e.all {
		e.run(i, "Begin").Begin()
	}
	e.running = ""
}

// run returns an extension whose method is about to be called, and notes both for During.
func (e *Extensions) run(i int, method string) extend.Extension {
	x := e.all[i].Extension
	e.running, e.name = method, x.Name()
	return x
}

// Requesting says that a request to an extension runs, for During.
func (e *Extensions) Requesting(name string) { e.running, e.name = "a request", name }

// runLate returns an extension of the step deliver whose methods are about to be called, and notes
// it for During.
func (e *Extensions) runLate(i int) *late {
	x := &e.late[i]
	e.running, e.name = "Deliver", x.Name()
	return x
}

// During names what is running, for the error of a world that breaks.
func (e *Extensions) During() string {
	if e.running == "" {
		return "the refresh"
	}
	return fmt.Sprintf("%s of extension %q", e.running, e.name)
}

// refresh is the rest of the step extend, after the requests: it finds the deaths that follow. It
// reports whether some entities were spared. A panic of an extension breaks the world.
func (e *Extensions) refresh() (spared bool) {
	e.collect()
	if len(e.deaths.All()) > 0 {
		if e.deaths.Guards() { // transactions and World.Clear have marked others
			e.deaths.SpareGuarded()
		}
		spared = e.spare()
		e.spread()
	}
	for i := range e.all {
		e.run(i, "Settle").Settle()
	}
	e.running = ""
	for _, s := range e.of.Shards {
		s.DecideHeld()
	}
	return spared
}

// collect lists the marked entities of each shard, for the extensions.
func (e *Extensions) collect() { e.deaths.Collect(e.of.Space, e.of.Shards, len(e.all)) }

// spare calls the extensions until none of them spares another entity. It reports whether some
// were spared.
func (e *Extensions) spare() (spared bool) {
	for i := range e.all {
		e.all[i].notified = -1
	}
	for again := true; again; {
		again = false
		for i := range e.all {
			x := &e.all[i]
			e.deaths.Know(x.notified)
			again = e.run(i, "Spare").Spare(&e.deaths) || again
			x.notified = e.deaths.Spared()
		}
	}
	if spared = e.deaths.Spared() > 0; spared {
		e.collect()
	}
	return spared
}

// spread notifies the extensions of the deaths: first those whose Spread may add further ones,
// until each of them knows all, and then those that follow. So these do once what they do to the
// relatives of the dead.
func (e *Extensions) spread() {
	for i := range e.all {
		e.all[i].notified = 0
	}
	for again := true; again; {
		again = e.spreadTo(false)
	}
	e.spreadTo(true)
}

// spreadTo tells the extensions that mark, or the ones that follow, which deaths are new to them. It
// reports whether there were some.
func (e *Extensions) spreadTo(following bool) (some bool) {
	for i := range e.all {
		x := &e.all[i]
		if from := x.notified; x.following() == following && from < len(e.deaths.All()) {
			e.run(i, "Spread").Spread(&e.deaths, from)
			x.notified, some = len(e.deaths.All()), true
		}
	}
	return some
}

// following reports whether the extension marks no entities in Spread.
func (x *extended) following() bool {
	f, ok := x.Extension.(extend.Following)
	return ok && f.Follows()
}

// Derive has the extensions bring up to date what they derive from rows. Coordinator only, while no
// row moves; step shares the work with the workers. A panic breaks the world.
func (e *Extensions) Derive(step extend.Step) {
	for _, x := range e.Derived {
		e.running, e.name = "Update", x.Name()
		x.Update(e.of.Tick.Load(), step)
	}
	e.running = ""
}
