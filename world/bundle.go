package world

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Bundle creates entities from values of T, a struct whose fields are components. It serves any
// number of components with one type parameter.
//
// Ownership: the world's; each part belongs to its shard. Create may be called by any goroutine
// that holds the Actor passed to it.
type Bundle[T any] struct {
	core  bundle
	place func(T) int
}

// bundle is the part of a Bundle that does not depend on T; see component.
type bundle struct {
	w        *World
	name     string
	of       *mem.Type
	plain    bool // it has no pointers
	set      store.Set
	fields   []store.Field
	parts    []bundlePart                 // by shard
	place    func(bundle mem.Address) int // by PlaceBy; the bundle is on the heap
	creating queue.Kind
	changing queue.Kind
	setting  queue.Kind
	remove   uintptr // in a change: the offset of the components to remove
}

// bundlePart is what a shard needs to store a bundle. Ownership: the shard's owner.
type bundlePart struct {
	shard   *store.Shard
	table   *store.Table
	fields  store.Fields // as they are in that table
	of      *mem.Type
	scratch mem.Pointer // a bundle, which its caller stores before it becomes a row
	values  mem.Address // for CreateN, to be filled in before they are stored; nil while in use
}

// NewBundle makes a bundle of T's fields. It panics if T is not a struct, or if a field is not
// a registered component or is the same component as another field. A component is not a
// bundle: for a single component, make a struct with that as its field.
func NewBundle[T any](w *World) *Bundle[T] {
	b := new(Bundle[T])
	b.core.init(w, mem.TypeOf[T](), mem.TypeOf[change[T]]())
	return b
}

func (b *bundle) init(w *World, of, change *mem.Type) {
	mustBe(w, "world.NewBundle")
	w.mustIdle("world.NewBundle")
	t := of.Of
	w.mustRegister("world.NewBundle of %v", t)
	w.mustNotBeComponent(t)
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("world: bundle %v is not a struct; make one whose fields are components", t))
	}
	remove, _ := change.Of.FieldByName("remove")
	*b = bundle{w: w, name: t.String(), of: of, plain: of.Plain, remove: remove.Offset}
	for i := range t.NumField() {
		f := t.Field(i)
		id := w.componentOf(f.Type, fmt.Sprintf("bundle %v, field %s", t, f.Name))
		if b.set.Has(id) {
			panic(fmt.Sprintf("world: bundle %v has component %q twice, the second time in field %s; an entity has one of each: drop the field, or give it a type of its own", t, w.components[id].name, f.Name))
		}
		b.set.Add(id)
		b.fields = append(b.fields, store.Field{Component: id, Offset: f.Offset})
	}
	b.prepare()
	for i := range b.parts { // now, so that the first create in a tick does not have to
		b.parts[i].open(b)
	}
	b.changing = store.NewKind(w.space, change, changer{b})
	b.setting = store.NewKind(w.space, of, assigner{b})
}

// prepare makes what creates need.
func (b *bundle) prepare() {
	w := b.w
	b.creating = store.NewKind(w.space, b.of, creator{b})
	b.parts = make([]bundlePart, len(w.shards))
	for i, s := range w.shards {
		b.parts[i] = bundlePart{shard: s, of: b.of, scratch: mem.Pointer{Address: b.of.New(1)}}
	}
}

// open makes the table, which stays.
func (p *bundlePart) open(b *bundle) {
	p.table = p.shard.Table(b.set)
	p.table.Keep()
	p.fields, _ = p.table.Fields(b.fields)
}

// mustNotBeComponent panics if a bundle's type is itself a component, unless its fields are
// components, too.
func (w *World) mustNotBeComponent(t reflect.Type) {
	if _, ok := w.componentID[t]; !ok {
		return
	}
	isBundle := t.Kind() == reflect.Struct && t.NumField() > 0
	for i := 0; isBundle && i < t.NumField(); i++ {
		_, isBundle = w.componentID[t.Field(i).Type]
	}
	if !isBundle {
		panic(fmt.Sprintf("world: bundle %v is itself a component; make a struct with it as a field: struct{ %v }", t, t))
	}
}

// Create makes an entity with v's components and returns its handle. A *World creates at once. A
// *Context or *EntityContext creates at once in its own shard; the Context of a global system
// creates where a *World would. A *Port sends a request: its handle is good at once, and alive
// after the refresh.
//
// It returns ErrIndexes if no shard has an index left, or if the shard that PlaceBy chose, or
// that a *Context has, has none left. It returns ErrChunks if the world is full, and ErrFailed if
// PlaceBy chose no shard. A port's Create returns ErrFull if the request was not accepted; then no
// slot was used. A *Context must have declared the bundle with Build.Creates.
func (b *Bundle[T]) Create(by Actor, v T) (handle.Handle, error) {
	var place func() int
	if b.place != nil {
		place = func() int { return b.place(v) }
	} else if w, ok := by.(*World); ok && b.core.plain { // inlined here, because servers do this most
		return b.core.createPlain(w, mem.PointerTo(&v).Address)
	}
	if p, ok := by.(*Port); ok {
		h, to, err := b.core.createByPort(p, place)
		if err == nil {
			*mem.As[T](to) = v
			p.send()
		}
		return h, err
	}
	if b.core.plain {
		return b.core.createPlainBy(by, mem.PointerTo(&v).Address, place)
	}
	p, how, err := b.core.where(by, place)
	if err != nil {
		return handle.None, err
	}
	*mem.As[T](p.scratch) = v
	return b.core.createFrom(p, how)
}

func (b *bundle) createByPort(p *Port, place func() int) (handle.Handle, mem.Pointer, error) {
	b.check(p, "Bundle.Create")
	return p.create(b, place)
}

// createPlain is Create of a bundle without pointers by a *World, without a PlaceBy. v may be on
// the stack.
func (b *bundle) createPlain(w *World, v mem.Address) (handle.Handle, error) {
	if w != b.w || w.phase.Load() != phaseIdle {
		return b.createPlainBy(w, v, nil)
	}
	i := w.next()
	p := &b.parts[i]
	if check.Enabled {
		p.shard.Enter(&creating)
		defer p.shard.Leave()
	}
	p.shard.Loop = w.loop // a loop on the idle world covers all shards
	h, err := p.shard.CreatePlain(p.table, &p.fields, v)
	if err != nil {
		return b.elsewhere(v, i, byWorld, err)
	}
	return h, err
}

// createPlainBy is createPlain in all other cases but a *Port's.
func (b *bundle) createPlainBy(by Actor, v mem.Address, place func() int) (handle.Handle, error) {
	p, how, err := b.where(by, place)
	if err != nil {
		return handle.None, err
	}
	if check.Enabled && how&byWorld != 0 {
		p.shard.Enter(&creating)
		defer p.shard.Leave()
	}
	h, err := p.shard.CreatePlain(p.table, &p.fields, v)
	switch {
	case err == nil:
	case how&inTurn != 0:
		return b.elsewhere(v, p.shard.ID(), how, err)
	case how&byWorld != 0:
		b.w.giveBack()
	}
	return h, err
}

// creatingHow says how a bundle is created.
type creatingHow uint8

const (
	inTurn  creatingHow = 1 << iota // the shard was taken in turn: another may replace it
	byWorld                         // a *World creates
)

// where returns where an actor other than a *Port creates.
func (b *bundle) where(by Actor, place func() int) (*bundlePart, creatingHow, error) {
	switch by := by.(type) {
	case *World:
		if by != b.w {
			b.w.panicForeign(by, "Bundle.Create", "bundle", b.name)
		}
		if by.phase.Load() != phaseIdle {
			if err := by.unready("Bundle.Create by the World"); err != nil {
				return nil, 0, err
			}
		}
		at, err := -1, error(nil)
		if place != nil {
			if at, err = b.placed(place); err != nil {
				return nil, 0, err
			}
		}
		i, how := by.next(), inTurn|byWorld // touches the world; a turn passes in any case
		if at >= 0 {
			i, how = at, byWorld
		}
		p := &b.parts[i]
		p.shard.Loop = by.loop
		return p, how, nil
	case *Context:
		by.mustCreate("Bundle.Create", b.w, &b.set, "bundle", b.name)
		switch s := by.shard; {
		case s != nil:
			return b.part(s), 0, nil
		case place != nil:
			i, err := b.placed(place)
			return &b.parts[i], 0, err
		}
		return &b.parts[b.w.next()], inTurn, nil
	case *EntityContext:
		b.check(by, "Bundle.Create")
		by.mustRun("Bundle.Create")
		p := b.part(by.c.shard)
		p.shard.Loop = max(p.shard.Loop, b.w.loop) // an idle world may be in a loop
		return p, 0, nil
	}
	b.check(by, "Bundle.Create") // nil
	panic(embedded(by, "Bundle.Create"))
}

// createFrom creates an entity, at once, from what its caller has stored in the part.
func (b *bundle) createFrom(p *bundlePart, how creatingHow) (handle.Handle, error) {
	if check.Enabled && how&byWorld != 0 {
		p.shard.Enter(&creating)
		defer p.shard.Leave()
	}
	h, err := p.store(p.scratch)
	switch {
	case err == nil:
	case how&inTurn != 0:
		h, err = b.elsewhere(nil, p.shard.ID(), how, err)
	case how&byWorld != 0:
		b.w.giveBack()
	}
	p.forget()
	return h, err
}

// elsewhere is Create when the shard whose turn it is has failed: if that shard has no index left,
// the next shard that has one takes the turn. It creates the bundle at plain, which has no
// pointers, or if plain is nil the one in the scratch of the shard that has failed.
//
//go:noinline
func (b *bundle) elsewhere(plain mem.Address, full int, how creatingHow, err error) (handle.Handle, error) {
	w := b.w
	for k := 1; k < len(b.parts) && errors.Is(err, ErrIndexes); k++ {
		i := (full + k) % len(b.parts)
		p := &b.parts[i]
		if how&byWorld != 0 {
			p.shard.Loop = w.loop
		}
		var h handle.Handle
		if plain != nil {
			h, err = p.shard.CreatePlain(p.table, &p.fields, plain)
		} else {
			h, err = p.store(b.parts[full].scratch)
		}
		if err == nil {
			w.cursor = i
			return h, nil
		}
	}
	w.giveBack()
	return handle.None, err
}

// check refuses an actor of another world.
func (b *bundle) check(by Actor, call string) {
	if by == nil || by.world() != b.w {
		b.w.panicForeign(by, call, "bundle", b.name)
	}
}

// part returns the part of a shard. That of a bundle without a T gets its table only now, because
// it may never be used.
func (b *bundle) part(s *store.Shard) *bundlePart {
	p := &b.parts[s.ID()]
	if p.table == nil {
		p.open(b)
	}
	return p
}

// store creates an atom of the bundle at v, which is on the heap.
func (p *bundlePart) store(v mem.Pointer) (handle.Handle, error) {
	if p.of.Plain {
		return p.shard.CreatePlain(p.table, &p.fields, v.Address)
	}
	a, err := p.shard.Create(p.table)
	if err == nil {
		p.put(a, v)
	}
	return a.Handle, err
}

// forget clears the scratch, so that it keeps nothing alive.
func (p *bundlePart) forget() {
	if !p.of.Plain {
		p.of.Clear(p.scratch.Address, 1)
	}
}

// creator applies requests to create at the refresh: it stores the atoms.
type creator struct{ b *bundle }

func (c creator) CreateAll(s *store.Shard, creates []queue.PendingRequest) {
	p := c.b.part(s)
	if p.of.Plain {
		store.AdoptPlain(s, p.table, p.fields.All, creates)
		return
	}
	for _, r := range creates {
		a, err := s.Adopt(p.table, r.Handle)
		if err != nil {
			s.DecideCreate(r, queue.Refused)
			continue
		}
		p.put(a, r.Payload())
		s.DecideCreate(r, queue.Applied)
	}
}

func (c creator) CreateMany(s *store.Shard, creates queue.PendingRequest) {
	p := c.b.part(s)
	if p.of.Plain {
		store.AdoptManyPlain(s, p.table, p.fields.All, creates)
		return
	}
	values := c.b.w.space.Registry.Values(creates)
	s.AdoptMany(p.table, creates, func(a store.Atom, i int) { p.put(a, values.At(i, p.of.Size)) })
}

func (creator) Apply(*store.Shard, handle.Handle, slots.Loc, mem.Pointer) queue.Outcome {
	panic("world: a create is applied with others of its kind")
}

// put stores the fields of v in the atom's row and makes it alive.
func (p *bundlePart) put(a store.Atom, v mem.Pointer) {
	store.Store(a, p.fields.All, v.Address)
	a.Publish()
}

// write stores the fields of v in the row of an atom that has them, whichever table it is in.
func (b *bundle) write(s *store.Shard, a store.Atom, v mem.Pointer) {
	if fields := b.fieldsAt(s, a); b.plain {
		store.StorePlain(a, fields, v.Address)
	} else {
		store.Store(a, fields, v.Address)
	}
}

// fieldsAt returns the fields of the bundle in an atom's table, where they are about to be stored.
func (b *bundle) fieldsAt(s *store.Shard, a store.Atom) []store.Field {
	fields := b.fieldsOf(s, a.Chunk.Table())
	a.Overwrite(fields)
	return fields
}
