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
	w        *World
	name     string
	set      store.Set
	fields   []store.Field
	parts    []bundlePart[T] // by shard
	place    func(T) int
	creating queue.Kind[T]
	changing queue.Kind[change[T]]
	setting  queue.Kind[T]
}

// bundlePart is what one shard needs to store a T. Ownership: the shard's owner.
type bundlePart[T any] struct {
	shard   *store.Shard
	table   *store.Table
	fields  []store.Field // as they are in that table
	plain   bool          // T has no pointers
	scratch T             // a T on the heap
	values  []T           // for CreateN, to be filled in before they are stored; nil while in use
}

// NewBundle makes a bundle of T's fields. It panics if T is not a struct, or if a field is not
// a registered component or is the same component as another field. A component is not a
// bundle: for a single component, make a struct with that as its field.
func NewBundle[T any](w *World) *Bundle[T] {
	mustBe(w, "world.NewBundle")
	w.mustIdle("world.NewBundle")
	t := reflect.TypeFor[T]()
	w.refuseComponent(t)
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("world: bundle %v is not a struct; make one whose fields are components", t))
	}
	b := &Bundle[T]{w: w, name: t.String()}
	for i := range t.NumField() {
		f := t.Field(i)
		id := w.componentOf(f.Type, fmt.Sprintf("bundle %v, field %s", t, f.Name))
		if b.set.Has(id) {
			panic(fmt.Sprintf("world: bundle %v has component %q twice, the second time in field %s; an entity has one of each: drop the field, or give it a type of its own", t, w.components[id].name, f.Name))
		}
		b.set.Add(id)
		b.fields = append(b.fields, store.Field{Component: id, Offset: f.Offset})
	}
	b.creating = store.NewKind[T](w.space, creator[T]{b})
	b.changing = store.NewKind[change[T]](w.space, changer[T]{b})
	b.setting = store.NewKind[T](w.space, assigner[T]{b})
	b.parts = make([]bundlePart[T], len(w.shards))
	for i, s := range w.shards { // here, so that the first create in a tick does not have to
		p := &b.parts[i]
		p.shard, p.table = s, s.Table(b.set)
		p.table.Keep()
		p.fields, p.plain = p.table.Fields(b.fields)
	}
	return b
}

// refuseComponent panics if a bundle's type is itself a component, unless its fields are
// components, too.
func (w *World) refuseComponent(t reflect.Type) {
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

// Create makes an entity with v's components and returns its handle. A *World creates at once.
// A *Context or *EntityContext creates at once in its own shard; the Context of a global system
// creates where a *World would. A *Port sends a request: its handle is good at once, and alive
// after the refresh.
//
// It returns ErrIndexes if no shard has an index left, or if the shard that PlaceBy chose, or
// that a *Context has, has none left. It returns ErrChunks if the world is full. A port's
// Create returns ErrFull if the request was not accepted; then no slot was used. A *Context
// must have declared the bundle with Build.Creates.
func (b *Bundle[T]) Create(by Actor, v T) (handle.Handle, error) {
	if w, ok := by.(*World); ok && w == b.w { // handled here, because servers do this most
		if w.phase.Load() != phaseIdle {
			if err := w.unready("Bundle.Create by the World"); err != nil {
				return handle.None, err
			}
		}
		i := w.next()
		if b.place != nil {
			i = b.placed(v)
		}
		p := &b.parts[i]
		if check.Enabled {
			p.shard.Enter(&creating)
			defer p.shard.Leave()
		}
		p.shard.Loop = w.loop // a loop on the idle world covers all shards
		var h handle.Handle
		var err error
		if p.plain {
			h, err = store.CreatePlain(p.shard, p.table, p.fields, &v)
		} else {
			h, err = p.store(&v)
		}
		if err != nil && b.place == nil {
			return b.elsewhere(&v, i, err)
		}
		return h, err
	}
	return b.createBy(by, &v)
}

// createBy is Create by all other actors. It is a function of its own because it defers
// something, which costs a function some stores whether it defers or not.
func (b *Bundle[T]) createBy(by Actor, v *T) (handle.Handle, error) {
	switch by := by.(type) {
	case *World:
		b.w.refuse(by, "Bundle.Create", "bundle", b.name)
	case *Context:
		by.mustCreate("Bundle.Create", b.w, &b.set, b.name)
		switch s := by.shard; {
		case s != nil:
			return b.part(s).store(v)
		case b.place != nil:
			return b.parts[b.placed(*v)].store(v)
		}
		i := b.w.next()
		h, err := b.parts[i].store(v)
		if err != nil {
			return b.elsewhere(v, i, err)
		}
		return h, nil
	case *Port:
		if by.world() != b.w {
			b.w.refuse(by, "Bundle.Create", "bundle", b.name)
		}
		return portCreate(by, b, v)
	case *EntityContext:
		b.check(by, "Bundle.Create")
		by.mustRun("Bundle.Create")
		p := b.part(by.c.shard)
		p.shard.Loop = max(p.shard.Loop, b.w.loop) // an idle world may be in a loop
		return p.store(v)
	}
	b.check(by, "Bundle.Create") // nil
	panic(embedded(by, "Bundle.Create"))
}

// elsewhere is Create when the shard whose turn it is has failed: if that shard has no index
// left, the next shard that has one takes the turn.
//
//go:noinline
func (b *Bundle[T]) elsewhere(v *T, full int, err error) (handle.Handle, error) {
	w := b.w
	for k := 1; k < len(b.parts) && errors.Is(err, ErrIndexes); k++ {
		i := (full + k) % len(b.parts)
		b.parts[i].shard.Loop = w.loop
		var h handle.Handle
		if h, err = b.parts[i].store(v); err == nil {
			w.cursor = i
			return h, nil
		}
	}
	return handle.None, err
}

// CreateN makes n entities; init, if not nil, fills in each from the zero T. init is called by
// the calling goroutine, in the order of i. A *World places few entities as Create does, and
// spreads many evenly over its shards, unless there is a PlaceBy. A *Port sends them in one step, all or none, published at
// once, in runs of 16 or more a shard; init must not use the port. With any other actor, the
// entities before an error are made, and the error says how many. The errors are those of Create,
// and by a *Port ErrTooLarge if a queue never has room for n. It panics if n is negative.
//
// For many entities it costs half as much as that many calls of Create, and a sixth without init.
// CreateRows costs a third.
func (b *Bundle[T]) CreateN(by Actor, n int, init func(i int, v *T)) error {
	_, err := b.appendN(nil, false, by, n, init)
	return err
}

// AppendN is CreateN that also appends the handles to dst.
func (b *Bundle[T]) AppendN(dst []handle.Handle, by Actor, n int, init func(i int, v *T)) ([]handle.Handle, error) {
	return b.appendN(dst, true, by, n, init)
}

func (b *Bundle[T]) appendN(dst []handle.Handle, want bool, by Actor, n int, init func(i int, v *T)) ([]handle.Handle, error) {
	if n < 0 {
		turnDownBy(by)
		panic(fmt.Sprintf("world: bundle %s: cannot create %d entities; want 0 or more", b.name, n))
	}
	switch by := by.(type) {
	case *Port:
		b.check(by, createNCall(want))
		return portCreateN(by, b, dst, want, n, init)
	}
	parts, err := b.mayCreateN(by, createNCall(want))
	switch {
	case err != nil:
		return dst, err
	case b.place != nil && len(parts) > 1:
		return b.appendPlaced(dst, want, by, n, init)
	}
	f := filling[T]{init: init, want: want, dst: dst}
	err = b.spread(by, parts, n, &f)
	return f.dst, err
}

// appendPlaced is appendN where PlaceBy chooses the shard of each entity.
func (b *Bundle[T]) appendPlaced(dst []handle.Handle, want bool, by Actor, n int, init func(i int, v *T)) ([]handle.Handle, error) {
	v := new(T)
	for i := range n {
		if init != nil {
			*v = *new(T)
			init(i, v)
		}
		h, err := b.Create(by, *v)
		if err != nil {
			return dst, fmt.Errorf("%w (after %d of %d)", err, i, n)
		}
		if want {
			dst = append(dst, h)
		}
	}
	return dst, nil
}

// mayCreateN returns the parts of the shards in which the actor creates: one, or all. It refuses
// a call at the wrong time.
func (b *Bundle[T]) mayCreateN(by Actor, call string) ([]bundlePart[T], error) {
	b.check(by, call)
	switch by := by.(type) {
	case *World:
		if by.phase.Load() != phaseIdle {
			return nil, by.unready(call + " by the World")
		}
		return b.parts, nil
	case *Context:
		by.mustCreate(call, b.w, &b.set, b.name)
		if s := by.shard; s != nil {
			return b.parts[s.ID() : s.ID()+1], nil
		}
		return b.parts, nil
	case *EntityContext:
		by.mustRun(call)
		i := by.c.shard.ID()
		return b.parts[i : i+1], nil
	}
	panic(embedded(by, call))
}

// createNCall returns the name of the call: AppendN if handles are wanted, else CreateN.
func createNCall(want bool) string {
	if want {
		return "Bundle.AppendN"
	}
	return "Bundle.CreateN"
}

// check refuses an actor of another world.
func (b *Bundle[T]) check(by Actor, call string) {
	if by == nil || by.world() != b.w {
		b.w.refuse(by, call, "bundle", b.name)
	}
}

func (b *Bundle[T]) part(s *store.Shard) *bundlePart[T] { return &b.parts[s.ID()] }

// store creates the atom in the shard, at once.
func (p *bundlePart[T]) store(v *T) (handle.Handle, error) {
	if p.plain {
		return store.CreatePlain(p.shard, p.table, p.fields, v)
	}
	a, err := p.shard.Create(p.table)
	if err == nil {
		p.put(a, v)
	}
	return a.Handle, err
}

// creator applies requests to create at the refresh: it stores the atoms.
type creator[T any] struct{ b *Bundle[T] }

func (c creator[T]) CreateAll(s *store.Shard, creates []queue.PendingRequest) {
	p := c.b.part(s)
	if p.plain {
		store.AdoptPlain(s, p.table, p.fields, creates)
		return
	}
	for _, r := range creates {
		a, err := s.Adopt(p.table, r.Handle)
		if err != nil {
			s.DecideCreate(r, queue.Refused)
			continue
		}
		p.put(a, mem.As[T](r.Payload()))
		s.DecideCreate(r, queue.Applied)
	}
}

func (c creator[T]) CreateMany(s *store.Shard, creates queue.PendingRequest) {
	p := c.b.part(s)
	if p.plain {
		store.AdoptManyPlain[T](s, p.table, p.fields, creates)
		return
	}
	values := queue.Values[T](creates)
	s.AdoptMany(p.table, creates, func(a store.Atom, i int) { p.put(a, &values[i]) })
}

func (creator[T]) Apply(*store.Shard, handle.Handle, slots.Loc, mem.Pointer) queue.Outcome {
	panic("world: a create is applied with others of its kind")
}

// put stores the fields of v in the atom's row and makes it alive.
func (p *bundlePart[T]) put(a store.Atom, v *T) {
	p.write(a, p.fields, v)
	a.Publish()
}

func (p *bundlePart[T]) write(a store.Atom, fields []store.Field, v *T) {
	if p.plain {
		store.StorePlain(a, fields, v)
	} else {
		p.scratch = *v
		store.Store(a, fields, &p.scratch)
		p.scratch = *new(T) // keeps nothing alive
	}
}

// write stores the fields of v in the row of an atom that has them, whichever table it is in.
func (b *Bundle[T]) write(s *store.Shard, a store.Atom, v *T) {
	p := b.part(s)
	fields := p.fields
	if t := a.Chunk.Table(); t != p.table {
		fields = t.FieldsOf(b.creating.Number(), fields)
	}
	a.Overwrite(fields)
	p.write(a, fields, v)
}
