package stateful_test

import (
	"context"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

type verb int

const (
	verbAnswer verb = iota
	verbCreate
	verbDestroy
	verbSet
	verbAdd
	verbRemove
	verbExchange
	verbSend
	verbFlag
	verbUnflag
	verbMove
	verbCall
	verbAsk
	verbQuestion
	verbDeal
	verbCopy // from here on for systems alone
	verbPort
	verbLoop
	verbs
)

// order is an operation that was drawn, for a port or for a system to do in a tick.
type order struct {
	verb  verb
	pick  int // of the known handles
	i     int // component or bundle
	take  parts
	value int64
	waits bool
	then  *order // what a port does, meanwhile
}

// draw draws what a port may do.
func (m *machine) draw() order {
	o := order{verb: verb(m.n(int(verbCopy))), pick: m.n(128), i: m.n(partsN), value: m.next(), waits: m.n(3) == 0}
	if o.verb == verbExchange {
		o.take = parts(m.n(32))
	}
	return o
}

// atOnce reports whether it is done at once by the owner.
func (o order) atOnce() bool {
	switch o.verb {
	case verbSet, verbFlag, verbUnflag:
		return true
	}
	return false
}

// h is the handle that the order is about, when it is done.
func (o order) h(m *machine) handle.Handle {
	if i := o.pick % (len(m.known) + 1); i < len(m.known) {
		return m.known[i]
	}
	return m.forged(o.pick % 2)
}

// tick draws what the systems are to do, and makes a tick.
func (m *machine) tick() {
	for s := range m.script {
		m.script[s] = m.script[s][:0]
		for range m.n(8) {
			o := m.draw()
			switch m.n(8) {
			case 0:
				o.verb = verbCopy
			case 1, 2:
				if len(m.ports) > 0 {
					then := o
					o = order{verb: verbPort, i: m.n(len(m.ports)), then: &then}
				}
			case 3:
				o.verb = verbLoop
			}
			m.script[s] = append(m.script[s], o)
			m.total.operations++
		}
	}
	clear(m.heard)
	order := m.order()
	m.mustPanic(m.ticks.Step(context.Background()))
	m.mustHear()
	m.settle(order)
}

// mustHear compares the messages that the systems heard in a tick, of each entity in
// the order in which they were sent.
func (m *machine) mustHear() {
	mustBe(m, len(m.heard), len(m.naive.hits), "entities with messages", 0)
	for h, want := range m.naive.hits {
		got := m.heard[h]
		mustBe(m, len(got), len(want), "number of messages", h)
		if e := m.naive.entities[h]; e != nil && e.misrouted { // messages came after it, behind newer ones
			slices.Sort(got)
			want = slices.Sorted(slices.Values(want))
		}
		for i := range want {
			mustBe(m, got[i], want[i], "a message", h)
		}
	}
}

// doScript is the system that does what was drawn, on each shard.
func (m *machine) doScript(b *world.Build) func(*world.Context) {
	s := &system{machine: m, hits: world.Receive[Hit](b), all: b.Query()}
	for i, p := range m.parts {
		s.own[i] = p.ask(b, true)
	}
	for _, x := range m.bundles {
		b.Creates(x.part)
	}
	return func(c *world.Context) {
		s.Context = c
		for _, e := range s.hits.All() {
			// It can have died after it was delivered.
			mustBe(m, c.Owns(e.To), m.naive.alive(e.To) != nil, "a message", e.To)
			m.heard[e.To] = append(m.heard[e.To], e.Body.N)
		}
		for _, o := range m.script[c.Shard()] {
			s.do(o, o.h(m))
		}
	}
}

// system is the system on one shard.
type system struct {
	*machine
	*world.Context
	own  [partsN]look
	hits *world.Receiver[Hit]
	all  *world.Query
}

func (s *system) do(o order, h handle.Handle) {
	m, c := s.machine, s.Context
	e, owns := m.naive.alive(h), c.Owns(h)
	if e != nil && e.shard != nowhere {
		mustBe(m, owns, e.shard == c.Shard(), "Owns", h)
	}
	sender := m.naive.ports + c.Shard()
	hidden := e != nil && e.hidden && !owns
	if hidden {
		e = nil
	}
	switch {
	case o.verb == verbAnswer || o.verb == verbAsk || o.verb == verbQuestion:
		s.answer(h, e, owns, hidden)
	case o.verb == verbCreate:
		if len(m.naive.entities) < m.most {
			m.createBy(c, m.bundles[o.i%len(m.bundles)])
		}
	case o.verb == verbCopy:
		if !owns {
			e = nil
		}
		twin, err := world.Copy(c, h)
		m.copied(twin, err, e, h)
		if made := m.naive.entities[twin]; made != nil {
			made.hidden = true
		}
	case o.verb == verbPort:
		m.portDoes(m.ports[o.i], *o.then)
	case o.verb == verbLoop:
		s.loop(o)
	case o.verb == verbDeal:
		q, err := m.request(c, o, h)
		m.sent(c, sender, err, q)
	case e == nil:
		_, err := m.request(c, o, h)
		mustErr(m, err, world.ErrStale, "a system's request", h)
	case owns && o.verb == verbDestroy:
		mustErr(m, c.Destroy(h), nil, "Destroy by a system", h)
		m.naive.destroy(e)
	case owns && o.atOnce(): // at once
		q, err := m.request(c, o, h)
		marked := e.marked
		e.marked = false // it can be changed until it goes
		mustErr(m, err, errorOf(q.do()), "a system's change", h)
		e.marked = marked
	default:
		q, err := m.request(c, o, h)
		m.sent(c, sender, err, q)
	}
}

// answer asks what a system may ask of a handle.
func (s *system) answer(h handle.Handle, e *entity, owns, hidden bool) {
	m, c := s.machine, s.Context
	mustBe(m, c.Alive(h), e != nil, "Alive by a system", h)
	switch status := c.Status(h); {
	case hidden:
		mustBe(m, status, world.Unused, "Status by a system", h)
	case status == world.Forged && m.naive.status(h) == world.Pending: // drawn since the last refresh
	default:
		m.mustTell(status, h, owns)
	}
	if owns {
		mustBe(m, world.FlagsOf(c, h), e.flags, "Flags by a system", h)
	}
	mustBe(m, c.Locate(h) != 0 || e == nil || !owns, true, "Locate by a system", h)
	for i, p := range m.parts {
		has := owns && e.has.has(i)
		mustBe(m, c.Has(h, p.component), has, "Has by a system", h)
		v, ok := s.own[i].get(h)
		mustBe(m, ok, has, "component in a system", h)
		if has {
			mustBe(m, v, e.value[i], "component in a system", h)
		}
	}
}

// loop walks the shard's atoms, and creates and destroys meanwhile: the loop sees who
// was there when it began.
func (s *system) loop(o order) {
	m, c, seen := s.machine, s.Context, 0
	want := 0
	for h, e := range m.naive.entities {
		if !e.pending && c.Owns(h) {
			want++
		}
	}
	for ch := range s.all.Chunks() {
		for i, h := range ch.Handles() {
			seen++
			e := m.naive.alive(h)
			if e == nil || !c.Owns(h) {
				m.fail("a system's loop finds %v", h)
			}
			for k := range partsN {
				v, ok := s.own[k].slice(ch, i)
				mustBe(m, ok, e.has.has(k), "component in a loop", h)
				if ok {
					mustBe(m, v, e.value[k], "component in a loop", h)
				}
			}
			if seen%8 == o.pick%8 {
				mustErr(m, c.Destroy(h), nil, "Destroy in a loop", h)
				m.naive.destroy(e)
			}
		}
		if o.waits && len(m.naive.entities) < m.most {
			m.createBy(c, m.bundles[o.i%len(m.bundles)])
		}
	}
	mustBe(m, seen, want, "number of atoms in a system's loop", 0)
}

// watch is a system that reads all shards, when all have acted.
func (m *machine) watch(b *world.Build) func(*world.Context) {
	var foreign [partsN]func(handle.Handle) (int64, bool)
	for i, p := range m.parts {
		foreign[i] = p.foreign(b)
	}
	return func(c *world.Context) {
		if len(m.script[c.Shard()]) == 0 {
			return
		}
		h := m.script[c.Shard()][0].h(m)
		e := m.naive.alive(h)
		for i := range partsN {
			v, ok := foreign[i](h)
			mustBe(m, ok, e != nil && e.has.has(i), "component, foreign", h)
			if ok {
				mustBe(m, v, e.value[i], "component, foreign", h)
			}
		}
	}
}
