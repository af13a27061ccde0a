package stateful_test

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// What can be done to an entity; to nil, nothing. At once it is done to whoever is
// alive, by request to the living.

func (n *naive) destroy(e *entity) world.Outcome {
	if e == nil || e.marked {
		return world.Gone
	}
	e.marked = true
	return world.Applied
}

func (n *naive) set(e *entity, i int, v int64) world.Outcome {
	switch {
	case e == nil:
		return world.Gone
	case !e.has.has(i):
		return world.Missing
	}
	n.write(e, i, v)
	e.stored |= 1 << i
	return world.Applied
}

// write is set as by an accessor, of which hooks are not told.
func (n *naive) write(e *entity, i int, v int64) {
	if e.has.has(i) {
		e.value[i], e.wrote[i] = alike(v)[i], n.tick
	}
}

func (n *naive) add(e *entity, i int, v int64) world.Outcome {
	return n.exchange(e, 1<<i, 0, v)
}

func (n *naive) remove(e *entity, i int) world.Outcome {
	if e != nil && !e.has.has(i) {
		return world.Missing
	}
	return n.exchange(e, 0, 1<<i, 0)
}

// exchange takes components away and gives others.
func (n *naive) exchange(e *entity, give, take parts, v int64) world.Outcome {
	if e == nil {
		return world.Gone
	}
	has := e.has&^take | give
	e.stored |= e.has & give
	if has != e.has {
		e.has, e.came = has, n.tick
	}
	for i := range partsN {
		if give.has(i) {
			e.value[i], e.wrote[i] = alike(v)[i], n.tick
		}
	}
	return world.Applied
}

func (n *naive) flag(e *entity, set, cleared world.Flags) world.Outcome {
	if e == nil {
		return world.Gone
	}
	e.flags = e.flags&^cleared | set
	return world.Applied
}

func (n *naive) send(e *entity, h handle.Handle, v int64) world.Outcome {
	if e == nil {
		return world.Gone
	}
	n.hits[h] = append(n.hits[h], v)
	return world.Applied
}

// errorOf is what who acts at once is told instead of an outcome.
func errorOf(o world.Outcome) error {
	return [...]error{world.Applied: nil, world.Gone: world.ErrStale, world.Missing: world.ErrMissing, world.Failed: world.ErrFailed}[o]
}

// refresh applies all creates, then everything else in order of the senders, then transactions, tells
// hooks, then frees the marked and moves who is to.
func (n *naive) refresh() { n.refreshed(false) }

// refreshed is refresh that destroys all, if they are to be.
func (n *naive) refreshed(all bool) {
	clear(n.hits)
	clear(n.waiting)
	n.within = true
	defer func() { n.within = false }()
	for _, e := range n.entities {
		e.hidden = false
	}
	slices.SortStableFunc(n.requests, func(a, b request) int { return a.sender - b.sender })
	mark := func() {
		for _, e := range n.entities {
			e.marked = e.marked || all && !e.pending
		}
	}
	for _, step := range [...]step{creates, others, deals} {
		if step == deals { // who is to go with all is marked by then, and who is not marked was alive
			mark()
			for _, e := range n.entities {
				e.fresh = e.fresh && e.marked
			}
		}
		for _, r := range n.requests {
			if r.step == step {
				o := r.do()
				n.outcomes[o]++
				if r.done != nil {
					if want := &r.done.want; *want <= world.Applied { // the first other of many
						*want = o
					}
				}
			}
		}
	}
	n.requests = n.requests[:0]
	mark()
	n.tell()
	before := len(n.dead)
	for h, e := range n.entities {
		if e.marked {
			n.bury(h)
		}
	}
	n.lapse()
	slices.Sort(n.dead[before:]) // maps have no order
	n.moveAll()
	n.catchUp()
	n.tick++
}

// withdraw ends the handles of a batch that was refused: they are stale from the next
// refresh on.
func (n *naive) withdraw(p *world.Port, hs []handle.Handle) {
	n.takenBack[p] += len(hs)
	for _, h := range hs {
		delete(n.entities, h)
		n.withdrawn[h] = true
	}
}

func (n *naive) lapse() {
	for h := range n.withdrawn {
		n.end(h)
	}
	clear(n.withdrawn)
	clear(n.takenBack)
}

func (n *naive) bury(h handle.Handle) {
	delete(n.entities, h)
	n.gone++
	n.end(h)
}

// end ends a handle.
func (n *naive) end(h handle.Handle) {
	n.dead = append(n.dead, h)
	if h.Version() == n.versionMax {
		n.retired++
	}
}

// agoMax is how many ticks back it is asked for changes.
const agoMax = 4

// clear destroys all, after what was requested.
func (n *naive) clear() { n.refreshed(true) }
