package engine

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Bundle is the part of a world.Bundle that does not depend on its type; see Component.
//
// Ownership: the world's, and written only while it is idle; each of parts belongs to its shard.
type Bundle struct {
	w        *World
	name     string
	of       *mem.Type
	Plain    bool // it has no pointers
	set      store.Set
	fields   []store.Field
	parts    []BundlePart                 // by shard
	place    func(bundle mem.Address) int // by PlaceBy; the bundle is on the heap
	creating queue.Kind
	changing queue.Kind
	setting  queue.Kind
	remove   uintptr // in a change: the offset of the components to remove
}

// BundlePart is what a shard needs to store a bundle. Ownership: the shard's owner.
type BundlePart struct {
	shard   *store.Shard
	table   *store.Table
	fields  store.Fields // as they are in that table
	of      *mem.Type
	Scratch mem.Pointer // a bundle, which its caller stores before it becomes a row
	values  mem.Address // for CreateN, to be filled in before they are stored; nil while in use
}

// Init makes the bundle of the fields of a struct, and registers its kinds of requests; change is
// the type of a request to Add. The world must be idle. Init panics, and has registered nothing, if
// a field is no component.
func (b *Bundle) Init(w *World, of, change *mem.Type) {
	mustBe(w, "world.NewBundle")
	w.mustIdle("world.NewBundle")
	t := of.Of
	w.MustRegister("world.NewBundle of %v", t)
	w.mustNotBeComponent(t)
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("world: bundle %v is not a struct; make one whose fields are components", t))
	}
	remove, _ := change.Of.FieldByName("remove")
	*b = Bundle{w: w, name: t.String(), of: of, Plain: of.Plain, remove: remove.Offset}
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

// prepare registers the request to create the bundle, and makes the part of each shard, without its
// table. The world is idle.
func (b *Bundle) prepare() {
	w := b.w
	b.creating = store.NewKind(w.space, b.of, creator{b})
	b.parts = make([]BundlePart, len(w.shards))
	for i, s := range w.shards {
		b.parts[i] = BundlePart{shard: s, of: b.of, Scratch: mem.Pointer{Address: b.of.New(1)}}
	}
}

// open makes the shard's table for the bundle, which stays when it is empty. The world is idle, or
// the goroutine that has the shard calls it.
func (p *BundlePart) open(b *Bundle) {
	p.table = p.shard.Table(b.set)
	p.table.Keep()
	p.fields, _ = p.table.Fields(b.fields)
}

// mustNotBeComponent panics, before Bundle.Init makes it, if a bundle's type is itself a component,
// unless its fields are components, too.
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

// CreateByPort takes a handle of the port and pushes the request to create it. The caller stores
// the bundle at the address, and Port.Send then publishes the request. After an error nothing was
// taken or pushed, and the batch under way is refused.
func (b *Bundle) CreateByPort(p *Port, place func() int) (handle.Handle, mem.Pointer, error) {
	b.check(p, "Bundle.Create")
	return p.create(b, place)
}

// CreatePlain is Create by the idle World, of a bundle without pointers and without a PlaceBy. v
// may be on the stack. After an error nothing was created.
func (b *Bundle) CreatePlain(w *World, v mem.Address) (handle.Handle, error) {
	if w != b.w || w.phase.Load() != phaseIdle {
		return b.CreatePlainBy(w, v, nil)
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

// CreatePlainBy is CreatePlain for other actors than a *Port, and with a PlaceBy. After an error
// nothing was created.
func (b *Bundle) CreatePlainBy(by Self, v mem.Address, place func() int) (handle.Handle, error) {
	p, how, err := b.Where(by, place)
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

// CreatingHow says how a bundle is created: a set of the constants below.
type CreatingHow uint8

const (
	inTurn  CreatingHow = 1 << iota // the shard was taken in turn: another may replace it
	byWorld                         // a *World creates
	inTx                            // a transaction does: later
)

// Where returns in which part an actor other than a *Port creates, and how. place, if not nil,
// chooses the shard for actors that have all; for these a turn has then passed. After an error
// nothing has changed.
func (b *Bundle) Where(by Self, place func() int) (*BundlePart, CreatingHow, error) {
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
		i, how, err := b.turn(place) // touches the world
		if err != nil {
			return nil, 0, err
		}
		p := &b.parts[i]
		p.shard.Loop = by.loop
		return p, how | byWorld, nil
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
	t, ok := by.(*Tx)
	if !ok {
		panic(notFor(by, "Bundle.Create"))
	}
	if err := t.mayWrite("Bundle.Create"); err != nil {
		return nil, 0, err
	}
	i, how, err := b.turn(place)
	if err != nil {
		return nil, 0, err
	}
	return b.part(b.w.shards[i]), how | inTx, nil
}

// turn returns the shard in which an actor that has all creates, and whether it was taken in turn. A
// turn passes in any case, but not after an error.
func (b *Bundle) turn(place func() int) (shard int, how CreatingHow, err error) {
	if place == nil {
		return b.w.next(), inTurn, nil
	}
	if shard, err = b.placed(place); err == nil {
		b.w.next()
	}
	return shard, 0, err
}

// CreateFrom creates an entity, at once, from what its caller has stored in the scratch of the part
// that Where returned. It empties the scratch. After an error nothing was created, and a turn that
// passed is given back.
func (b *Bundle) CreateFrom(p *BundlePart, how CreatingHow) (handle.Handle, error) {
	if how&inTx != 0 {
		return b.createIn(b.w.tx, p, how)
	}
	if check.Enabled && how&byWorld != 0 {
		p.shard.Enter(&creating)
		defer p.shard.Leave()
	}
	h, err := p.store(p.Scratch)
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
// pointers, or if plain is nil the one in the scratch of the shard that has failed. It is for the
// idle World and for global systems, which have all shards. After an error it has given the turn
// back.
//
//go:noinline
func (b *Bundle) elsewhere(plain mem.Address, full int, how CreatingHow, err error) (handle.Handle, error) {
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
			h, err = p.store(b.parts[full].Scratch)
		}
		if err == nil {
			w.cursor = i
			return h, nil
		}
	}
	w.giveBack()
	return handle.None, err
}

// check panics about an actor of another world, or none.
func (b *Bundle) check(by Self, call string) {
	if by == nil || by.world() != b.w {
		b.w.panicForeign(by, call, "bundle", b.name)
	}
}

// part returns the part of a shard, for the goroutine that has the shard. A bundle without a T gets
// its table only now, because it may never be used.
func (b *Bundle) part(s *store.Shard) *BundlePart {
	p := &b.parts[s.ID()]
	if p.table == nil {
		p.open(b)
	}
	return p
}

// store creates an atom of the bundle at v, which is on the heap. After an error there is none.
func (p *BundlePart) store(v mem.Pointer) (handle.Handle, error) {
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
func (p *BundlePart) forget() {
	if !p.of.Plain {
		p.of.Clear(p.Scratch.Address, 1)
	}
}

// creator applies requests to create at the refresh: it stores the atoms.
type creator struct{ b *Bundle }

// CreateAll stores the entities of requests to create, and decides the requests. The worker of the
// shard calls it in the step create. A create without room is Refused.
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

// CreateMany stores the entities of one request that creates many, and decides it, as CreateAll
// does.
func (c creator) CreateMany(s *store.Shard, creates queue.PendingRequest) {
	p := c.b.part(s)
	if p.of.Plain {
		store.AdoptManyPlain(s, p.table, p.fields.All, creates)
		return
	}
	values := c.b.w.space.Registry.Values(creates)
	s.AdoptMany(p.table, creates, func(a store.Atom, i int) { p.put(a, values.At(i, p.of.Size)) })
}

// Apply is never called: the refresh calls CreateAll and CreateMany.
func (creator) Apply(*store.Shard, handle.Handle, slots.Loc, mem.Pointer) queue.Outcome {
	panic("world: a create is applied with others of its kind")
}

// put stores the fields of v in the atom's row and makes it alive, for the goroutine that has the
// shard.
func (p *BundlePart) put(a store.Atom, v mem.Pointer) {
	store.Store(a, p.fields.All, v.Address)
	a.Publish()
}

// write stores the fields of v in the row of an atom that has them, whichever table it is in. The
// caller has the shard.
func (b *Bundle) write(s *store.Shard, a store.Atom, v mem.Pointer) {
	if fields := b.fieldsAt(s, a); b.Plain {
		store.StorePlain(a, fields, v.Address)
	} else {
		store.Store(a, fields, v.Address)
	}
}

// fieldsAt returns the fields of the bundle in an atom's table, and notes that they are about to be
// overwritten in its row.
func (b *Bundle) fieldsAt(s *store.Shard, a store.Atom) []store.Field {
	fields := b.fieldsOf(s, a.Chunk.Table())
	a.Overwrite(fields)
	return fields
}

// Part returns what makes a *world.Bundle a ComponentSet.
func (b *Bundle) Part() Part { return Part{b.w, b.set, -1, "bundle", b.name} }

// assigner applies a request to Set a bundle at the refresh.
type assigner struct{ b *Bundle }

// Assign accepts the request of Bundle.Set, from any actor. For an actor that sets at once it
// returns the part where the caller stores the bundle, and l, which AssignFrom takes. After an
// error nothing was sent, and nothing may be stored.
func (b *Bundle) Assign(by Self, h handle.Handle) (x Sending, p *BundlePart, l slots.Loc, err error) {
	b.check(by, "Bundle.Set")
	switch by := by.(type) {
	case *World:
		if err := by.ready("Bundle.Set by the World"); err != nil {
			return x, nil, 0, err
		}
		if l = by.lookup.Locate(h); l == 0 {
			return x, nil, 0, ErrStale
		}
		if !by.space.Set(l).Contains(&b.set) {
			return x, nil, 0, ErrMissing
		}
		by.Touched()
		p = b.part(by.shardOf(l))
	case *Context:
		by.mustRun("Bundle.Set")
		l = by.w.space.Locate(h)
		if l != 0 && by.owns(l) {
			for id := range b.set.All {
				by.mustWrite(id, "Bundle.Set")
			}
			p = b.part(by.w.shardOf(l))
		}
	case *EntityContext:
		if l = by.mustRun("Bundle.Set"); h == by.h {
			p = b.part(by.c.shard)
		}
	}
	if p != nil {
		return Sending{To: p.Scratch}, p, l, nil
	}
	x, err = Request(by, "Bundle.Set", &b.setting, h)
	return x, nil, 0, err
}

// AssignFrom sets an entity to what its caller has stored in the part, at once, and empties the
// part. It returns ErrMissing, and changes nothing, if the entity lacks a component.
func (b *Bundle) AssignFrom(p *BundlePart, l slots.Loc) error {
	err := b.assignAt(p.shard, l, p.Scratch)
	p.forget()
	return err
}

// assignAt stores the bundle at v in the entity at l, for the goroutine that has the shard. It
// returns ErrMissing, and changes nothing, if the entity lacks a component.
func (b *Bundle) assignAt(s *store.Shard, l slots.Loc, v mem.Pointer) error {
	a, err := b.atomAt(s, l)
	if err == nil {
		b.write(s, a, v)
		b.w.space.NoteAllStored(l, b.set)
	}
	return err
}

// AssignPlain is AssignFrom for a bundle without pointers at v, which may be on the stack. It
// returns ErrMissing, and changes nothing, if the entity lacks a component.
func (b *Bundle) AssignPlain(p *BundlePart, l slots.Loc, v mem.Address) error {
	a, err := b.atomAt(p.shard, l)
	if err == nil {
		store.StorePlain(a, b.fieldsAt(p.shard, a), v)
		b.w.space.NoteAllStored(l, b.set)
	}
	return err
}

// atomAt returns the atom at l, or ErrMissing if it lacks one of the bundle's components. The
// caller has the shard.
func (b *Bundle) atomAt(s *store.Shard, l slots.Loc) (store.Atom, error) {
	set := b.w.space.Set(l)
	if !set.Contains(&b.set) {
		return store.Atom{}, ErrMissing
	}
	return s.Change(l, *set) // to the components it has already, so the row does not move
}

// Apply stores the bundle at v in the entity at l. The worker of the shard calls it in the step
// apply.
func (a assigner) Apply(s *store.Shard, _ handle.Handle, l slots.Loc, v mem.Pointer) queue.Outcome {
	return outcomeOf(a.b.assignAt(s, l, v))
}

// ApplyRun implements store.Runner, on the shard's worker. It applies nothing if the table lacks a
// component: Apply then says Missing.
func (a assigner) ApplyRun(s *store.Shard, of store.Adjacent) (applied int) {
	if set := of.Table().Set(); !set.Contains(&a.b.set) {
		return 0
	}
	a.b.putRun(s, of)
	of.NoteAllStored(a.b.set)
	return of.Applied()
}

// fieldsOf returns the fields of the bundle in a table of the shard that has all its components.
func (b *Bundle) fieldsOf(s *store.Shard, t *store.Table) []store.Field {
	p := b.part(s)
	if t == p.table {
		return p.fields.All
	}
	return t.FieldsOf(b.creating.Number(), p.fields.All)
}

// putRun stores the payloads of requests in the rows of their atoms, as write does.
func (b *Bundle) putRun(s *store.Shard, of store.Adjacent) {
	of.PutFields(b.fieldsOf(s, of.Table()), b.Plain)
}

// placed returns the shard that the function of PlaceBy chooses. If that function panics or names
// no shard, it returns an ErrFailed, with the *PanicError if there is one. It changes nothing.
func (b *Bundle) placed(place func() int) (i int, err error) { return b.w.placed(b.name, place) }

// placed is Bundle.placed for the bundle of a name.
func (w *World) placed(name string, place func() int) (i int, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %w", ErrFailed, newPanic(&Panic{In: InPlace, Name: name, Shard: AllShards, Tick: w.engine.Tick.Load(), Value: v, Stack: debug.Stack()}).Err)
		}
	}()
	if i = place(); i < 0 || i >= len(w.shards) {
		return 0, fmt.Errorf("%w: bundle %s: PlaceBy chose shard %d, want 0 to %d", ErrFailed, name, i, len(w.shards)-1)
	}
	return i, nil
}

// Reserve makes room in the idle world for n more entities, spread evenly over the shards. After an
// error the shards before the full one keep their new room.
func (b *Bundle) Reserve(w *World, n int) error {
	b.check(w, "Bundle.Reserve")
	if err := w.ready("Bundle.Reserve"); err != nil {
		return err
	}
	if n < 0 {
		panic(fmt.Sprintf("world: bundle %s: cannot reserve %d entities; want 0 or more", b.name, n))
	}
	w.Touched() // room that is there already is kept from now on
	for i, s := range w.shards {
		share := (n + len(w.shards) - 1 - i) / len(w.shards)
		t := b.part(s).table
		if s.Reserve(t, max(share, min(n, w.runLeast))) == nil {
			continue
		}
		if err := s.Reserve(t, share); err != nil {
			return err
		}
	}
	return nil
}

// PlaceBy makes place, if not nil, choose the shard of each new entity from the bundle, which is on
// the heap. The world must be idle. Any goroutine that creates calls place.
func (b *Bundle) PlaceBy(place func(mem.Address) int) {
	b.w.mustIdle("Bundle.PlaceBy")
	b.place = place
	b.w.placedBy(b)
}
