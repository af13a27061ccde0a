package stateful_test

import (
	"math/bits"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// refresh settles the idle world.
func (m *machine) refresh() {
	order := m.order()
	m.Refresh()
	m.settle(order)
}

// clear destroys everybody.
func (m *machine) clear() {
	if m.n(8) > 0 { // rarely: it leaves nobody
		return
	}
	m.Clear()
	m.naive.clear()
	m.compare()
}

// wear uses one slot again and again, for its versions to be used up: the slot that was
// freed last is the first to be given.
func (m *machine) wear() {
	b := m.bundles[m.n(len(m.bundles))]
	most := 1 + m.n(int(m.options.VersionMax)/2+10)
	for i := range most {
		h, err := b.create(m.World, 1)
		if m.fullIndexes(err) {
			if i == 0 {
				return
			}
			break
		}
		m.born(h, b.parts, alike(1), false)
		mustBe(m, m.Destroy(h), m.naive.destroy(m.naive.alive(h)) == world.Applied, "Destroy", h)
		m.Refresh()
		m.naive.refresh()
		m.total.operations += 3
	}
	m.compare() // after each refresh, in which the naive world learns where atoms are
	m.forget()
}

// settle ends a refresh: the naive world does the same, and both are compared.
func (m *machine) settle(before []handle.Handle) {
	moved := slices.ContainsFunc(m.naive.requests, func(q request) bool { return q.moves })
	m.naive.refresh()
	m.total.ticks++
	if m.options.KeepOrder && !moved {
		m.mustKeepOrder(before)
	}
	m.compare()
	m.forget()
}

// order is the order in which a query finds everybody, if a refresh is to keep it.
func (m *machine) order() (all []handle.Handle) {
	if m.options.KeepOrder {
		for ch := range m.all.Chunks() {
			all = append(all, ch.Handles()...)
		}
	}
	return all
}

// mustKeepOrder checks that those who are still found are so in the same order.
func (m *machine) mustKeepOrder(before []handle.Handle) {
	after := m.order()
	kept := func(all, in []handle.Handle) []handle.Handle {
		found := map[handle.Handle]bool{}
		for _, h := range in {
			found[h] = true
		}
		return slices.DeleteFunc(slices.Clone(all), func(h handle.Handle) bool { return !found[h] })
	}
	if b, a := kept(before, after), kept(after, before); !slices.Equal(b, a) {
		m.fail("a refresh did not keep the order: %v became %v", b, a)
	}
}

// compare checks that the world is what the naive one says, all of it. Of what changed
// in which tick it asks one of the last ticks each time.
func (m *machine) compare() {
	n := m.naive
	mustBe(m, m.Tick(), n.tick, "Tick", 0)
	mustBe(m, m.Count(), len(n.entities), "Count", 0)
	for h, e := range n.entities {
		mustBe(m, m.Status(h), world.Alive, "Status", h)
		mustBe(m, m.Alive(h), true, "Alive", h)
		mustBe(m, world.FlagsOf(m.World, h), e.flags, "Flags", h)
		m.mustBeAt(h, e)
		for i, p := range m.parts {
			v, ok := p.idle.get(h)
			mustBe(m, ok, e.has.has(i), "component", h)
			if ok {
				mustBe(m, v, e.value[i], "component", h)
			}
		}
	}
	for _, l := range m.lookers {
		m.mustTellChanges(l, n.tick-min(n.tick, n.tick%agoMax))
	}
	m.mustTellHooks()
	m.mustBeStale(n.dead[m.checked:])
	m.checked = len(n.dead)
	for _, p := range m.promised {
		m.mustKeep(p)
	}
	m.promised = m.promised[:0]
	for _, p := range m.ports {
		mustBe(m, p.Waiting(), 0, "Waiting", 0)
	}
	s := &m.stats
	m.Stats(s)
	mustBe(m, [6]uint64{0, s.Applied, s.Gone, s.Missing, s.Refused, s.Failed}, n.outcomes, "outcomes", 0)
	mustBe(m, s.Created, n.made, "entities created", 0)
	mustBe(m, s.Destroyed, n.gone, "entities destroyed", 0)
	mustBe(m, s.Entities, len(n.entities), "entities", 0)
	mustBe(m, s.Rejected, n.rejected, "requests rejected", 0)
	mustBe(m, s.Retired, n.retired, "slots retired", 0)
}

// mustKeep checks what was promised to who waits.
func (m *machine) mustKeep(p *promise) {
	mustBe(m, p.done.Outcome(), p.want, "outcome", 0)
	if p.value != nil {
		v, ok := p.value()
		mustBe(m, ok, p.want == world.Applied, "an answer", 0)
		mustBe(m, v, p.answer, "an answer", 0)
	}
}

// mustBeStale checks the dead.
func (m *machine) mustBeStale(dead []handle.Handle) {
	for _, h := range dead {
		mustBe(m, m.Status(h), world.Stale, "Status", h)
		mustBe(m, m.Alive(h), false, "Alive", h)
		mustBe(m, world.FlagsOf(m.World, h), 0, "Flags", h)
		if m.Locate(h) != 0 {
			m.fail("%v, which died, is found", h)
		}
	}
}

// end checks all who ever died, whatever became of their slots.
func (m *machine) end() {
	m.refresh()
	m.mustBeStale(m.naive.dead)
	m.close()
	m.total.destroyed += len(m.naive.dead)
	m.total.retired[bits.Len32(m.options.VersionMax)] += m.naive.retired
}
