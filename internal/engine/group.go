package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/store"
)

// rowsOf returns the bundle of a set of components, for which there is no T. There is one for each
// set; those that Ready has not seen are in fresh. The world must be idle.
func (w *World) rowsOf(set store.Set, fresh map[store.Set]*Bundle) *Bundle {
	b := w.bundles[set]
	if b == nil {
		b = fresh[set]
	}
	if b != nil {
		return b
	}
	b = &Bundle{w: w, name: "of " + w.ComponentNames(set), set: set}
	var types []*mem.Type
	for id := range set.All {
		types = append(types, w.space.TypeOf(id))
		b.fields = append(b.fields, store.Field{Component: id})
	}
	of, offsets := mem.StructOf(types)
	for i, at := range offsets {
		b.fields[i].Offset = at
	}
	b.of, b.Plain = of, of.Plain
	fresh[set] = b
	return b
}

// Rows makes entities with certain components, for callers that do not know the types.
type Rows struct{ b *Bundle }

// Type returns the type of a struct of the components' values; Offset returns the offset of one of
// them.
func (r Rows) Type() *mem.Type { return r.b.of }

// Offset returns the offset of a component in the struct.
func (r Rows) Offset(component int) uintptr {
	for _, f := range r.b.fields {
		if f.Component == component {
			return f.Offset
		}
	}
	panic("world: a component that is not in the row")
}

// Grouping describes the entities of a group.
type Grouping struct {
	Name string
	Of   []store.Set // the components of each entity
	// Fresh has the component sets that no group had before and whose group is not Ready yet.
	// NewGroup adds to it.
	Fresh map[store.Set]bool
	// Links is how many requests of LinkSize follow the creates of a group, if the actor sends
	// requests.
	Links    int
	LinkSize uint32
}

// Making is a group that is being made.
type Making struct {
	by    Self
	shard int
	batch bool // End must end the batch
	// For the idle world: whose turn it was, and for how many entities.
	cursor, run int
	first       int // of a transaction: the number of the first entity
}

// Group makes several entities that belong together, in one shard. After a Begin that returns no
// error come Create for each entity in order, the requests, and End. Any goroutine that may use the
// actor may call the methods.
//
// Ownership: immutable.
type Group struct {
	Part
	of    []*Bundle // of each entity
	each  []groupPart
	links int
	size  uint32 // of a link

	// As a port counts it: how many requests, all of the average size.
	requests int
	average  uint32
}

// groupPart says how many entities of a group are of a bundle.
type groupPart struct {
	of *Bundle
	n  int
}

// NewGroup makes a Group, which is a ComponentSet. It returns ErrTooLarge if no queue can ever hold
// the group. The world must be idle; it does not change before Ready.
func (w *World) NewGroup(x Grouping) (*Group, error) {
	g := &Group{Part: Part{w: w, only: -1, what: "prefab", name: x.Name}, links: x.Links, size: x.LinkSize, requests: len(x.Of) + x.Links}
	units, fresh := uint64(x.Links)*uint64(x.LinkSize), map[store.Set]*Bundle{}
	for _, set := range x.Of {
		if w.bundles[set] == nil {
			x.Fresh[set] = true
		}
		g.set = g.set.Union(set)
		of := w.rowsOf(set, fresh)
		g.of = append(g.of, of)
		units += uint64(queue.SizeOf(of.of))
	}
	if left := w.space.Registry.Left(); len(x.Fresh) > left {
		return nil, fmt.Errorf("%w: each other set of components takes a kind of request, of which %d are left", ErrTooLarge, left)
	}
	return g, g.fits(units)
}

// Ready registers what the creates of the group need, before its first Begin. The world must be
// idle.
func (g *Group) Ready() {
	w := g.w
	for i, b := range g.of {
		if w.bundles == nil {
			w.bundles = map[store.Set]*Bundle{}
		}
		if made := w.bundles[b.set]; made == nil {
			b.prepare()
			w.bundles[b.set] = b
		} else {
			b = made
			g.of[i] = b
		}
		at := slices.IndexFunc(g.each, func(x groupPart) bool { return x.of == b })
		if at < 0 {
			at = len(g.each)
			g.each = append(g.each, groupPart{of: b})
		}
		g.each[at].n++
	}
}

// fits finds out how a port counts the group, for NewGroup. It returns ErrTooLarge if no port, or
// no system, can ever make the group.
func (g *Group) fits(units uint64) error {
	o := g.w.options
	g.average = uint32((units + uint64(g.requests) - 1) / uint64(g.requests))
	if bytes := queue.BytesOf(g.requests, g.average); g.requests > o.QueueRequests || bytes > uint64(o.QueueBytes) {
		return tooLarge(uint64(g.requests), 0, bytes, "QueueRequests", o.QueueRequests, "QueueBytes", o.QueueBytes)
	}
	if bytes := queue.BytesOf(g.links, g.size); g.links > o.OutboxRequests || bytes > uint64(o.OutboxBytes) {
		return tooLarge(uint64(g.links), 0, bytes, "OutboxRequests", o.OutboxRequests, "OutboxBytes", o.OutboxBytes)
	}
	return nil
}

// Rows returns the Rows of entity i.
func (g *Group) Rows(i int) Rows { return Rows{g.of[i]} }

// Begin makes sure that there is room for all entities, and appends the handles that they are going
// to have. A shard of -1 lets the actor choose; systems and functions have their own. call is the
// name for messages. After an error nothing was made or sent, dst is returned, and End must not
// follow.
func (g *Group) Begin(by Actor, call string, shard int, dst []handle.Handle) (m Making, to []handle.Handle, err error) {
	actor := SelfOf(by, call)
	m = Making{by: actor, shard: shard}
	if shard >= len(g.w.shards) {
		turnDownBy(actor)
		panic(fmt.Sprintf("world: %s of prefab %q in shard %d, want 0 to %d", call, g.name, shard, len(g.w.shards)-1))
	}
	switch by := actor.(type) {
	case *Port:
		return g.beginByPort(by, call, m, dst)
	case *Tx:
		return g.beginIn(by, call, m, dst)
	case *World:
		m.cursor, m.run = g.w.cursor, g.w.run
	}
	own, out, err := g.admit(actor, call)
	if err != nil {
		return m, dst, err
	}
	if own != nil {
		m.shard = own.ID()
	}
	if out != nil && g.links > 0 {
		if q := out.open(); !q.Room(g.links, g.size) {
			return m, dst, out.refuse(q, g.links, g.size)
		}
	}
	to, err = g.reserve(&m, dst)
	return m, to, err
}

// admit refuses an actor that may not create now: it panics, or returns the error of a closed
// world. It returns the shard that the actor has, if any, and, if the actor does not act at once,
// where it sends requests.
func (g *Group) admit(actor Self, call string) (own *store.Shard, out *sender, err error) {
	switch by := actor.(type) {
	case *World:
		g.check(by, call)
		return nil, nil, by.ready(call)
	case *Context:
		by.mustCreate(call, g.w, &g.set, "prefab", g.name)
		return by.shard, &by.out, nil
	case *EntityContext:
		g.check(by, call)
		by.mustRun(call)
		return by.c.shard, &by.c.out, nil
	case *Tx:
		g.check(by, call)
		return nil, nil, by.mayWrite(call)
	}
	g.check(actor, call)
	panic(notFor(actor, call))
}

// Nothing is Begin and End for no group at all: it returns the same errors, and sends nothing.
func (g *Group) Nothing(by Actor, call string) error {
	actor := SelfOf(by, call)
	if p, ok := actor.(*Port); ok {
		g.check(p, call)
		return p.nothing()
	}
	_, _, err := g.admit(actor, call)
	return err
}

// Within returns the context of Port.Within, or nil. The goroutine of the port calls it.
func (g *Group) Within(by Actor) context.Context {
	if p, ok := Is(by).(*Port); ok {
		return p.within
	}
	return nil
}

// Home returns the shard that an actor has, or the number of shards for one that acts on all. It
// returns -1 for a port, and for an actor that may not act. The goroutine of the actor calls it.
func (g *Group) Home(by Actor) int {
	switch by := Is(by).(type) {
	case *World:
		if by == g.w && by.phase.Load() == phaseIdle {
			return len(g.w.shards)
		}
	case *Context:
		if by.world() == g.w && by.acting.Access != nil {
			if by.shard == nil {
				return len(g.w.shards)
			}
			return by.shard.ID()
		}
	case *EntityContext:
		if by.world() == g.w && by.l != 0 {
			return by.c.shard.ID()
		}
	}
	return -1
}

// check panics about an actor of another world, or none.
func (g *Group) check(by Self, call string) {
	if by == nil || by.world() != g.w {
		g.w.panicForeign(by, call, "prefab", g.name)
	}
}

// reserve makes room in the own shard of the actor. Without one it takes the shard whose turn it
// is, or else the next one that has indexes. After an error the turn is given back.
func (g *Group) reserve(m *Making, dst []handle.Handle) (to []handle.Handle, err error) {
	w := g.w
	if m.shard >= 0 {
		return g.reserveIn(m, m.shard, dst)
	}
	first := w.next()
	for k := range w.shards {
		i := (first + k) % len(w.shards)
		if to, err = g.reserveIn(m, i, dst); err == nil {
			if k > 0 {
				w.cursor = i
			}
			w.run = max(0, w.run-len(g.of)+1)
		}
		if !errors.Is(err, ErrIndexes) {
			break
		}
	}
	if err != nil {
		w.giveBack()
	}
	return to, err
}

// reserveIn makes room for the group in a shard that the actor has, and appends the handles that
// its entities will have. For the idle world it only looks whether there is room. After an error it
// returns dst; some tables may have their room.
func (g *Group) reserveIn(m *Making, i int, dst []handle.Handle) ([]handle.Handle, error) {
	s := g.w.shards[i]
	m.shard = i
	switch m.by.(type) {
	case *World:
		g.w.Touched()
		s.Loop = g.w.loop
	case *EntityContext:
		s.Loop = max(s.Loop, g.w.loop) // an idle world may be in a loop
	}
	to, err := s.AppendNext(dst, len(g.of))
	if err != nil {
		return dst, err
	}
	chunks := 0
	for _, x := range g.each {
		chunks += x.of.part(s).table.Needs(x.n)
	}
	if err := g.w.space.CheckChunks(chunks); err != nil {
		return dst, err
	}
	if _, ok := m.by.(*World); ok {
		return to, nil // room that is made is a change, and a relation may refuse the group
	}
	if err := g.prepare(s); err != nil {
		return dst, err
	}
	return to, nil
}

// prepare makes room for the group in a shard, table by table. After an error some tables have it.
func (g *Group) prepare(s *store.Shard) error {
	for _, x := range g.each {
		if err := s.Prepare(x.of.part(s).table, x.n); err != nil {
			return err
		}
	}
	return nil
}

// Create makes entity i from the components at v, which is on the heap, or pushes the request to.
// It does not fail, because Begin has made room.
func (g *Group) Create(m *Making, i int, v mem.Address) {
	b := g.of[i]
	switch by := m.by.(type) {
	case *Port:
		b.createFor(by, m.shard, v)
		return
	case *Tx:
		_ = b.putIn(by, &by.entities[m.first+i], mem.Pointer{Address: v}) // with an error the transaction fails
		return
	case *World:
		s := b.parts[m.shard].shard
		if i == 0 {
			_ = g.prepare(s) // Begin has checked it
		}
		if check.Enabled {
			s.Enter(&creating)
			defer s.Leave()
		}
	}
	if _, err := b.parts[m.shard].store(mem.Pointer{Address: v}); err != nil {
		panic(fmt.Sprintf("world: prefab %q has less room than was reserved: %v", g.name, err))
	}
}

// End ends the group. With an error a port sends nothing, and the world, which has created nothing,
// is as before Begin. End returns the error of the batch. Other actors have already made the
// entities.
func (g *Group) End(m *Making, err error) error {
	if w, ok := m.by.(*World); ok && err != nil {
		w.cursor, w.run = m.cursor, m.run
	}
	if t, ok := m.by.(*Tx); ok && err != nil {
		t.Fail(err)
	}
	if m.batch {
		return m.by.(*Port).finish(err)
	}
	return err
}

// beginIn is Begin by a transaction.
func (g *Group) beginIn(t *Tx, call string, m Making, dst []handle.Handle) (Making, []handle.Handle, error) {
	g.check(t, call)
	if err := t.mayWrite(call); err != nil {
		return m, dst, err
	}
	inTurn, before := m.shard < 0, t.w.placing()
	if inTurn {
		m.shard = t.w.next()
	}
	s := t.w.shards[m.shard]
	for k := 1; inTurn && k < len(t.w.shards) && s.CheckLeft(t.creates[m.shard]+len(g.of)) != nil; k++ {
		m.shard = (m.shard + 1) % len(t.w.shards)
		t.w.cursor, s = m.shard, t.w.shards[m.shard]
	}
	if err := s.CheckLeft(t.creates[m.shard] + len(g.of)); err != nil {
		t.w.placeAs(before)
		return m, dst, err
	}
	m.first = len(t.entities)
	for range g.of {
		e, err := t.new(m.shard, false)
		if err != nil {
			t.Fail(err)
			return m, dst, err
		}
		dst = append(dst, e.handle)
	}
	return m, dst, nil
}

// beginByPort begins a batch, unless one is under way, in which there is room for the group. After
// an error the batch is over or, if it is the caller's, refused.
func (g *Group) beginByPort(p *Port, call string, m Making, dst []handle.Handle) (Making, []handle.Handle, error) {
	g.check(p, call)
	if p.batch == nil {
		if err := p.begin(call); err != nil {
			return m, dst, err
		}
		m.batch = true
	}
	over := false
	defer func() {
		if !over && m.batch { // false: a Completion was not free
			p.rollback()
		}
	}()
	to, err := p.reserve(g, dst)
	over = true
	if err != nil {
		return m, dst, g.End(&m, err)
	}
	if m.shard < 0 {
		m.shard = p.next()
		p.run = max(0, p.run-int32(len(g.of))+1)
	}
	return m, to, nil
}

// reserve makes sure that there is room and enough handles for a group, and appends the handles in
// the order in which take gives them. It takes none. After an error the batch under way is refused.
func (p *Port) reserve(g *Group, dst []handle.Handle) ([]handle.Handle, error) {
	if check.Enabled {
		p.enter()
		defer p.leave()
	}
	if p.unusual() || !p.out.Room(g.requests, g.average) {
		if err := p.ready(g.requests, g.average); err != nil {
			return dst, err
		}
	}
	if p.endpoint.Hand.Len() < len(g.of) {
		if err := p.draw(len(g.of)); err != nil {
			return dst, err
		}
	}
	for i := range g.of {
		dst = append(dst, p.endpoint.Hand.Next(i))
	}
	return dst, nil
}

// createFor pushes the create of a bundle at v, for which there is room and a handle, into the
// batch of the port.
func (b *Bundle) createFor(p *Port, shard int, v mem.Address) {
	if check.Enabled {
		p.enter()
		defer p.leave()
	}
	done := p.finisher() // may panic, so before the handle is taken
	r, to := b.creating.Push(p.out, p.take(), p.w.engine.Epoch.Load(), queue.Create, done)
	r.Place(shard)
	b.of.Copy(to.Address, v, 1)
}
