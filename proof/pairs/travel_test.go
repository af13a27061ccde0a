package pairs_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// What entities say at the gates. Each gate has a type of its own.
type (
	Fare struct{ N int64 } // the gate that leads abroad
	Toll struct{ N int64 } // one that nobody has there
	Levy struct{ N int64 } // one that has another form there
	levy struct{ N, More int64 }
)

// The worlds. Nobody carries to the last one.
const (
	home     transit.World = 1
	overseas transit.World = 2
	nowhen   transit.World = 3
)

// harbour is what travels through a world.
type harbour struct {
	roads *transit.Roads
	send  []func(by world.Actor, h handle.Handle, to transit.World, n int64) error
}

const gatesN = 3

// itemsMax is how many items a harbour takes, now and then.
const itemsMax = 25

func newHarbour(o *objects, r *transit.Roads) *harbour {
	x := &harbour{roads: r}
	o.made["harbour"] = x
	return x
}

// openGate adds a gate, and systems that note what is said at it.
func openGate[G any](o *objects, x *harbour, name string, body func(n int64) G, number func(G) int64) *transit.Gate[G] {
	g := transit.RegisterGate[G](x.roads, name)
	x.send = append(x.send, func(by world.Actor, h handle.Handle, to transit.World, n int64) error {
		return g.Send(by, h, to, body(n))
	})
	hear(o, name+" arrivals", "arrived", func(m transit.Arrived[G]) int64 { return number(m.Body) })
	hear(o, name+" returns", "returned", func(m transit.Returned[G]) int64 { return number(m.Body)<<8 | int64(m.Why) })
	return g
}

func harbourOf(o *objects) *harbour { return o.made["harbour"].(*harbour) }

// passage is the argument of the transaction that sends.
type passage struct {
	H    handle.Handle
	To   transit.World
	N    int64
	Gate int
}

// travel sends entities to another world, which takes them in, sends some home, and refuses others; see
// abroad. Carriers come between ticks.
func travel() *feature {
	return &feature{
		name: "travel", rate: 40, by: byAny,
		prepare: func(o *objects) {
			options := transit.Options{World: home, Codecs: o.codecs}
			if o.seed%3 == 0 {
				options.Max = itemsMax
			}
			x := newHarbour(o, transit.New(o.World, "roads", options))
			openGate(o, x, "gate", func(n int64) Fare { return Fare{n} }, func(v Fare) int64 { return v.N })
			openGate(o, x, "toll", func(n int64) Toll { return Toll{n} }, func(v Toll) int64 { return v.N })
			openGate(o, x, "levy", func(n int64) Levy { return Levy{n} }, func(v Levy) int64 { return v.N })
			o.made["embark"] = world.RegisterTransaction(o.World, "embark", o.embark)
		},
		draw: func(d *drawer) *act {
			p := passage{H: d.someone(), To: overseas, N: d.next()}
			if d.n(10) == 0 {
				p.To = nowhen
			}
			if d.n(5) == 0 {
				p.Gate = d.n(gatesN)
			}
			if d.n(4) == 0 {
				return embark(p)
			}
			return depart(p)
		},
		between: func(s *scene) {
			if s.abroad == nil {
				s.abroad = newAbroad(s)
			}
			s.abroad.visit()
		},
		check: func(s *scene) { s.mustTravel() },
	}
}

// depart is the act of sending an entity.
func depart(p passage) *act {
	a := on("depart", p.H, func(o *objects, by world.Actor, h handle.Handle) error {
		if c, ok := by.(*world.Context); ok && !c.Alive(h) { // as for other acts
			return world.ErrStale
		}
		return harbourOf(o).send[p.Gate](by, h, p.To, p.N)
	}, func(m *model, e *entity) world.Outcome {
		why := m.mayLeave(e)
		switch {
		case why == 0:
			m.leave(e, p)
		case m.atOnce:
			return world.Refused
		default:
			m.comeBack(p.H, p.N, why)
		}
		return world.Applied
	})
	a.joint, a.last, a.moves = true, true, true
	a.refuses = func(m *model, e *entity, err error) bool {
		return errors.Is(err, transit.ErrAway) && e.away != nil || errors.Is(err, transit.ErrFull) && m.travel.items >= m.travel.max
	}
	return a
}

// embark is the act of a transaction that changes an entity and sends it, or fails behind that.
func embark(p passage) *act {
	a := on("embark", p.H, func(o *objects, by world.Actor, h handle.Handle) error {
		if c, ok := by.(*world.Context); ok && !c.Alive(h) {
			return world.ErrStale
		}
		return o.made["embark"].(*world.Transaction[passage, struct{}]).Call(by, p)
	}, func(m *model, e *entity) world.Outcome {
		if m.mayLeave(e) != 0 || p.N%3 == 0 {
			return world.Refused
		}
		stored := e.stored
		m.exchange(e, 1, 0, alike(p.N))
		m.leave(e, p)
		e.stored = stored // what it sets and then takes along is never set
		return world.Applied
	})
	a.joint, a.moves = true, true
	return a
}

// embark is the transaction.
func (o *objects) embark(tx *world.Tx, p passage) (struct{}, error) {
	err := o.parts[0].add(tx, p.H, p.N)
	if err == nil {
		err = harbourOf(o).send[p.Gate](tx, p.H, p.To, p.N)
	}
	if err == nil && p.N%3 == 0 {
		err = errRefused
	}
	return struct{}{}, err
}

// travels is what the model knows of travel.
type travels struct {
	max     int                         // items
	items   int                         // under way
	voyages map[transit.World][]*voyage // all that ever began, in order
	acked   uint64                      // of those that went abroad
	last    uint64                      // of those that come from there
	loose   map[int64]bool              // timers of one of several entities
	posts   []post                      // for the next tick
	due     []post                      // for this one
}

// post is a message to somebody who has arrived, or is back.
type post struct {
	what string
	h    handle.Handle
	v    int64
}

func (p post) compare(q post) int {
	return cmp.Or(cmp.Compare(p.what, q.what), p.h.Compare(q.h), cmp.Compare(p.v, q.v))
}

// voyage is an item of a harbour: an entity that leaves, with all that goes along.
type voyage struct {
	passage
	n       uint64  // of the item
	all     []*soul // the first is the root
	decided bool
	why     transit.Reason
	over    bool
}

// soul is all that an entity takes along.
type soul struct {
	h      handle.Handle // what it was, or is
	has    parts
	value  values
	flags  world.Flags
	named  bool
	name   int64
	bound  bool
	bond   handle.Handle
	timers []sand
	kids   []*soul
}

// sand is a timer and how many ticks are left.
type sand struct {
	n    int64
	left uint64
}

// each calls f for a soul and all below it.
func (x *soul) each(f func(x *soul)) {
	f(x)
	for _, k := range x.kids {
		k.each(f)
	}
}

// texts describes souls, by handle, without handles.
func (x *soul) texts(ordered bool) map[handle.Handle]string {
	short, all := map[handle.Handle]string{}, map[handle.Handle]string{}
	x.each(func(x *soul) {
		short[x.h] = fmt.Sprintf("%05b %v flags %b", x.has, x.value, x.flags)
		if x.named {
			short[x.h] += fmt.Sprintf(" name %d", x.name)
		}
	})
	var write func(x *soul) string
	write = func(x *soul) string {
		t := short[x.h]
		if to, ok := short[x.bond]; x.bound {
			t += fmt.Sprintf(" bond %v (%s)", ok, to)
		}
		var kids []string
		for _, k := range x.kids {
			kids = append(kids, write(k))
		}
		if !ordered {
			slices.Sort(kids)
		}
		all[x.h] = t + " {" + strings.Join(kids, ", ") + "}"
		return all[x.h]
	}
	write(x)
	return all
}

// match gives the timers of one soul and all below it to another, which is the same elsewhere. It
// returns how they differ. If two children cannot be told apart, their timers become loose.
func match(from, to *soul, ordered bool, loose map[int64]bool) string {
	ofs, tos := from.texts(ordered), to.texts(ordered)
	if a, b := ofs[from.h], tos[to.h]; a != b {
		return fmt.Sprintf("it was %s, and is %s", a, b)
	}
	var pair func(from, to *soul)
	pair = func(from, to *soul) {
		to.timers = from.timers
		left := slices.Clone(to.kids)
		for _, k := range from.kids {
			same := func(x *soul) bool { return tos[x.h] == ofs[k.h] }
			i := slices.IndexFunc(left, same)
			pair(k, left[i])
			if left = slices.Delete(left, i, i+1); !ordered && slices.ContainsFunc(left, same) {
				from.each(func(x *soul) {
					for _, t := range x.timers {
						loose[t.n] = true
					}
				})
			}
		}
	}
	pair(from, to)
	return ""
}

// mayLeave returns why an entity cannot leave, or 0.
func (m *model) mayLeave(e *entity) transit.Reason {
	switch {
	case m.travel.items >= m.travel.max:
		return transit.Full
	case e == nil || e.marked:
		return transit.Gone
	case e.away != nil:
		return transit.Away
	}
	return 0
}

// leave makes an entity, with all below it, away.
func (m *model) leave(e *entity, p passage) {
	v := &voyage{passage: p, n: uint64(len(m.travel.voyages[p.To]) + 1)}
	m.travel.voyages[p.To] = append(m.travel.voyages[p.To], v)
	m.travel.items++
	by := map[handle.Handle]*soul{}
	take := func(e *entity) {
		x := &soul{h: e.h, has: e.has, value: e.value, flags: e.flags, named: e.named, name: e.name, bound: e.bound, bond: e.bond}
		for i := range partsN {
			if !x.has.has(i) {
				x.value[i] = 0
			}
		}
		by[e.h], v.all = x, append(v.all, x)
	}
	take(e)
	for i := 0; i < len(v.all); i++ {
		for _, h := range m.entities[v.all[i].h].children {
			if k := m.entities[h]; !k.marked && k.away == nil {
				take(k)
				v.all[i].kids = append(v.all[i].kids, by[h])
			}
		}
	}
	for n, x := range m.timed {
		if of := by[x.h]; of != nil && x.due > m.tick {
			of.timers = append(of.timers, sand{n, x.due - m.tick})
			delete(m.timed, n)
		}
	}
	for _, x := range v.all {
		e := m.entities[x.h]
		e.has, e.flags, e.bound, e.bond, e.away = 0, 0, false, handle.None, v
	}
}

// comeBack is the message to who is back, or could not leave.
func (m *model) comeBack(h handle.Handle, n int64, why transit.Reason) {
	if e := m.alive(h); e == nil || e.marked {
		h = handle.None
	}
	m.travel.posts = append(m.travel.posts, post{"returned", h, n<<8 | int64(why)})
}

// settleUpTo ends voyages as the other world has decided.
func (m *model) settleUpTo(acked uint64) {
	for _, v := range m.travel.voyages[overseas][m.travel.acked:acked] {
		v.over = true
		m.travel.items--
		for _, x := range v.all {
			e := m.entities[x.h]
			if v.why == 0 {
				e.marked, e.spared = true, false
				continue
			}
			if e.away = nil; e.marked {
				e.marked, e.spared = false, true
			}
			m.exchange(e, x.has, 0, x.value)
			e.flags |= x.flags
			if x.bound {
				e.bound, e.bond = true, x.bond
			}
			for _, t := range x.timers {
				m.timed[t.n] = timed{x.h, m.tick + t.left}
			}
		}
		if v.why != 0 {
			m.comeBack(v.H, v.N, v.why)
		}
	}
	m.travel.acked = acked
}

// guarded reports whether an entity may come back, and left whether it does not.
func (e *entity) guarded() bool { return e.away != nil && !e.away.over }
func (e *entity) left() bool    { return e.away != nil && e.away.over }

// spareAway keeps those alive that may come back.
func (m *model) spareAway() {
	for _, e := range m.entities {
		if e.marked && e.guarded() {
			e.marked, e.cancelled, e.spared = false, false, true
		}
	}
}

// mustTravel compares what is away, and what was said to whom has come.
func (s *scene) mustTravel() {
	r, t := harbourOf(s.objects).roads, &s.model.travel
	for h, e := range s.model.entities {
		to, n, ok := r.Away(s.World, h)
		if ok != (e.away != nil) || ok && (to != e.away.To || n != e.away.n) {
			s.fail("%v is away: %t, to world %d by item %d, by the model %+v", h, ok, to, n, e.away)
		}
	}
	var got []post
	for _, notes := range s.notes {
		for _, n := range notes {
			if n.what == "arrived" || n.what == "returned" {
				got = append(got, post{n.what, n.h, n.v})
			}
		}
	}
	mustPost(s, "at home", got, t.due)
	to := r.Channel(overseas)
	s.must(to.Acked == t.acked && to.Next == uint64(len(t.voyages[overseas])+1), "%d items were sent and %d are settled, by the model %d and %d", to.Next-1, to.Acked, len(t.voyages[overseas]), t.acked)
	s.must(to.Last == t.last, "%d items have come, by the model %d", to.Last, t.last)
	s.see("under way", 0, mix(to.Next, to.Acked))
}

func mustPost(s *scene, where string, got, want []post) {
	slices.SortFunc(got, post.compare)
	slices.SortFunc(want, post.compare)
	s.must(slices.Equal(got, want), "%s travellers were told %v, by the model %v", where, got, want)
}

// soulOf returns what there is of an entity in a world, and of all below it.
func soulOf(o *objects, h handle.Handle) *soul {
	x := &soul{h: h, flags: world.FlagsOf(o.World, h)}
	for i, p := range o.parts {
		if p == nil {
			continue
		}
		if v, ok := p.reader(o.World)(h); ok {
			x.has |= 1 << i
			x.value[i] = v
		}
	}
	if b := world.Read[Bond](o.World).Get(h); b != nil {
		x.bound, x.bond = true, b.To
	}
	if n, ok := o.made["names"].(*names.Names[int64]); ok {
		x.name, x.named = n.NameOf(h)
	}
	if p, ok := o.made["policy"].(policy); ok {
		for k := range p.Read(o.World).Each(h) {
			x.kids = append(x.kids, soulOf(o, k))
		}
	}
	return x
}

// mustLeave checks that only those are left in a world that was cleared who may come back, and has them
// come back, or forgets them.
func (s *scene) mustLeave() {
	x, ok := s.made["harbour"].(*harbour)
	if !ok {
		return
	}
	for ch := range s.Query().Chunks() {
		for _, h := range ch.Handles() {
			_, _, is := x.roads.Away(s.World, h)
			s.must(is || s.model.policy == hierarchy.SpareParent, "%v is left in a world that was cleared", h)
		}
	}
	away, how := s.Count(), transit.Return+transit.Resolution(s.n(3))
	switch how {
	case transit.Return, transit.Drop:
		for _, to := range x.roads.Peers() {
			_, err := x.roads.Resolve(context.Background(), s.World, to, how)
			s.must(err == nil, "Resolve: %v", err)
		}
		s.must(how == transit.Drop || s.Count() == away, "%d are back, of %d", s.Count(), away)
	default:
		s.mustArrive()
		_, err := x.roads.Resolve(context.Background(), s.World, nowhen, transit.Drop)
		s.must(err == nil, "Resolve: %v", err)
	}
	s.Refresh()
	for range 20 {
		s.Clear()
	}
}
