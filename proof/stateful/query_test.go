package stateful_test

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// looker is a query and what the naive world makes of it.
type looker struct {
	q                    *world.Query
	with, without, anyOf parts
	accessed             parts
	flagged, unflagged   world.Flags
}

// newLooker draws a query: for each component whether it is required, refused,
// optional or one of several, and whether it is read.
func (m *machine) newLooker() looker {
	var l looker
	var terms, several []world.Term
	for i, p := range m.parts {
		bit := parts(1) << i
		switch m.n(10) {
		case 0:
			l.with |= bit
			terms = append(terms, p.with(m.World))
		case 1:
			l.with |= bit
			l.accessed |= bit
			terms = append(terms, p.idle.term)
		case 2:
			l.without |= bit
			terms = append(terms, p.without(m.World))
		case 3:
			l.accessed |= bit
			terms = append(terms, world.Optional(p.idle.term))
		case 4:
			l.anyOf |= bit
			l.accessed |= bit
			several = append(several, p.idle.term)
		case 5:
			l.anyOf |= bit
			several = append(several, p.with(m.World))
		}
	}
	if len(several) > 0 {
		terms = append(terms, world.AnyOf(several...))
	}
	if f := world.Flags(m.n(4)); f != 0 && m.n(3) == 0 {
		l.flagged, terms = f, append(terms, world.WithFlags(m.World, f))
	}
	if f := world.Flags(4 * m.n(4)); f != 0 && m.n(3) == 0 {
		l.unflagged, terms = f, append(terms, world.WithoutFlags(m.World, f))
	}
	l.q = m.Query(terms...)
	return l
}

// reading is a query that reads components, which may be missing, of everybody.
func (m *machine) reading(set parts) looker {
	l := looker{accessed: set}
	var terms []world.Term
	for i, p := range m.parts {
		if set.has(i) {
			terms = append(terms, world.Optional(p.idle.term))
		}
	}
	l.q = m.Query(terms...)
	return l
}

// matches is what the query asks of the components.
func (l looker) matches(e *entity) bool {
	return !e.pending && e.has&l.with == l.with && e.has&l.without == 0 && (l.anyOf == 0 || e.has&l.anyOf != 0)
}

// yields is matches for those that have the flags.
func (l looker) yields(e *entity) bool {
	return l.matches(e) && e.flags&l.flagged == l.flagged && e.flags&l.unflagged == 0
}

func (m *machine) look()      { m.mustSee(m.newLooker()) }
func (m *machine) lookAgain() { m.mustSee(m.lookers[m.n(len(m.lookers))]) }

// mustSee compares all that a query yields.
func (m *machine) mustSee(l looker) {
	want := 0
	for _, e := range m.naive.entities {
		if l.yields(e) {
			want++
		}
	}
	mustBe(m, l.q.Count(), want, "Query.Count", 0)
	seen := map[handle.Handle]bool{}
	for ch := range l.q.Chunks() {
		for i, h := range ch.Handles() {
			e := m.naive.alive(h)
			if e == nil || seen[h] || !l.yields(e) {
				m.fail("a query yields %v: %+v, seen before %t", h, e, seen[h])
			}
			seen[h] = true
			m.mustBeRow(ch, i, h, e)
		}
	}
	mustBe(m, len(seen), want, "number of atoms in a query", 0)
}

func (m *machine) mustBeRow(ch world.Chunk, i int, h handle.Handle, e *entity) {
	mustBe(m, ch.Handle(i), h, "Handle", h)
	for k, p := range m.parts {
		v, ok := p.idle.slice(ch, i)
		mustBe(m, ok, e.has.has(k), "component in a chunk", h)
		if ok {
			mustBe(m, v, e.value[k], "component in a chunk", h)
		}
	}
}

// since asks what changed.
func (m *machine) since() {
	tick := m.naive.tick - min(uint64(m.n(agoMax)), m.naive.tick)
	m.mustTellChanges(m.newLooker(), tick)
	for _, l := range m.lookers {
		m.mustTellChanges(l, tick)
	}
}

// mustTellChanges checks that no change is missing. Chunks are told whole, so there may
// be more.
func (m *machine) mustTellChanges(l looker, tick uint64) {
	seen := map[handle.Handle]bool{}
	for ch := range l.q.ChunksSince(tick) {
		for _, h := range ch.Handles() {
			if seen[h] || m.naive.entities[h] == nil || !l.yields(m.naive.entities[h]) {
				m.fail("ChunksSince yields %v", h)
			}
			seen[h] = true
		}
	}
	for h, e := range m.naive.entities {
		if l.yields(e) && e.changedSince(tick, l.accessed) && !seen[h] {
			m.fail("ChunksSince(%d) in tick %d lacks %v: %+v", tick, m.naive.tick, h, e)
		}
	}
}

func (e *entity) changedSince(tick uint64, accessed parts) bool {
	for i := range partsN {
		if accessed.has(i) && e.has.has(i) && e.wrote[i] >= tick && e.wrote[i] > 0 {
			return true
		}
	}
	return e.came >= tick
}

// loop walks a query of the idle world, and creates, copies and destroys meanwhile.
func (m *machine) loop() {
	l, every, want, seen := m.newLooker(), 1+m.n(8), map[handle.Handle]bool{}, 0
	for h, e := range m.naive.entities {
		if l.yields(e) {
			want[h] = true
		}
	}
	for ch := range l.q.Chunks() {
		for i, h := range ch.Handles() {
			if !want[h] {
				m.fail("a loop yields %v, which was not there when it began", h)
			}
			delete(want, h)
			m.mustBeRow(ch, i, h, m.naive.entities[h])
			if seen++; seen%every == 0 {
				mustBe(m, m.Destroy(h), m.naive.destroy(m.naive.alive(h)) == world.Applied, "Destroy in a loop", h)
			}
		}
		if len(m.naive.entities) < m.most {
			m.createBy(m.World, m.bundles[every%len(m.bundles)])
		}
	}
	mustBe(m, len(want), 0, "number of atoms missing in a loop", 0)
}

// destroyQuery, addTo and removeFrom are for all that a loop would yield.

func (m *machine) destroyQuery() {
	if m.n(4) > 0 { // rarely: it leaves few
		return
	}
	l, n := m.newLooker(), 0
	for _, e := range m.naive.entities {
		if l.yields(e) && m.naive.destroy(e) == world.Applied {
			n++
		}
	}
	mustBe(m, l.q.Destroy(), n, "Query.Destroy", 0)
}

func (m *machine) addTo() {
	l, i, v := m.newLooker(), m.n(partsN), m.next()
	p, rows := m.parts[i], 0
	mustErr(m, p.addTo(l.q, func(ch world.Chunk) {
		rows += ch.Len()
		for k := range ch.Len() {
			zero, ok := p.idle.slice(ch, k)
			mustBe(m, ok && zero == 0, true, "a new component is zero", ch.Handle(k))
		}
		p.idle.fill(ch, v)
	}), nil, "AddTo", 0)
	for _, e := range m.naive.entities {
		if l.yields(e) && !e.has.has(i) {
			m.naive.add(e, i, v)
			rows--
		}
	}
	mustBe(m, rows, 0, "rows too many in AddTo", 0)
}

func (m *machine) removeFrom() {
	l, i := m.newLooker(), m.n(partsN)
	mustErr(m, m.parts[i].removeFrom(l.q), nil, "RemoveFrom", 0)
	for _, e := range m.naive.entities {
		if l.yields(e) {
			m.naive.remove(e, i)
		}
	}
}
