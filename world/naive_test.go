package world_test

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// naive is the simplest thing that behaves as a world should: a map, and a list
// of requests that a refresh sorts. It is the oracle of TestModel.
type naive struct {
	entities map[handle.Handle]*naiveEntity // pending ones included
	dead     []handle.Handle
	given    map[handle.Handle]bool // every handle ever
	requests []naiveRequest
	ports    int // number of ports: shards' requests come after theirs

	sent     []world.Envelope[Hit]   // by requests of this refresh
	hits     [][]world.Envelope[Hit] // delivered at the last refresh, by shard
	moved    uint64
	outcomes [5]uint64
}

type naiveEntity struct {
	components map[string]any
	pending    bool
	hidden     bool // from all shards but its own, until the refresh
	marked     bool
	shard      int
	to         int // where it moves to at the refresh, or -1
}

type naiveRequest struct {
	sender  int // ports by number, then shards
	create  bool
	do      func() world.Outcome
	outcome func(world.Outcome) // who waits; may be nil
}

func newNaive(ports, shards int) *naive {
	return &naive{
		ports: ports, entities: map[handle.Handle]*naiveEntity{}, given: map[handle.Handle]bool{},
		hits: make([][]world.Envelope[Hit], shards),
	}
}

// create is an entity with a handle that nobody ever had.
func (n *naive) create(h handle.Handle, shard int, pending bool, components map[string]any) bool {
	if h.IsNone() || n.given[h] {
		return false
	}
	n.given[h] = true
	n.entities[h] = &naiveEntity{components: components, pending: pending, shard: shard, to: -1}
	return true
}

// alive returns the entity unless it is pending or gone.
func (n *naive) alive(h handle.Handle) *naiveEntity {
	if e := n.entities[h]; e != nil && !e.pending {
		return e
	}
	return nil
}

func (n *naive) destroy(h handle.Handle) world.Outcome {
	e := n.alive(h)
	if e == nil || e.marked {
		return world.Gone
	}
	e.marked = true
	return world.Applied
}

func (n *naive) set(h handle.Handle, name string, v any) world.Outcome {
	e := n.alive(h)
	switch {
	case e == nil || e.marked:
		return world.Gone
	case e.components[name] == nil:
		return world.Missing
	}
	e.components[name] = v
	return world.Applied
}

// add gives the component, or its new value.
func (n *naive) add(h handle.Handle, name string, v any) world.Outcome {
	e := n.alive(h)
	if e == nil || e.marked {
		return world.Gone
	}
	e.components[name] = v
	return world.Applied
}

func (n *naive) remove(h handle.Handle, name string) world.Outcome {
	e := n.alive(h)
	switch {
	case e == nil || e.marked:
		return world.Gone
	case e.components[name] == nil:
		return world.Missing
	}
	delete(e.components, name)
	return world.Applied
}

func (n *naive) send(h handle.Handle, damage int64) world.Outcome {
	if e := n.alive(h); e == nil || e.marked {
		return world.Gone
	}
	n.sent = append(n.sent, world.Envelope[Hit]{To: h, Body: Hit{damage}})
	return world.Applied
}

// sendAtOnce is send by the idle world.
func (n *naive) sendAtOnce(h handle.Handle, damage int64) world.Outcome {
	e := n.alive(h)
	if e == nil {
		return world.Gone
	}
	n.hits[e.shard] = append(n.hits[e.shard], world.Envelope[Hit]{To: h, Body: Hit{damage}})
	return world.Applied
}

// move moves at the refresh.
func (n *naive) move(h handle.Handle, to int) world.Outcome {
	e := n.alive(h)
	if e == nil || e.marked {
		return world.Gone
	}
	e.to = to
	return world.Applied
}

// moveAtOnce is move by the idle world.
func (n *naive) moveAtOnce(h handle.Handle, to int) world.Outcome {
	o := n.move(h, to)
	if o == world.Applied {
		n.entities[h].settle(n)
	}
	return o
}

// settle moves an entity to where it was asked to.
func (e *naiveEntity) settle(n *naive) {
	if e.to >= 0 && e.to != e.shard {
		e.shard = e.to
		n.moved++
	}
	e.to = -1
}

// forward brings messages to where their entities have moved since they were
// delivered.
func (n *naive) forward() {
	for shard, box := range n.hits {
		var kept []world.Envelope[Hit]
		for _, x := range box {
			if e := n.alive(x.To); e != nil && e.shard != shard {
				n.hits[e.shard] = append(n.hits[e.shard], x)
			} else {
				kept = append(kept, x)
			}
		}
		n.hits[shard] = append(kept, n.hits[shard][len(box):]...)
	}
}

func (n *naive) status(h handle.Handle) world.Status {
	switch e := n.entities[h]; {
	case e == nil:
		return world.Stale
	case e.pending:
		return world.Pending
	case e.marked:
		return world.Dying
	}
	return world.Alive
}

// refresh applies all creates, then everything else in order of the senders, then
// moves those that live on, delivers, and frees the marked.
func (n *naive) refresh() {
	slices.SortStableFunc(n.requests, func(a, b naiveRequest) int { return a.sender - b.sender })
	for _, creates := range []bool{true, false} {
		for _, r := range n.requests {
			if r.create == creates {
				o := r.do()
				n.outcomes[o]++
				if r.outcome != nil {
					r.outcome(o)
				}
			}
		}
	}
	n.requests = n.requests[:0]
	for _, e := range n.entities {
		e.hidden = false
		if !e.marked {
			e.settle(n)
		}
	}
	clear(n.hits)
	for _, x := range n.sent {
		shard := n.entities[x.To].shard
		n.hits[shard] = append(n.hits[shard], x)
	}
	n.sent = n.sent[:0]
	for h, e := range n.entities {
		if e.marked {
			delete(n.entities, h)
			n.dead = append(n.dead, h)
		}
	}
}

// clear destroys all.
func (n *naive) clear() {
	n.refresh()
	for _, e := range n.entities {
		e.marked = true
	}
	n.refresh()
}
