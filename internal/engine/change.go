package engine

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// adder applies requests to add a component at the refresh.
type adder struct{ c *Component }

// remover applies requests to remove a component.
type remover struct{ c *Component }

// changer applies requests to add a bundle and remove components.
type changer struct{ b *Bundle }

// Add accepts the request of Component.Add, from any actor. For the idle world it moves the row at
// once, and returns where the caller stores the value. After an error nothing has changed.
func (c *Component) Add(by Self, h handle.Handle) (Sending, error) {
	if w, ok := by.(*World); ok && w == c.w {
		if err := w.idle("Component.Add by the World"); err != nil {
			return Sending{}, err
		}
		w.outdate()
		if l := w.lookup.Locate(h); l != 0 {
			w.Touched()
			to, err := w.space.With(h, l, c.id)
			return Sending{To: to, times: timed(c.adding.Type())}, err
		}
		return Sending{}, ErrStale
	}
	c.check(by, "Component.Add")
	if t, ok := by.(*Tx); ok {
		return c.addIn(t, h)
	}
	return Request(by, "Component.Add", &c.adding, h)
}

// Remove takes the component from an entity: at once by the idle world, by request of other actors.
// After an error nothing has changed.
func (c *Component) Remove(by Self, h handle.Handle) error {
	if w, ok := by.(*World); ok && w == c.w {
		if err := w.idle("Component.Remove by the World"); err != nil {
			return err
		}
		w.outdate()
		if l := w.lookup.Locate(h); l != 0 {
			w.refuseSealed()
			err := c.removeAt(h, l)
			w.touched = w.touched || err != ErrMissing
			return err
		}
		return ErrStale
	}
	c.check(by, "Component.Remove")
	if t, ok := by.(*Tx); ok {
		return c.removeIn(t, h)
	}
	x, err := Request(by, "Component.Remove", &c.removing, h)
	if err == nil {
		x.Done()
	}
	return err
}

// check panics about an actor of another world, or none.
func (c *Component) check(by Self, call string) {
	if by == nil || by.world() != c.w {
		c.w.panicForeign(by, call, "component", c.Name())
	}
}

// removeAt takes the component from the entity at l, which moves its row, or returns ErrMissing.
// The caller has the shard. After an error nothing has changed.
func (c *Component) removeAt(h handle.Handle, l slots.Loc) error {
	had, err := c.w.space.Without(h, l, c.id)
	if !had {
		return ErrMissing
	}
	return err
}

// Apply gives the entity at l the component, which moves its row. The worker of the shard calls it
// in the step apply. It answers Refused, and changes nothing, if the port has used up what its
// requests may cost, or if there is no room.
func (a adder) Apply(s *store.Shard, h handle.Handle, l slots.Loc, v mem.Pointer) queue.Outcome {
	if s.Spent() {
		return queue.Refused
	}
	was := s.Cost()
	to, err := a.c.w.space.With(h, l, a.c.id)
	s.Charge(was)
	if err == nil {
		a.c.adding.Type().Copy(to.Address, v.Address, 1)
	}
	return outcomeOf(err)
}

// Apply takes the component from the entity at l, as far as the sender's limit allows. The worker
// of the shard calls it in the step apply.
func (r remover) Apply(s *store.Shard, h handle.Handle, l slots.Loc, _ mem.Pointer) queue.Outcome {
	if s.Spent() {
		return queue.Refused
	}
	was := s.Cost()
	err := r.c.removeAt(h, l)
	s.Charge(was)
	return outcomeOf(err)
}

// ApplyRun implements store.Runner, on the shard's worker. It returns how many it has applied; the
// rest goes to Apply.
func (a adder) ApplyRun(s *store.Shard, of store.Adjacent) (applied int) {
	if s.Spent() {
		return 0
	}
	return of.With(a.c.id)
}

// ApplyRun implements store.Runner, as adder.ApplyRun does.
func (r remover) ApplyRun(s *store.Shard, of store.Adjacent) (applied int) {
	if s.Spent() {
		return 0
	}
	return of.Without(r.c.id)
}

// outcomeOf is the outcome of a request whose Apply got err from the storage, which has then
// changed nothing.
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

// SetOf returns the components that a call of Bundle.Add removes. It panics about an actor of
// another world.
func (b *Bundle) SetOf(by Self, remove []ComponentSet) store.Set {
	b.check(by, "Bundle.Add")
	return b.w.SetOf("Bundle.Add", remove)
}

// Add accepts the request of Bundle.Add, from any actor. For the idle world it returns the part
// where the caller stores the bundle, and l, which ChangeFrom takes. After an error nothing has
// changed.
func (b *Bundle) Add(by Self, h handle.Handle) (x Sending, p *BundlePart, l slots.Loc, err error) {
	w, ok := by.(*World)
	if !ok {
		x, err = Request(by, "Bundle.Add", &b.changing, h)
		return x, nil, 0, err
	}
	if err := w.idle("Bundle.Add by the World"); err != nil {
		return x, nil, 0, err
	}
	if l = w.lookup.Locate(h); l == 0 {
		return x, nil, 0, ErrStale
	}
	w.outdate()
	w.Touched()
	p = b.part(w.shardOf(l))
	return Sending{To: p.Scratch}, p, l, nil
}

// removeOf returns the components that a change[T] at p removes.
func (b *Bundle) removeOf(p mem.Pointer) *store.Set {
	return mem.As[store.Set](p.At(1, b.remove))
}

// ChangeFrom changes an entity of the idle world at once, from what its caller has stored in the
// part, and empties the part. After an error the entity is as before.
func (b *Bundle) ChangeFrom(p *BundlePart, l slots.Loc, remove *store.Set) error {
	err := b.change(p.shard, l, p.Scratch, remove)
	p.forget()
	return err
}

// change gives the entity at l the bundle at v, and takes the components of remove away, which
// moves its row. The caller has the shard. After an error nothing has changed.
func (b *Bundle) change(s *store.Shard, l slots.Loc, v mem.Pointer, remove *store.Set) error {
	had := *b.w.space.Set(l)
	a, err := s.Change(l, had.Minus(*remove).Union(b.set))
	if err != nil {
		return err
	}
	b.write(s, a, v)
	b.w.space.NoteAllStored(a.Loc(), had.Common(b.set))
	return nil
}

// Apply changes the entity at l, as far as the sender's limit allows. The worker of the shard calls
// it in the step apply.
func (c changer) Apply(s *store.Shard, _ handle.Handle, l slots.Loc, p mem.Pointer) queue.Outcome {
	if s.Spent() {
		return queue.Refused
	}
	was := s.Cost()
	err := c.b.change(s, l, p, c.b.removeOf(p))
	s.Charge(was)
	return outcomeOf(err)
}

// ApplyRun implements store.Runner, on the shard's worker, for requests that remove the same
// components. It returns how many it has applied.
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

// Describe describes a kind of request, for logs and snapshots: what it does, and the name of what
// it does that with.
func Describe(what, name string) store.Description {
	return store.Description{Name: fmt.Sprintf("%s %q", what, name)}
}

// Describe implements store.Handler.
func (s setter) Describe() store.Description { return Describe("set of component", s.c.Name()) }

// Describe implements store.Handler.
func (a adder) Describe() store.Description { return Describe("add of component", a.c.Name()) }

// Describe implements store.Handler.
func (r remover) Describe() store.Description { return Describe("remove of component", r.c.Name()) }

// Describe says that asking for a component changes nothing.
func (a asker) Describe() store.Description {
	d := Describe("question for component", a.c.Name())
	d.Asks = true
	return d
}

// Describe implements store.Handler.
func (c creator) Describe() store.Description { return Describe("create of bundle", c.b.name) }

// Describe implements store.Handler.
func (c changer) Describe() store.Description { return Describe("exchange of bundle", c.b.name) }

// Renumber gives the components that a request removes the numbers that now returns, and drops
// those for which it is negative. A load of a snapshot calls it.
func (c changer) Renumber(p mem.Pointer, now func(component int) int) {
	x := c.b.removeOf(p)
	was := *x
	*x = store.Set{}
	for id := range was.All {
		if id = now(id); id >= 0 {
			x.Add(id)
		}
	}
}

// Describe implements store.Handler.
func (a assigner) Describe() store.Description { return Describe("set of bundle", a.b.name) }

// Describe implements store.Handler.
func (f *flagger) Describe() store.Description { return store.Description{Name: "flags of the entity"} }
