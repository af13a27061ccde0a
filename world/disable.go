package world

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
)

// toggle is a request to disable or enable.
type toggle struct{ disabled bool }

// Disable makes queries that require the component skip the entity, without
// moving it: the component keeps its value, and is still read and written by
// handle. By a *World, or by a *Context in its own shard, at once, also for a
// query loop that is under way and has not come to the entity's chunk; from
// elsewhere as a request. A *Context must have asked its Build to Write the
// component. What is added or copied is enabled.
//
// It returns ErrStale, ErrMissing or ErrFull.
func (c *Component[T]) Disable(by Holder, h handle.Handle) error { return c.toggle(by, h, true) }

// Enable undoes Disable.
func (c *Component[T]) Enable(by Holder, h handle.Handle) error { return c.toggle(by, h, false) }

func (c *Component[T]) toggle(by Holder, h handle.Handle, disabled bool) error {
	c.check(by)
	if b, ok := by.(*Context); ok && b.Owns(h) {
		b.mustWrite(c.id, "Disable or Enable")
	}
	return c.toggler.toggle(by, h, disabled)
}

// Disable makes all queries skip the entity, without moving it. By whom, and
// errors, as of Component.Disable; nothing has to be declared.
func Disable(by Holder, h handle.Handle) error { return toggleEntity(by, h, true) }

// Enable undoes Disable.
func Enable(by Holder, h handle.Handle) error { return toggleEntity(by, h, false) }

func toggleEntity(by Holder, h handle.Handle, disabled bool) error {
	if by == nil {
		panic("world: Disable or Enable by a nil Holder; pass a *World, *Context, *Self or *Port")
	}
	return by.world().toggler.toggle(by, h, disabled)
}

// Enabled reports whether the entity is alive and neither it nor, if given, one
// of the components is disabled or missing.
func (w *World) Enabled(h handle.Handle, components ...AnyComponent) bool {
	w.mustBeAsked("Enabled")
	return w.enabled(w.space.Locate(h), components)
}

// Enabled is World.Enabled for an entity of the shard; of another's it returns
// false.
func (c *Context) Enabled(h handle.Handle, components ...AnyComponent) bool {
	c.mustRun("Enabled")
	l := c.w.space.Locate(h)
	return l != 0 && c.owns(l) && c.w.enabled(l, components)
}

func (w *World) enabled(l shard.Loc, components []AnyComponent) bool {
	if l == 0 || w.space.Off(l, -1) {
		return false
	}
	for _, c := range components {
		if id := w.idOf("Enabled", c); !w.space.Set(l).Has(id) || w.space.Off(l, id) {
			return false
		}
	}
	return true
}

// toggler disables and enables one component, or with component -1 the entity.
type toggler struct {
	w         *World
	component int
	toggling  shard.Kind[toggle]
}

func newToggler(w *World, component int) *toggler {
	t := &toggler{w: w, component: component}
	t.toggling = shard.NewKind[toggle](w.space, t)
	return t
}

func (t *toggler) toggle(by Holder, h handle.Handle, disabled bool) error {
	switch by := by.(type) {
	case *World:
		if err := by.ready("Disable"); err != nil {
			return err
		}
		return t.set(by.space.Locate(h), disabled)
	case *Context:
		by.mustRun("Disable")
		if by.Owns(h) {
			return t.set(by.w.space.Locate(h), disabled)
		}
	case *Self:
		if l := by.mustRun("Disable"); h == by.h {
			return t.set(l, disabled)
		}
	}
	return request(by, "Disable", &t.toggling, h, toggle{disabled})
}

func (t *toggler) set(l shard.Loc, disabled bool) error {
	switch {
	case l == 0:
		return ErrStale
	case t.component >= 0 && !t.w.space.Set(l).Has(t.component):
		return ErrMissing
	}
	t.w.shardOf(l).SetOff(l, t.component, disabled)
	return nil
}

func (t *toggler) Apply(_ *shard.Shard, _ handle.Handle, l shard.Loc, v shard.Payload) shard.Outcome {
	return outcomeOf(t.set(l, shard.As[toggle](v).disabled))
}
