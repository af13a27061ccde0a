package pairs_test

import (
	"slices"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// model is the simplest thing that behaves as a world should: a map of entities, and a
// list of requests that a refresh sorts.
type model struct {
	entities map[handle.Handle]*entity // pending ones included
	given    map[handle.Handle]bool    // every handle ever
	queue    []*request
	atOnce   bool // what is done now is no request
	tick     uint64

	hits     map[handle.Handle][]int64 // messages for the next tick
	heard    map[handle.Handle][]int64 // for this one
	timed    map[int64]timed           // timers that are set
	turns    map[handle.Handle]int64   // the tick of each one's last turn
	nudged   []*entity                 // in this refresh
	asked    map[timed]int             // asks that have no result, by entity and tick
	children map[int64][]handle.Handle // what functions created, by argument
	names    map[int64]handle.Handle
	policy   hierarchy.OnParentDeath
	released []handle.Handle   // by references
	late     []handle.Handle   // what systems of a sealed tick released: the next refresh takes it
	sealed   bool              // ticks are
	shifts   []scheduler.Shift // what the balancer decided for this tick

	created, destroyed [][]handle.Handle // by tick
	dead               []handle.Handle   // of the last refresh
	outcomes           [world.Closed + 1]uint64

	travel travels

	hooks []*hook
	told  []tale
}

// entity is what an entity is.
type entity struct {
	h        handle.Handle
	has      parts
	value    values
	flags    world.Flags
	shard    int // nowhere: not known yet
	to       int // where it is to move at the refresh; nowhere: it stays
	moved    bool
	named    bool
	name     int64
	parent   handle.Handle
	children []handle.Handle
	bound    bool
	bond     handle.Handle

	away *voyage // it is elsewhere

	pending   bool
	marked    bool
	spared    bool // in this refresh
	cancelled bool // created and destroyed by the requests of this refresh
	misrouted bool // an idle world moved it, and its messages follow it

	// What hooks are to be told.
	born, fresh bool  // created since the last refresh; by a request in this one
	had, stored parts // at the last refresh; stored anew since
}

const nowhere = -1

// request is what a sender asked for.
type request struct {
	*act
	sender  int // ports by number, then shards, then the world's systems
	made    []handle.Handle
	promise *promise
	outcome world.Outcome
}

// promise is what a port waits for, and what it must be told.
type promise struct {
	done   *world.Completion
	value  func() (int64, bool) // nil if nothing was asked
	answer int64
	want   world.Outcome
}

func newModel() *model {
	return &model{
		entities: map[handle.Handle]*entity{}, given: map[handle.Handle]bool{}, hits: map[handle.Handle][]int64{}, timed: map[int64]timed{}, turns: map[handle.Handle]int64{}, asked: map[timed]int{},
		children: map[int64][]handle.Handle{}, names: map[int64]handle.Handle{}, created: [][]handle.Handle{nil}, destroyed: [][]handle.Handle{nil},
	}
}

// create is an entity with a handle that nobody ever had; false if somebody had.
func (m *model) create(h handle.Handle, has parts, v values, shard int, pending bool) bool {
	if h.IsNone() || m.given[h] {
		return false
	}
	m.given[h] = true
	e := &entity{h: h, has: has, shard: shard, to: nowhere, pending: pending}
	for i := range partsN {
		if has.has(i) {
			e.value[i] = v[i]
		}
	}
	m.entities[h] = e
	if !pending {
		m.store(e)
	}
	return true
}

// store is the moment in which an entity gets its row.
func (m *model) store(e *entity) {
	e.fresh, e.pending, e.born = e.pending, false, true
	m.created[m.tick] = append(m.created[m.tick], e.h)
}

// alive returns the entity unless it is pending or gone.
func (m *model) alive(h handle.Handle) *entity {
	if e := m.entities[h]; e != nil && !e.pending {
		return e
	}
	return nil
}

// living is alive without the marked: what requests find.
func (m *model) living(h handle.Handle) *entity {
	if e := m.alive(h); e != nil && !e.marked {
		return e
	}
	return nil
}

// now does an act at once.
func (m *model) now(a *act, e *entity) world.Outcome {
	m.atOnce = true
	defer func() { m.atOnce = false }()
	return a.model(m, e)
}

// refresh applies all creates, then everything else in the order of the senders, then
// what concerns several; then it is known who dies, hooks are told, and who is to move
// moves.
func (m *model) refresh() {
	clear(m.hits)
	slices.SortStableFunc(m.queue, func(a, b *request) int { return a.sender - b.sender })
	for _, r := range m.queue {
		if r.born != nil {
			for _, h := range r.made {
				m.store(m.entities[h])
				m.outcomes[world.Applied]++
			}
			r.outcome = world.Applied
		}
	}
	m.apply(false, false)
	for _, h := range m.released {
		if e := m.alive(h); e != nil {
			e.marked = true
		}
	}
	m.released, m.late = append(m.released[:0], m.late...), m.late[:0]
	m.spareAway()
	m.apply(true, false)
	m.apply(true, true)
	m.spareAway()
	m.spare()
	m.spread()
	for _, r := range m.queue {
		if e := m.entities[r.h]; r.name == "destroy" && e != nil && e.spared && !e.marked {
			r.outcome = world.Refused // whether it or another was the first
		}
		if r.born == nil {
			m.outcomes[r.outcome]++
		}
		if r.promise != nil {
			if want := &r.promise.want; *want <= world.Applied { // the first other of many
				*want = r.outcome
			}
		}
	}
	m.queue = m.queue[:0]
	m.tell()
	m.settle()
}

func (m *model) apply(joint, last bool) {
	for _, r := range m.queue {
		if r.born == nil && r.joint == joint && r.last == last {
			r.outcome = r.model(m, m.living(r.h))
		}
	}
}

// release marks an entity at the refresh, or at the next one, if a system of a sealed tick releases it.
func (m *model) release(h handle.Handle, bySystem bool) {
	if bySystem && m.sealed {
		m.late = append(m.late, h)
		return
	}
	m.released = append(m.released, h)
}

// settle removes the dead, and moves who is to move.
func (m *model) settle() {
	m.dead = m.dead[:0]
	for h, e := range m.entities {
		e.born, e.fresh, e.had, e.stored, e.spared, e.cancelled, e.misrouted = false, false, e.has, 0, false, false, false
		switch {
		case e.pending:
			e.had = 0
		case e.marked:
			m.dead = append(m.dead, h)
		case e.to != nowhere:
			e.moved, e.shard, e.to = true, e.to, nowhere
		}
	}
	slices.Sort(m.dead)
	for _, h := range m.dead {
		if e := m.entities[h]; e.named && m.names[e.name] == h {
			delete(m.names, e.name)
		}
		delete(m.entities, h)
	}
	m.destroyed[m.tick] = append(m.destroyed[m.tick], m.dead...)
}

// end begins the next tick.
func (m *model) end() {
	m.tick++
	m.created, m.destroyed = append(m.created, nil), append(m.destroyed, nil)
	for _, e := range m.entities {
		e.moved = false
	}
}

// What can be done to an entity; to nil, nothing.

func (m *model) destroy(e *entity) world.Outcome {
	if e == nil || e.marked {
		return world.Gone
	}
	e.marked, e.cancelled = true, e.fresh && !m.atOnce
	return world.Applied
}

func (m *model) set(e *entity, has parts, v values) world.Outcome {
	switch {
	case e == nil:
		return world.Gone
	case e.has&has != has:
		return world.Missing
	}
	m.write(e, has, v)
	e.stored |= has
	return world.Applied
}

// write is set as by an accessor, of which hooks are not told.
func (m *model) write(e *entity, has parts, v values) {
	for i := range partsN {
		if e.has.has(i) && has.has(i) {
			e.value[i] = v[i]
		}
	}
}

// exchange takes components away and gives others.
func (m *model) exchange(e *entity, give, take parts, v values) world.Outcome {
	if e == nil {
		return world.Gone
	}
	e.stored |= e.has & give
	e.has = e.has&^take | give
	m.write(e, give, v)
	return world.Applied
}

func (m *model) send(e *entity, n int64) world.Outcome {
	if e == nil {
		return world.Gone
	}
	m.hits[e.h] = append(m.hits[e.h], n)
	return world.Applied
}
