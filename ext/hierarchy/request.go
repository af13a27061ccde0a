package hierarchy

import (
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// Add puts an entity in the relation, as a root. It stays there until it is removed
// or dies. An entity need not be added before it gets children or a parent.
func (r *Relation) Add(by world.Actor, h handle.Handle) error {
	return r.do(by, h, change{op: opAdd})
}

// Remove removes an entity from its parent and from the relation. If it has children it
// is refused with ErrChildren, unless the policy is Orphan or Grandparent, which then
// applies to them.
func (r *Relation) Remove(by world.Actor, h handle.Handle) error {
	return r.do(by, h, change{op: opRemove})
}

// AddChild makes an entity that has no parent a child of another: its last one, or in a fixed list
// at the first free place. It is refused with ErrParent if child has a parent, and with a
// CycleError if child is parent or an ancestor of it.
func (r *Relation) AddChild(by world.Actor, parent, child handle.Handle) error {
	if r.options.Places == 0 && r.mayAtOnce(by) && r.w.Locate(child) != 0 && r.tree.append(parent, child) {
		r.engine.Touched()
		return nil
	}
	return r.do(by, child, change{op: opAddChild, to: parent})
}

// AddChildAt is AddChild at a place; children from there on move back.
func (r *Relation) AddChildAt(by world.Actor, parent, child handle.Handle, place int) error {
	return r.do(by, child, change{op: opAddChildAt, to: parent, place: clamp(place)})
}

// AddChildren is AddChild for each child in turn. A *World adds all of them or, with an error, none.
// Other actors send a request for each child: all are sent or, with an error, none. The refresh then
// applies or refuses each on its own. A Completion of Port.Notify gets the outcome of the first.
func (r *Relation) AddChildren(by world.Actor, parent handle.Handle, children ...handle.Handle) error {
	self := r.requests.Check(by)
	if t, ok := self.(*engine.Tx); ok {
		return r.addAll(t, parent, children)
	}
	w, ok := self.(*engine.World)
	if !ok {
		return r.requests.SendN(by, children, change{op: opAddChild, to: parent})
	}
	if err := w.Err(); err != nil {
		return err
	}
	r.mustIdle("AddChildren")
	r.mustNotCompare("AddChildren")
	if len(children) == 0 {
		return nil
	}
	had := r.tree.own(parent) != 0
	if r.options.Places == 0 && w.Locate(parent) != 0 {
		if err := r.tree.expect(parent, len(children)); err != nil {
			return err
		}
	}
	for i, child := range children {
		if err := r.AddChild(by, parent, child); err != nil {
			r.tree.takeBack(parent, had, children[:i])
			return fmt.Errorf("%w (child %d of %d; none is added)", err, i+1, len(children))
		}
	}
	return nil
}

// RemoveChild removes a child from its parent; gap says what becomes of the place.
func (r *Relation) RemoveChild(by world.Actor, child handle.Handle, gap Gap) error {
	if gap == Swap && r.mayAtOnce(by) && r.tree.swapRemove(child) {
		r.engine.Touched()
		return nil
	}
	return r.do(by, child, change{op: opRemoveChild, gap: gap})
}

// RemoveHoles closes the holes among an entity's children, in order. In a fixed list
// the free places are last then.
func (r *Relation) RemoveHoles(by world.Actor, parent handle.Handle) error {
	return r.do(by, parent, change{op: opRemoveHoles})
}

// Move makes an entity a child of another, whatever its parent is: the last child, or in a
// fixed list at the first free place.
func (r *Relation) Move(by world.Actor, child, parent handle.Handle) error {
	if r.options.OnChildDeath == Swap && r.mayAtOnce(by) && r.tree.moveAppend(child, parent) {
		r.engine.Touched()
		return nil
	}
	return r.do(by, child, change{op: opMove, to: parent})
}

// MoveAt is Move to a place; children from there on move back. Places are counted after the child
// has left its old one.
func (r *Relation) MoveAt(by world.Actor, child, parent handle.Handle, place int) error {
	return r.do(by, child, change{op: opMoveAt, to: parent, place: clamp(place)})
}

// MoveBefore is Move to the place of another child, whatever that place is by then; it moves back by
// one with the children after it. It is refused with ErrAbsent if that child has no parent.
func (r *Relation) MoveBefore(by world.Actor, child, sibling handle.Handle) error {
	return r.do(by, child, change{op: opMoveBefore, to: sibling})
}

// Swap exchanges the places of two children, of one parent or of two: a trade, in
// one step. It is refused with ErrAbsent if one of them has no parent, and with a CycleError
// if one is an ancestor of the other.
func (r *Relation) Swap(by world.Actor, a, b handle.Handle) error {
	return r.do(by, a, change{op: opSwap, to: b})
}

// Sort sorts the children of an entity, holes last. With an idle *World, compare
// sees the relation as it was before the Sort, and so does a frame captured within it. compare
// must not change the relation, nor call what moves rows, such as World.Refresh: that panics.
// If compare panics, nothing has changed. With a *Context, compare is called at once with the
// present children, and Sort sends a request for each child. A child that has
// left the parent by then is skipped. A *Port cannot read children: ErrPort.
func (r *Relation) Sort(by world.Actor, parent handle.Handle, compare func(a, b handle.Handle) int) error {
	switch by := r.requests.Check(by).(type) {
	case *engine.World:
		if err := by.Err(); err != nil {
			return err
		}
		r.mustIdle("Sort")
		defer r.engine.Hold("the comparison of Relation.Sort")()
		outer := r.comparing
		r.comparing = true
		r.engine.Touched()
		defer func() { r.comparing = outer }()
		return r.tree.Sort(parent, compare)
	case *engine.Tx:
		return r.sortIn(by, parent, compare)
	case *engine.Context:
		buffer := &r.sorting[by.Shard()+1] // global systems use the first
		sorted := (*buffer)[:0]
		*buffer = nil // compare may call Sort, too
		for child := range (&Reader{tree: r.tree}).Each(parent) {
			sorted = append(sorted, child)
		}
		slices.SortStableFunc(sorted, compare)
		*buffer = sorted
		for i, child := range sorted {
			if err := r.requests.Send(by, child, change{op: opSort, from: parent, place: int32(i)}); err != nil {
				return err
			}
		}
		return nil
	}
	return r.requests.Refuse(by, ErrPort)
}

// SetPlaces makes an entity's list a fixed one of n places, whose indexes have a meaning:
// children that leave make holes, and the list does not grow. With 0 the list
// grows and shrinks again. It is refused with ErrTaken if a child is at a place beyond n, and with
// ErrPlace if n exceeds Options.PlacesMax.
func (r *Relation) SetPlaces(by world.Actor, parent handle.Handle, n int) error {
	return r.do(by, parent, change{op: opSetPlaces, place: r.limit(n)})
}

// Put moves an entity to a free place of a parent, whatever its parent is, in one step: at no time
// is it in two places, or in none. No other child moves. A list that is not fixed grows as far as
// needed. It is refused with ErrTaken, or with ErrPlace for a place that does not exist or exceeds
// Options.PlacesMax.
//
// With Free it is the first free place: in a list that is not fixed a hole or the end. An entity
// that is in this list already stays at its place if no other is free. It is refused with ErrNoPlace
// if a fixed list is full.
func (r *Relation) Put(by world.Actor, child, parent handle.Handle, place int) error {
	return r.do(by, child, change{op: opPut, to: parent, place: r.limit(place)})
}

// PutFrom is Put of an entity that must be a child of from, or have no parent if from is None. Of
// two requests for the same item the first is done; the other is refused with ErrElsewhere.
func (r *Relation) PutFrom(by world.Actor, child, from, to handle.Handle, place int) error {
	return r.do(by, child, change{op: opPutFrom, to: to, from: from, place: r.limit(place)})
}

// mayAtOnce reports whether by is the idle world. Then the usual case of a change
// can be tried first, without the checks of other cases: every entity in the relation is alive.
func (r *Relation) mayAtOnce(by world.Actor) bool {
	w, ok := by.(*world.World)
	if !ok || w != r.w || !r.engine.Idle() || r.comparing {
		return false
	}
	r.engine.MayTouch()
	return true
}

// do makes a change: at once with an idle world or a transaction, otherwise by a request.
func (r *Relation) do(by engine.Actor, h handle.Handle, c change) error {
	self := r.requests.Check(by)
	if t, ok := self.(*engine.Tx); ok {
		return r.doIn(t, h, &c)
	}
	w, ok := self.(*engine.World)
	if !ok {
		return r.requests.Send(by, h, c)
	}
	if !r.engine.Idle() {
		if err := w.Err(); err != nil {
			return err
		}
		r.mustIdle(c.op.String())
	}
	r.mustNotCompare(c.op.String())
	if !r.alive(h) || c.to != handle.None && !r.alive(c.to) {
		return world.ErrStale
	}
	r.engine.MayTouch()
	err := r.change(h, &c)
	if err == nil {
		r.engine.Touched()
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
func (r *Relation) apply(h handle.Handle, c *change) engine.Outcome {
	r.forget()
	if c.op >= opAdopt { // in a forged log: an op that nobody sends
		return engine.Refused
	}
	if c.to != handle.None && r.engine.Space().LocateStaged(c.to) == 0 { // one that dies with this refresh is still found
		return engine.Gone
	}
	switch err := r.changeFor(r.engine.Sender(), h, c); err {
	case nil:
		return engine.Applied
	case ErrAbsent:
		return engine.Missing
	default:
		r.note(Conflict{Change: c.op.String(), Entity: h, Other: c.to, Err: err})
		return engine.Refused
	}
}

// changeFor is change within what the sender may still cause.
func (r *Relation) changeFor(s *extend.Sender, h handle.Handle, c *change) error {
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
	case opSwap, opMoveBefore:
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

// limit replaces a place, or a number of places, beyond the limit by one that will be
// refused.
func (r *Relation) limit(place int) int32 {
	if place > r.options.PlacesMax {
		place = placeMax + 1
	}
	return clamp(place)
}

// note remembers a conflict.
func (r *Relation) note(f Conflict) {
	if len(r.conflicts) == r.options.ConflictsMax {
		return
	}
	if f.Err == ErrCycle {
		from := len(r.paths)
		r.paths = append(r.paths, r.tree.path...)
		f.Path, f.Omitted = r.paths[from:len(r.paths):len(r.paths)], r.tree.omitted
	}
	r.conflicts, r.retold = append(r.conflicts, f), true
}

// forget drops the conflicts of earlier refreshes.
func (r *Relation) forget() {
	if r.stale {
		r.retold = r.retold || len(r.conflicts) > 0
		clear(r.conflicts)
		r.conflicts, r.paths, r.stale = r.conflicts[:0], r.paths[:0], false
	}
}
