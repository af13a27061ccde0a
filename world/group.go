package world

import (
	"context"
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/store"
)

// rowsOf returns the bundle of a set of components, for which there is no T. There is one for each
// set; those that Ready has not seen are in fresh.
func (w *World) rowsOf(set store.Set, fresh map[store.Set]*bundle) *bundle {
	b := w.bundles[set]
	if b == nil {
		b = fresh[set]
	}
	if b != nil {
		return b
	}
	b = &bundle{w: w, name: "of " + w.componentNames(set), set: set}
	var types []*mem.Type
	for id := range set.All {
		types = append(types, w.space.TypeOf(id))
		b.fields = append(b.fields, store.Field{Component: id})
	}
	of, offsets := mem.StructOf(types)
	for i, at := range offsets {
		b.fields[i].Offset = at
	}
	b.of, b.plain = of, of.Plain
	fresh[set] = b
	return b
}

// rows is a bundle as drive.Rows.
type rows struct{ b *bundle }

func (r rows) Type() *mem.Type { return r.b.of }

func (r rows) Offset(component int) uintptr {
	for _, f := range r.b.fields {
		if f.Component == component {
			return f.Offset
		}
	}
	panic("world: a component that is not in the row")
}

// group is a drive.Group.
//
// Ownership: immutable.
type group struct {
	w     *World
	name  string
	of    []*bundle // of each entity
	each  []groupPart
	set   store.Set // all components
	links int
	size  uint32 // of a link

	// As a port counts it: how many requests, all of the average size.
	requests int
	average  uint32
}

// groupPart says how many entities of a group are of a bundle.
type groupPart struct {
	of *bundle
	n  int
}

func (d *driven) NewGroup(x drive.Grouping) (drive.Group, error) {
	w := d.w()
	g := &group{w: w, name: x.Name, links: x.Links, size: x.LinkSize, requests: len(x.Of) + x.Links}
	units, fresh := uint64(x.Links)*uint64(x.LinkSize), map[store.Set]*bundle{}
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

// Ready makes what the creates need.
func (g *group) Ready() {
	w := g.w
	for i, b := range g.of {
		if w.bundles == nil {
			w.bundles = map[store.Set]*bundle{}
		}
		if made := w.bundles[b.set]; made == nil {
			b.prepare()
			w.bundles[b.set] = b
		} else {
			b = made
			g.of[i] = b
		}
		at := 0
		for at < len(g.each) && g.each[at].of != b {
			at++
		}
		if at == len(g.each) {
			g.each = append(g.each, groupPart{of: b})
		}
		g.each[at].n++
	}
}

func (d *driven) Extension(viewable any) any {
	w, number := viewable.(Viewable).framed()
	if w != d.w() {
		return nil
	}
	return w.framed[number]
}

func (d *driven) Components(of any) store.Set { return of.(ComponentSet).components(d.w()) }

// fits finds out how a port counts the group. It returns ErrTooLarge if no port, or no system, can
// ever make the group.
func (g *group) fits(units uint64) error {
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

func (g *group) in(w *World, set *store.Set) bool {
	of := g.components(w)
	return set.Contains(&of)
}

// components makes a group a ComponentSet.
func (g *group) components(w *World) store.Set {
	if g.w != w {
		panic(fmt.Sprintf("world: prefab %q belongs to another world; use the one that was made for this world", g.name))
	}
	return g.set
}

func (g *group) enter(v *View) { v.components = v.components.Union(g.components(v.w)) }

func (g *group) framed() (*World, int) { return nil, 0 }

func (g *group) Rows(i int) drive.Rows { return rows{g.of[i]} }

func (g *group) Begin(actor any, call string, shard int, dst []handle.Handle) (m drive.Making, to []handle.Handle, err error) {
	m = drive.Making{Actor: actor, Shard: shard}
	if shard >= len(g.w.shards) {
		x, _ := actor.(Actor)
		turnDownBy(x)
		panic(fmt.Sprintf("world: %s of prefab %q in shard %d, want 0 to %d", call, g.name, shard, len(g.w.shards)-1))
	}
	switch by := actor.(type) {
	case *Port:
		return g.beginByPort(by, call, m, dst)
	case *World:
		m.Cursor, m.Run = g.w.cursor, g.w.run
	}
	own, out, err := g.admit(actor, call)
	if err != nil {
		return m, dst, err
	}
	if own != nil {
		m.Shard = own.ID()
	}
	if out != nil && g.links > 0 {
		if q := out.open(); !q.Room(g.links, g.size) {
			return m, dst, out.refuse(q, g.links, g.size)
		}
	}
	to, err = g.reserve(&m, dst)
	return m, to, err
}

// admit refuses an actor that may not create now. It returns the shard that the actor has, if any,
// and, if the actor does not act at once, where it sends requests.
func (g *group) admit(actor any, call string) (own *store.Shard, out *sender, err error) {
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
	}
	x, _ := actor.(Actor)
	g.check(x, call)
	panic(embedded(x, call))
}

func (g *group) Nothing(actor any, call string) error {
	if p, ok := actor.(*Port); ok {
		g.check(p, call)
		return p.nothing()
	}
	_, _, err := g.admit(actor, call)
	return err
}

func (g *group) Within(actor any) context.Context {
	if p, ok := actor.(*Port); ok && p != nil {
		return p.within
	}
	return nil
}

func (g *group) Home(actor any) int {
	switch by := actor.(type) {
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

func (g *group) check(by Actor, call string) {
	if by == nil || by.world() != g.w {
		g.w.panicForeign(by, call, "prefab", g.name)
	}
}

// reserve makes room in the own shard of the actor. Without one it takes the shard whose turn it
// is, or else the next one that has indexes.
func (g *group) reserve(m *drive.Making, dst []handle.Handle) (to []handle.Handle, err error) {
	w := g.w
	if m.Shard >= 0 {
		return g.reserveIn(m, m.Shard, dst)
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

func (g *group) reserveIn(m *drive.Making, i int, dst []handle.Handle) ([]handle.Handle, error) {
	s := g.w.shards[i]
	m.Shard = i
	switch m.Actor.(type) {
	case *World:
		g.w.touched = true
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
	if _, ok := m.Actor.(*World); ok {
		return to, nil // room that is made is a change, and a relation may refuse the group
	}
	if err := g.prepare(s); err != nil {
		return dst, err
	}
	return to, nil
}

// prepare makes room in a shard.
func (g *group) prepare(s *store.Shard) error {
	for _, x := range g.each {
		if err := s.Prepare(x.of.part(s).table, x.n); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) Create(m *drive.Making, i int, v mem.Address) {
	b := g.of[i]
	switch by := m.Actor.(type) {
	case *Port:
		b.createFor(by, m.Shard, v)
		return
	case *World:
		s := b.parts[m.Shard].shard
		if i == 0 {
			_ = g.prepare(s) // Begin has checked it
		}
		if check.Enabled {
			s.Enter(&creating)
			defer s.Leave()
		}
	}
	if _, err := b.parts[m.Shard].store(mem.Pointer{Address: v}); err != nil {
		panic(fmt.Sprintf("world: prefab %q has less room than was reserved: %v", g.name, err))
	}
}

func (g *group) End(m *drive.Making, err error) error {
	if w, ok := m.Actor.(*World); ok && err != nil {
		w.cursor, w.run = m.Cursor, m.Run
	}
	if m.Batch {
		return m.Actor.(*Port).finish(err)
	}
	return err
}
