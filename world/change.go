package world

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
)

// ComponentSet is something that names components: a *Component or a *Bundle.
type ComponentSet interface{ components(w *World) shard.Set }

// change is a request to give an entity the fields of a T and take others away.
type change[T any] struct {
	value  T
	remove shard.Set
}

// adder, remover and changer are what requests to add, remove and exchange do at
// the refresh. They do not embed what they are of: that would double what is
// compiled for each component type.
type adder[T any] struct{ c *Component[T] }

type remover[T any] struct{ c *Component[T] }

type changer[T any] struct{ b *Bundle[T] }

// Add gives an entity the component; one that has it already gets the value. By a
// *World at once; by others, a *Context in its own shard and a *EntityContext of its own
// entity too, as a request that the refresh applies: adding moves the atom to
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

// Remove takes the component from an entity; by whom as of Add. It returns
// ErrStale, ErrMissing if the entity is known to lack it, or ErrFull.
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
		c.w.refuse(by, call, "component", c.Name())
	}
}

func (c *Component[T]) add(l shard.Loc, v T) error {
	a, err := c.w.space.With(l, c.id)
	if err == nil {
		*shard.Value[T](a, c.id) = v
		if c.column.Watched() && a.Loc() == l { // it had it
			c.w.space.NoteStored(l, c.id)
		}
	}
	return err
}

func (c *Component[T]) remove(l shard.Loc) error {
	had, err := c.w.space.Without(l, c.id)
	if !had {
		return ErrMissing
	}
	return err
}

func (c *Component[T]) components(w *World) shard.Set {
	var set shard.Set
	set.Add(c.in(w))
	return set
}

func (a adder[T]) Apply(_ *shard.Shard, _ handle.Handle, l shard.Loc, v shard.Payload) shard.Outcome {
	return outcomeOf(a.c.add(l, *shard.As[T](v)))
}

func (r remover[T]) Apply(_ *shard.Shard, _ handle.Handle, l shard.Loc, _ shard.Payload) shard.Outcome {
	return outcomeOf(r.c.remove(l))
}

// outcomeOf tells a sender what an error at the refresh means.
func outcomeOf(err error) shard.Outcome {
	switch err {
	case nil:
		return shard.Applied
	case ErrMissing:
		return shard.Missing
	default:
		return shard.Refused
	}
}

// Add gives an entity all of the bundle's components in one move; those it has
// already get the values. By whom, and errors, as of Component.Add.
func (b *Bundle[T]) Add(by Actor, h handle.Handle, v T) error {
	return b.exchange(by, "Bundle.Add", h, v, nil)
}

// Exchange is Add that in the same move takes away the components of the given
// parts, as far as the entity has them. What is in both is kept.
func (b *Bundle[T]) Exchange(by Actor, h handle.Handle, v T, remove ...ComponentSet) error {
	return b.exchange(by, "Bundle.Exchange", h, v, remove)
}

// exchange is Add and Exchange, as the call says.
func (b *Bundle[T]) exchange(by Actor, call string, h handle.Handle, v T, remove []ComponentSet) error {
	b.check(by, call)
	gone := b.w.setOf(call, remove)
	w, ok := by.(*World)
	if !ok {
		return request(by, call, &b.changing, h, change[T]{v, gone})
	}
	if err := w.idle(call); err != nil {
		return err
	}
	l := w.lookup.Locate(h)
	if l == 0 {
		return ErrStale
	}
	w.outdate()
	return b.change(w.shardOf(l), l, &v, gone)
}

func (b *Bundle[T]) change(s *shard.Shard, l shard.Loc, v *T, remove shard.Set) error {
	had := *b.w.space.Set(l)
	a, err := s.Change(l, had.Minus(remove).Union(b.set))
	if err != nil {
		return err
	}
	b.write(s, a, v)
	b.w.space.NoteAllStored(a.Loc(), had.Common(b.set))
	return nil
}

func (c changer[T]) Apply(s *shard.Shard, _ handle.Handle, l shard.Loc, p shard.Payload) shard.Outcome {
	v := shard.As[change[T]](p)
	return outcomeOf(c.b.change(s, l, &v.value, v.remove))
}

// contextSend sends a request of a system.
func contextSend[T any](c *Context, call string, k *shard.Kind[T], h handle.Handle, v T) error {
	c.mustRun(call)
	if !c.w.space.Alive(h) {
		return ErrStale
	}
	return send(&c.out, k, h, nil, v)
}
