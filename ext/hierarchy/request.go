package hierarchy

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/world"
)

// Refusal is a request of a system or a port that the last refresh refused.
type Refusal struct {
	// Change is the method of Relation that was called, or "Destroy" for a parent that was
	// spared because of its children.
	Change string
	// Entity is the entity to be changed: the child, or the parent that owns the list.
	Entity handle.Handle
	// Other is the parent, sibling or partner, if there was one.
	Other handle.Handle
	// Err is the reason.
	Err error
	// Path and Omitted are what a CycleError has, from the entity down. Path is valid until the
	// next refresh.
	Path    []handle.Handle
	Omitted int
}

// Refused returns the requests that the last refresh refused, in order, up to
// Options.Refusals.
func (r *Reader) Refused() []Refusal {
	if r.refused == nil {
		return nil
	}
	return *r.refused
}

// forget drops what earlier refreshes refused.
func (r *Relation) forget() {
	if r.stale {
		r.retold = r.retold || len(r.refused) > 0
		clear(r.refused)
		r.refused, r.paths, r.stale = r.refused[:0], r.paths[:0], false
	}
}

// refuse remembers a refused request.
func (r *Relation) refuse(f Refusal) {
	if len(r.refused) == r.options.Refusals {
		return
	}
	if f.Err == ErrCycle {
		from := len(r.paths)
		r.paths = append(r.paths, r.tree.path...)
		f.Path, f.Omitted = r.paths[from:len(r.paths):len(r.paths)], r.tree.omitted
	}
	r.refused, r.retold = append(r.refused, f), true
}

// do makes a change: at once with an idle world, otherwise by a request.
func (r *Relation) do(by world.Actor, h handle.Handle, c change) error {
	w, ok := by.(*world.World)
	if !ok {
		return r.requests.Send(by, h, c)
	}
	r.requests.Check(by)
	if !r.driver.Idle() {
		if err := w.Err(); err != nil {
			return err
		}
		r.mustIdle(c.op.String())
	}
	r.mustNotCompare(c.op.String())
	if !r.alive(h) || c.to != handle.None && !r.alive(c.to) {
		return world.ErrStale
	}
	err := r.change(h, &c)
	if err == nil {
		r.driver.Touched()
	}
	return r.tree.named(err)
}

// mustNotCompare panics within the comparison of a Sort by the World.
func (r *Relation) mustNotCompare(call string) {
	if r.comparing {
		panic(fmt.Sprintf("hierarchy: Relation.%s of %q within the comparison of a Sort; change the relation after it", call, r.name))
	}
}

// alive reports whether an entity is alive, for an idle world. Every entity in the relation
// is.
func (r *Relation) alive(h handle.Handle) bool {
	return r.tree.look(h) != 0 || r.w.Locate(h) != 0
}

// apply applies a request at the refresh. Its entity is alive and not dying.
func (r *Relation) apply(h handle.Handle, c *change) world.Outcome {
	r.forget()
	if c.to != handle.None && r.driver.Space().LocateStaged(c.to) == 0 { // one that dies with this refresh is still found
		return world.Gone
	}
	switch err := r.changeFor(r.driver.Sender(), h, c); err {
	case nil:
		return world.Applied
	case ErrAbsent:
		return world.Missing
	default:
		r.refuse(Refusal{Change: c.op.String(), Entity: h, Other: c.to, Err: err})
		return world.Refused
	}
}

// changeFor is change within what the sender may still cause.
func (r *Relation) changeFor(s *drive.Sender, h handle.Handle, c *change) error {
	if !s.Port {
		return r.change(h, c)
	}
	left := r.options.StepsMax - s.Steps
	if left <= 0 {
		return ErrSteps
	}
	t := r.tree
	t.steps, t.stepsMax = 0, left
	err := r.change(h, c)
	s.Steps, t.stepsMax = s.Steps+t.steps, 0
	return err
}

// change makes a change of living entities, by the relation's policies. A new parent
// gets its fixed places first.
func (r *Relation) change(h handle.Handle, c *change) error {
	t, parent := r.tree, c.to
	if c.op != opRemoveChild {
		c.gap = r.options.OnChildDeath
	}
	switch c.op {
	case opAdd:
		parent = h
	case opSwap, opMoveBefore, opMoveAfter:
		parent = handle.None
	case opRemove:
		return r.removeOne(h, c)
	}
	fresh := r.options.Places > 0 && parent != handle.None && t.own(parent) == 0
	if fresh {
		if err := t.SetPlaces(parent, r.options.Places); err != nil {
			return err
		}
	}
	err := t.change(h, c)
	if number := t.own(parent); err != nil && fresh && number != 0 {
		t.dropList(number)
	}
	return err
}

// removeOne is the change Remove. An entity that is there for its children alone is gone when these
// have left.
func (r *Relation) removeOne(h handle.Handle, c *change) error {
	there := r.tree.has(h)
	if err := r.leaveChildren(h); err != nil {
		return err
	}
	if err := r.tree.change(h, c); err != ErrAbsent || !there {
		return err
	}
	return nil
}

// leaveChildren applies the policy to the children of an entity that is removed:
// they go to the grandparent if there is one, or become roots.
func (r *Relation) leaveChildren(h handle.Handle) error {
	t := r.tree
	number := t.own(h)
	if t.list(number).children() == 0 {
		return nil
	}
	switch r.options.OnParentDeath {
	case Destroy, Refuse:
		return ErrChildren
	case Grandparent:
		r.passOn(h, func(handle.Handle) bool { return false })
	}
	t.steps += t.list(number).children()*adoptSteps + t.list(number).places()
	r.takeBequests()
	t.unlinkChildren(number, nil)
	r.adoptBequests()
	return nil
}

// limit replaces a place, or a number of places, beyond the limit by one that will be
// refused.
func (r *Relation) limit(place int) int32 {
	if place > r.options.PlacesMax {
		place = PlaceMax + 1
	}
	return clamp(place)
}
