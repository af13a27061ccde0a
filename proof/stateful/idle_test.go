package stateful_test

import (
	"errors"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// What the world does between ticks, at once.

func (m *machine) create() {
	if len(m.naive.entities) < m.most {
		m.createBy(m.World, m.bundles[m.n(len(m.bundles))])
	}
}

// createBy creates as a World, or as a system in its shard.
func (m *machine) createBy(by world.Actor, b *bundle) {
	v := m.next()
	h, err := b.create(by, v)
	if m.fullIndexes(err) {
		mustBe(m, h, handle.None, "a refused create", h)
		return
	}
	m.born(h, b.parts, alike(v), false)
	_, m.naive.entities[h].hidden = by.(*world.Context)
}

func (m *machine) createSome() {
	b, count, first := m.bundles[m.n(len(m.bundles))], m.n(20), m.number+1
	if m.n(20) == 0 { // enough to need another chunk
		count *= 10
	}
	if len(m.naive.entities) >= m.most {
		return
	}
	m.number += int64(count)
	hs, err := b.appendN(nil, m.World, count, first)
	if !m.fullIndexes(err) && len(hs) != count {
		m.fail("%d of %d were created", len(hs), count)
	}
	for i, h := range hs {
		m.born(h, b.parts, alike(first+int64(i)), false)
	}
}

// createRows fills some components and leaves the others zero.
func (m *machine) createRows() {
	if len(m.naive.entities) >= m.most {
		return
	}
	b, count, fill, v, made := m.bundles[m.n(len(m.bundles))], m.n(20), parts(m.n(32)), m.next(), 0
	err := b.rows(count, func(rows world.Chunk) {
		var has values
		for i := range partsN {
			if b.parts.has(i) && fill.has(i) {
				m.parts[i].idle.fill(rows, v)
				has[i] = alike(v)[i]
			}
		}
		for _, h := range rows.Handles() {
			m.born(h, b.parts, has, false)
		}
		made += rows.Len()
	})
	if !m.fullIndexes(err) && made != count {
		m.fail("%d rows of %d were created", made, count)
	}
}

func (m *machine) reserve() {
	if err := m.bundles[m.n(len(m.bundles))].reserve(m.n(100)); err != nil && !errors.Is(err, world.ErrIndexes) {
		m.fail("reserving: %v", err)
	}
}

func (m *machine) copy() {
	h := m.any()
	twin, err := world.Copy(m.World, h)
	m.copied(twin, err, m.naive.alive(h), h)
}

// copied takes note of a copy: it has the values.
func (m *machine) copied(twin handle.Handle, err error, of *entity, h handle.Handle) {
	if of == nil {
		mustErr(m, err, world.ErrStale, "Copy", h)
		return
	}
	if !m.fullIndexes(err) {
		m.born(twin, of.has, of.value, false)
	}
}

func (m *machine) destroy() {
	h := m.any()
	mustBe(m, m.Destroy(h), m.naive.destroy(m.naive.alive(h)) == world.Applied, "Destroy", h)
}

func (m *machine) set() {
	h, i, v := m.any(), m.n(partsN), m.next()
	m.atOnce(m.parts[i].set(m.World, h, v), m.naive.set(m.naive.alive(h), i, v), "Set", h)
}

func (m *machine) add() {
	h, i, v := m.any(), m.n(partsN), m.next()
	m.atOnce(m.parts[i].add(m.World, h, v), m.naive.add(m.naive.alive(h), i, v), "Add", h)
}

func (m *machine) remove() {
	h, i := m.any(), m.n(partsN)
	m.atOnce(m.parts[i].remove(m.World, h), m.naive.remove(m.naive.alive(h), i), "Remove", h)
}

func (m *machine) exchange() {
	h, b, take, v := m.any(), m.bundles[m.n(len(m.bundles))], parts(m.n(32)), m.next()
	err := b.exchange(m.World, h, v, m.these(take)...)
	m.atOnce(err, m.naive.exchange(m.naive.alive(h), b.parts, take, v), "Exchange", h)
}

func (m *machine) send() {
	h, v := m.any(), m.next()
	m.atOnce(m.hit.Send(m.World, h, Hit{v}), m.naive.send(m.naive.alive(h), h, v), "Send", h)
}

func (m *machine) atOnce(err error, want world.Outcome, what string, h handle.Handle) {
	mustErr(m, err, errorOf(want), what, h)
}

// these lists components.
func (m *machine) these(set parts) []world.ComponentSet {
	var all []world.ComponentSet
	for i, p := range m.parts {
		if set.has(i) {
			all = append(all, p.component)
		}
	}
	return all
}

// ask asks all that can be asked of one handle.
func (m *machine) ask() {
	h := m.any()
	e := m.naive.alive(h)
	mustBe(m, m.Alive(h), e != nil, "Alive", h)
	mustBe(m, m.Locate(h) != 0, e != nil, "Locate", h)
	if m.naive.given[h] {
		mustBe(m, m.Status(h), m.naive.status(h), "Status", h)
	}
	m.mustHave(h, e)
}

// mustHave compares the components of an entity; e is nil if it is not alive.
func (m *machine) mustHave(h handle.Handle, e *entity) {
	for i, p := range m.parts {
		v, ok := p.idle.get(h)
		if e == nil || !e.has.has(i) {
			mustBe(m, ok, false, "has component", h)
			mustBe(m, m.Has(h, p.component), false, "Has", h)
			continue
		}
		mustBe(m, v, e.value[i], "component", h)
		mustBe(m, m.Has(h, p.component), true, "Has", h)
	}
}
