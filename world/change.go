package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// ComponentSet names components: a *Component or a *Bundle.
type ComponentSet interface {
	Viewable
	// components returns the set. It panics if they belong to another world.
	components(w *World) store.Set
	// in reports whether a set has all of them. It panics as components does.
	in(w *World, set *store.Set) bool
}

// change is a request to give an entity the fields of a T and take other components away. Its value
// is first, so both have the same address.
type change[T any] struct {
	value  T
	remove store.Set
}

// adder, remover and changer apply requests to add and remove at the refresh.
type adder struct{ c *component }

type remover struct{ c *component }

type changer struct{ b *bundle }

// Add gives an entity the component; an entity that has it already gets the value. A *World
// adds at once. With any other actor Add is a request that the refresh applies, even by a
// *Context in its own shard or an *EntityContext on its own entity: adding moves the row to
// another table, and nothing moves while systems run.
//
// It returns ErrStale if the entity is known not to be alive, ErrFull if the
// request was not accepted, ErrChunks if the world is full. What the requests of one port take to
// add and remove components, and to move entities, has a limit for each shard and refresh, beyond
// which their outcome is Refused; see docs/limits.md.
func (c *Component[T]) Add(by Actor, h handle.Handle, v T) error {
	x, err := c.core.add(by, h)
	if err != nil {
		return err
	}
	*mem.As[T](x.to) = v
	x.done()
	return nil
}

func (c *component) add(by Actor, h handle.Handle) (sending, error) {
	if w, ok := by.(*World); ok && w == c.w {
		if err := w.idle("Component.Add by the World"); err != nil {
			return sending{}, err
		}
		w.outdate()
		if l := w.lookup.Locate(h); l != 0 {
			w.touched = true
			to, err := c.addAt(h, l)
			return sending{to: to, times: timed(c.adding.Type())}, err
		}
		return sending{}, ErrStale
	}
	c.check(by, "Component.Add")
	return request(by, "Component.Add", &c.adding, h)
}

// Remove takes the component from an entity, at once or by request as Add does. It returns
// ErrStale, ErrMissing if the entity is known to lack the component, or ErrFull.
func (c *Component[T]) Remove(by Actor, h handle.Handle) error { return c.core.remove(by, h) }

func (c *component) remove(by Actor, h handle.Handle) error {
	if w, ok := by.(*World); ok && w == c.w {
		if err := w.idle("Component.Remove by the World"); err != nil {
			return err
		}
		w.outdate()
		if l := w.lookup.Locate(h); l != 0 {
			err := c.removeAt(h, l)
			w.touched = w.touched || err != ErrMissing
			return err
		}
		return ErrStale
	}
	c.check(by, "Component.Remove")
	x, err := request(by, "Component.Remove", &c.removing, h)
	if err == nil {
		x.done()
	}
	return err
}

func (c *component) check(by Actor, call string) {
	if by == nil || by.world() != c.w {
		c.w.panicForeign(by, call, "component", c.name())
	}
}

// addAt returns where to store the component of an entity, which has it from now on.
func (c *component) addAt(h handle.Handle, l slots.Loc) (to mem.Pointer, err error) {
	return c.w.space.With(h, l, c.id)
}

func (c *component) removeAt(h handle.Handle, l slots.Loc) error {
	had, err := c.w.space.Without(h, l, c.id)
	if !had {
		return ErrMissing
	}
	return err
}

func (c *Component[T]) components(w *World) store.Set {
	if c == nil {
		panic(fmt.Sprintf("world: a component is a nil %T; pass what world.Register returned", c))
	}
	return c.core.components(w)
}

func (c *Component[T]) in(w *World, set *store.Set) bool {
	if c == nil || w != c.core.w {
		c.components(w) // panics
	}
	return set.Has(c.core.id)
}

func (c *component) components(w *World) (set store.Set) {
	if w != c.w {
		panic(fmt.Sprintf("world: component %q belongs to another world; use the one that was registered in this world", c.name()))
	}
	set.Add(c.id)
	return set
}

func (a adder) Apply(s *store.Shard, h handle.Handle, l slots.Loc, v mem.Pointer) queue.Outcome {
	if s.Spent() {
		return queue.Refused
	}
	was := s.Cost()
	to, err := a.c.addAt(h, l)
	s.Charge(was)
	if err == nil {
		a.c.adding.Type().Copy(to.Address, v.Address, 1)
	}
	return outcomeOf(err)
}

func (r remover) Apply(s *store.Shard, h handle.Handle, l slots.Loc, _ mem.Pointer) queue.Outcome {
	if s.Spent() {
		return queue.Refused
	}
	was := s.Cost()
	err := r.c.removeAt(h, l)
	s.Charge(was)
	return outcomeOf(err)
}

// ApplyRun implements store.Runner.
func (a adder) ApplyRun(s *store.Shard, of store.Adjacent) (applied int) {
	if s.Spent() {
		return 0
	}
	return of.With(a.c.id)
}

// ApplyRun implements store.Runner.
func (r remover) ApplyRun(s *store.Shard, of store.Adjacent) (applied int) {
	if s.Spent() {
		return 0
	}
	return of.Without(r.c.id)
}

// outcomeOf is the outcome of a request whose apply returned err.
func outcomeOf(err error) queue.Outcome {
	switch err {
	case nil:
		return queue.Applied
	case ErrMissing:
		return queue.Missing
	default:
		return queue.Refused
	}
}

// Add gives an entity all of the bundle's components, and takes away those of remove that it has,
// in one move. An entity that has some of the bundle's components already gets the values; a
// component that is both in the bundle and in remove is kept. It acts at once or by request, and
// returns errors, as Component.Add does.
func (b *Bundle[T]) Add(by Actor, h handle.Handle, v T, remove ...ComponentSet) error {
	gone := b.core.setOf(by, remove)
	x, p, l, err := b.core.add(by, h)
	switch {
	case err != nil:
		return err
	case p == nil:
		*mem.As[change[T]](x.to) = change[T]{v, gone}
		x.done()
		return nil
	}
	*mem.As[T](x.to) = v
	return b.core.changeFrom(p, l, &gone)
}

// setOf returns the components that a call of Add removes.
func (b *bundle) setOf(by Actor, remove []ComponentSet) store.Set {
	b.check(by, "Bundle.Add")
	return b.w.setOf("Bundle.Add", remove)
}

// add accepts a request with a change, or returns the arguments of changeFrom, with the place for
// the bundle.
func (b *bundle) add(by Actor, h handle.Handle) (x sending, p *bundlePart, l slots.Loc, err error) {
	w, ok := by.(*World)
	if !ok {
		x, err = request(by, "Bundle.Add", &b.changing, h)
		return x, nil, 0, err
	}
	if err := w.idle("Bundle.Add by the World"); err != nil {
		return x, nil, 0, err
	}
	if l = w.lookup.Locate(h); l == 0 {
		return x, nil, 0, ErrStale
	}
	w.outdate()
	w.touched = true
	p = b.part(w.shardOf(l))
	return sending{to: p.scratch}, p, l, nil
}

// removeOf returns the components that a change[T] removes.
func (b *bundle) removeOf(p mem.Pointer) *store.Set {
	return mem.As[store.Set](p.At(1, b.remove))
}

// changeFrom changes an entity at once, from what its caller has stored in the part.
func (b *bundle) changeFrom(p *bundlePart, l slots.Loc, remove *store.Set) error {
	err := b.change(p.shard, l, p.scratch, remove)
	p.forget()
	return err
}

func (b *bundle) change(s *store.Shard, l slots.Loc, v mem.Pointer, remove *store.Set) error {
	had := *b.w.space.Set(l)
	a, err := s.Change(l, had.Minus(*remove).Union(b.set))
	if err != nil {
		return err
	}
	b.write(s, a, v)
	b.w.space.NoteAllStored(a.Loc(), had.Common(b.set))
	return nil
}

func (c changer) Apply(s *store.Shard, _ handle.Handle, l slots.Loc, p mem.Pointer) queue.Outcome {
	if s.Spent() {
		return queue.Refused
	}
	was := s.Cost()
	err := c.b.change(s, l, p, c.b.removeOf(p))
	s.Charge(was)
	return outcomeOf(err)
}

// ApplyRun implements store.Runner, for requests that remove the same components.
func (c changer) ApplyRun(s *store.Shard, of store.Adjacent) (applied int) {
	if s.Spent() {
		return 0
	}
	remove, n := c.b.removeOf(of.Payload(0)), 1
	for n < of.Len() && *c.b.removeOf(of.Payload(n)) == *remove {
		n++
	}
	had := of.Table().Set()
	of = of.Head(n).To(had.Minus(*remove).Union(c.b.set))
	if of.Len() > 0 {
		c.b.putRun(s, of)
		of.NoteAllStored(had.Common(c.b.set))
	}
	return of.Applied()
}
