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
}

// change is a request to give an entity the fields of a T and take others away.
type change[T any] struct {
	value  T
	remove store.Set
}

// adder, remover and changer apply requests to add and remove at the refresh. They do
// not embed the component or bundle: that would double what is compiled for each component
// type.
type adder[T any] struct{ c *Component[T] }

type remover[T any] struct{ c *Component[T] }

type changer[T any] struct{ b *Bundle[T] }

// Add gives an entity the component; an entity that has it already gets the value. A *World
// adds at once. With any other actor Add is a request that the refresh applies, even by a
// *Context in its own shard or an *EntityContext on its own entity: adding moves the row to
// another table, and nothing moves while systems run.
//
// It returns ErrStale if the entity is known not to be alive, ErrFull if the
// request was not accepted, ErrChunks if the world is full.
func (c *Component[T]) Add(by Actor, h handle.Handle, v T) error {
	if w, ok := by.(*World); ok && w == c.w {
		if err := w.idle("Component.Add by the World"); err != nil {
			return err
		}
		w.outdate()
		if l := w.lookup.Locate(h); l != 0 {
			return c.add(l, v)
		}
		return ErrStale
	}
	c.check(by, "Component.Add")
	return request(by, "Component.Add", &c.adding, h, v)
}

// Remove takes the component from an entity, at once or by request as Add does. It returns
// ErrStale, ErrMissing if the entity is known to lack the component, or ErrFull.
func (c *Component[T]) Remove(by Actor, h handle.Handle) error {
	if w, ok := by.(*World); ok && w == c.w {
		if err := w.idle("Component.Remove by the World"); err != nil {
			return err
		}
		w.outdate()
		if l := w.lookup.Locate(h); l != 0 {
			return c.remove(l)
		}
		return ErrStale
	}
	c.check(by, "Component.Remove")
	return request(by, "Component.Remove", &c.removing, h, struct{}{})
}

func (c *Component[T]) check(by Actor, call string) {
	if by == nil || by.world() != c.w {
		c.w.refuse(by, call, "component", c.name())
	}
}

func (c *Component[T]) add(l slots.Loc, v T) error {
	a, err := c.w.space.With(l, c.id)
	if err == nil {
		*store.Value[T](a, c.id) = v
		if c.column.Watched() && a.Loc() == l { // the entity had it already
			c.w.space.NoteStored(l, c.id)
		}
	}
	return err
}

func (c *Component[T]) remove(l slots.Loc) error {
	had, err := c.w.space.Without(l, c.id)
	if !had {
		return ErrMissing
	}
	return err
}

func (c *Component[T]) components(w *World) store.Set {
	var set store.Set
	if c == nil {
		panic(fmt.Sprintf("world: a component is a nil %T; pass what world.Register returned", c))
	}
	if w != c.w {
		panic(fmt.Sprintf("world: component %q belongs to another world; use the one that was registered in this world", c.name()))
	}
	set.Add(c.id)
	return set
}

func (a adder[T]) Apply(_ *store.Shard, _ handle.Handle, l slots.Loc, v mem.Pointer) queue.Outcome {
	return outcomeOf(a.c.add(l, *mem.As[T](v)))
}

func (r remover[T]) Apply(_ *store.Shard, _ handle.Handle, l slots.Loc, _ mem.Pointer) queue.Outcome {
	return outcomeOf(r.c.remove(l))
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
	b.check(by, "Bundle.Add")
	gone := b.w.setOf("Bundle.Add", remove)
	w, ok := by.(*World)
	if !ok {
		return request(by, "Bundle.Add", &b.changing, h, change[T]{v, gone})
	}
	if err := w.idle("Bundle.Add by the World"); err != nil {
		return err
	}
	l := w.lookup.Locate(h)
	if l == 0 {
		return ErrStale
	}
	w.outdate()
	return b.change(w.shardOf(l), l, &v, gone)
}

func (b *Bundle[T]) change(s *store.Shard, l slots.Loc, v *T, remove store.Set) error {
	had := *b.w.space.Set(l)
	a, err := s.Change(l, had.Minus(remove).Union(b.set))
	if err != nil {
		return err
	}
	b.write(s, a, v)
	b.w.space.NoteAllStored(a.Loc(), had.Common(b.set))
	return nil
}

func (c changer[T]) Apply(s *store.Shard, _ handle.Handle, l slots.Loc, p mem.Pointer) queue.Outcome {
	v := mem.As[change[T]](p)
	return outcomeOf(c.b.change(s, l, &v.value, v.remove))
}

// contextSend sends a request of a system.
func contextSend[T any](c *Context, call string, k *queue.Kind[T], h handle.Handle, v T) error {
	c.mustRun(call)
	if !c.w.space.Alive(h) {
		return ErrStale
	}
	return send(&c.out, k, h, nil, v)
}
