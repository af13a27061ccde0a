package stateful_test

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// reserve is handles that a port was given, and nobody can create yet; false if
// somebody had one of them.
func (n *naive) reserve(hs []handle.Handle) bool {
	for _, h := range hs {
		if h.IsNone() || n.given[h] {
			return false
		}
		n.given[h], n.reserved[h] = true, true
	}
	return true
}

// use makes a reserved handle that of an entity on its way.
func (n *naive) use(h handle.Handle, has parts, v values) {
	delete(n.reserved, h)
	n.entities[h] = &entity{has: has, value: v, pending: true, shard: nowhere, to: nowhere}
}

// unuse undoes use. A handle that was not reserved is stale from the next refresh on.
func (n *naive) unuse(h handle.Handle, lapses bool) {
	delete(n.entities, h)
	n.reserved[h] = true
	if lapses {
		n.lapsed = append(n.lapsed, h)
	}
}

// lapse ends the handles that went back.
func (n *naive) lapse() {
	for _, h := range n.lapsed {
		delete(n.reserved, h)
		n.end(h)
	}
	n.lapsed = n.lapsed[:0]
}

// held is a reservation.
type held struct {
	*world.Reservation
	port  *world.Port
	used  []bool
	over  bool
	until uint64 // the first tick whose refresh may revoke it
}

// revokeEach is how many ticks lie between two looks at what is reserved.
const revokeEach = 16

// revoke ends the reservations that are too old. A world looks for those now and then
// alone, and whenever a port was closed.
func (n *naive) revoke() {
	looks := n.freed || n.tick%revokeEach == 0
	n.freed = false
	if !looks {
		return
	}
	for _, x := range n.held {
		if n.tick >= x.until && !x.over {
			if slices.Contains(x.used, false) {
				n.revoked++
			}
			n.giveBack(x)
		}
	}
}

// giveBack ends a reservation: who was not used is stale from the next refresh on, or
// from the one that is under way.
func (n *naive) giveBack(x *held) {
	x.over = true
	for i, used := range x.used {
		if !used {
			n.lapsed = append(n.lapsed, x.Handle(i))
		}
	}
}

// hold reserves handles.
func (m *machine) hold() {
	if len(m.ports) == 0 || len(m.naive.held) > 5 {
		return
	}
	p := m.ports[m.n(len(m.ports))]
	count := m.n(5)
	r, err := p.Reserve(count)
	if m.fullIndexes(err) {
		return
	}
	mustBe(m, r.Len(), count, "Reservation.Len", 0)
	if !m.naive.reserve(r.Handles()) {
		m.fail("one of %v was given before", r.Handles())
	}
	m.known = append(m.known, r.Handles()...)
	until := m.naive.tick + uint64(m.options.ReserveTicks)
	m.naive.held = append(m.naive.held, &held{r, p, make([]bool, count), false, until})
}

// use creates with a reserved handle.
func (m *machine) use() {
	if len(m.naive.held) == 0 {
		return
	}
	x := m.naive.held[m.n(len(m.naive.held))]
	i := slices.Index(x.used, false)
	if i < 0 {
		return
	}
	b, h, v := m.bundles[m.n(len(m.bundles))], x.Handle(i), m.next()
	full := m.naive.waiting[x.port.Number()] == m.options.LaneRequests
	err := b.use(x.Reservation, i, v)
	if x.over && !full {
		mustErr(m, err, world.ErrRevoked, "CreateReserved", h)
		return
	}
	m.sent(x.port, x.port.Number(), err, request{create: true, do: m.storing(h)})
	if err == nil {
		x.used[i] = true
		m.naive.use(h, b.parts, alike(v))
	}
}

// storing is the request that stores an entity.
func (m *machine) storing(h handle.Handle) func() world.Outcome {
	return func() world.Outcome {
		m.naive.store(h, m.naive.entities[h])
		return world.Applied
	}
}

// release gives reserved handles back, or forgets a reservation that is over.
func (m *machine) release() {
	if len(m.naive.held) == 0 {
		return
	}
	i := m.n(len(m.naive.held))
	x := m.naive.held[i]
	x.Release() // no error, if it is over
	x.Release()
	if x.over {
		m.naive.held = slices.Delete(m.naive.held, i, i+1)
		return
	}
	m.naive.giveBack(x)
}

// letGo is what becomes of a closed port's reservations.
func (m *machine) letGo(p *world.Port) {
	m.naive.freed = true
	m.naive.held = slices.DeleteFunc(m.naive.held, func(x *held) bool {
		if x.port == p && !x.over {
			m.naive.giveBack(x)
		}
		return x.port == p
	})
}
