package stateful_test

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// nowhere stands for a shard that is not known, or is none.
const nowhere = -1

// move is a request to move an entity to a shard: the last one counts.
func (n *naive) move(e *entity, to int) world.Outcome {
	if e == nil {
		return world.Gone
	}
	e.to = to
	return world.Applied
}

// moveAll moves who is to move and has not died.
func (n *naive) moveAll() {
	for _, e := range n.entities {
		e.misrouted = false
		if e.to != nowhere {
			n.arrive(e, e.to)
			e.to = nowhere
		}
	}
}

// arrive gives an entity a row in another shard. Where it was is known, unless it came
// in this tick.
func (n *naive) arrive(e *entity, to int) {
	if e.shard == nowhere && e.came != n.tick {
		panic("the naive world lost sight of an entity")
	}
	if e.shard != to {
		e.came = n.tick
	}
	e.shard = to
}

// move moves an entity on the idle world.
func (m *machine) move() {
	h, to := m.any(), m.n(m.options.Shards)
	e := m.naive.living(h)
	from, _ := m.Owner(h)
	want := world.Gone
	if e != nil {
		want, e.shard = world.Applied, from
		e.misrouted = e.misrouted || from != to
		m.naive.arrive(e, to)
	}
	m.atOnce(world.Move(m.World, h, to), want, "Move", h)
	owner, ok := m.Owner(h)
	mustBe(m, ok, m.naive.alive(h) != nil, "Owner", h)
	if e != nil {
		mustBe(m, owner, to, "Owner of who was moved", h)
	}
}

// mustBeAt checks that an entity is where it was put, or where it was before.
func (m *machine) mustBeAt(h handle.Handle, e *entity) {
	owner, ok := m.Owner(h)
	mustBe(m, ok, true, "Owner", h)
	if e.shard == nowhere {
		e.shard = owner
	}
	mustBe(m, owner, e.shard, "Owner", h)
}
