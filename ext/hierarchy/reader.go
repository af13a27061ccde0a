package hierarchy

import (
	"iter"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// Reader reads a relation. What it returns is valid until the next change of the relation: within a
// tick nothing changes, because the refresh makes the changes. If the body of a loop over a walk
// changes the relation of an idle world, the walk ends, but what it yields after that is undefined.
// Collect the entities first, and change the relation after the loop.
//
// A handle that is not in the relation, stale ones included, has no parent and no children. It is
// never an error.
//
// Ownership: one goroutine at a time. A Reader has scratch memory, so each system gets its own. A
// Reader of a world.Frame is for any number of goroutines, until the frame is released.
type Reader struct {
	tree      *tree
	queue     []handle.Handle // of BreadthFirst, which may be nested
	relation  *Relation       // nil for a tree without a world
	conflicts *[]Conflict     // likewise
	frame     world.Binder    // nil unless it is of a frame
	frozen    *frozen         // the copy of the relation in the frame
}

// guard panics if the reader of the idle world is used while a tick runs, the reader of transactions
// when none runs, or the reader of a frame after the frame was released.
func (r *Reader) guard() {
	if check.Enabled && r.relation != nil && r == &r.relation.inTx {
		r.relation.engine.Tx().MustRun("a hierarchy.Reader of a Tx")
	}
	if check.Enabled && r.relation != nil && r == &r.relation.idle {
		r.relation.mustIdle("Read")
	}
	if check.Enabled && r.frame != nil {
		r.relation.engine.Binds(r.frame, r.relation.part, "hierarchy.Reader")
	}
}

// scratch returns the reader whose queue a walk may use.
func (r *Reader) scratch() *Reader {
	if r.frame == nil {
		return r
	}
	own := *r
	return &own
}

// Has reports whether the entity is in the relation: it was added, has a parent or has
// children. O(1).
func (r *Reader) Has(h handle.Handle) bool { return r.tree.has(h) }

// Children returns the children of an entity in order, including holes, which are None. It is
// the relation's own memory, which must not be written. O(1), or
// O(children) for the first call after children were removed.
func (r *Reader) Children(h handle.Handle) []handle.Handle {
	r.guard()
	return r.tree.children(h)
}

// Each yields the children of an entity in order, without holes.
func (r *Reader) Each(h handle.Handle) iter.Seq[handle.Handle] {
	return func(yield func(handle.Handle) bool) {
		for _, child := range r.Children(h) {
			if child != handle.None && !yield(child) {
				return
			}
		}
	}
}

// Count returns the number of children, without holes. O(1).
func (r *Reader) Count(h handle.Handle) int {
	r.guard()
	return r.tree.list(r.tree.own(h)).children()
}

// At returns the child at a place, or None. O(1).
func (r *Reader) At(h handle.Handle, place int) handle.Handle {
	if children := r.Children(h); place >= 0 && place < len(children) {
		return children[place]
	}
	return handle.None
}

// Place returns the place of a child among its parent's children, and whether it
// has a parent. O(1), and one more step for every 524,288 places of the list. In
// a relation of more than 65,536 parents that number is smaller, in proportion.
func (r *Reader) Place(child handle.Handle) (int, bool) {
	r.guard()
	t := r.tree
	number := t.number(t.linkOf(t.look(child)))
	if number == 0 {
		return 0, false
	}
	t.settled(number)
	return t.placeOf(child), true
}

// Fixed reports whether the places of an entity's list are fixed.
func (r *Reader) Fixed(h handle.Handle) bool { return r.tree.list(r.tree.own(h)).is(fixed) }

// Parent returns the parent of an entity, or None. O(1).
func (r *Reader) Parent(h handle.Handle) handle.Handle {
	r.guard()
	return r.tree.parent(h)
}

// Depth returns the number of ancestors of an entity. O(depth).
func (r *Reader) Depth(h handle.Handle) int {
	depth := 0
	for range r.Ancestors(h) {
		depth++
	}
	return depth
}

// Root returns the topmost ancestor of an entity. For a root, and for an entity that
// is not in the relation, it returns h. O(depth).
func (r *Reader) Root(h handle.Handle) handle.Handle {
	for up := range r.Ancestors(h) {
		h = up
	}
	return h
}

// IsAncestor reports whether a is the parent of h or of one of its ancestors. O(depth).
func (r *Reader) IsAncestor(a, h handle.Handle) bool {
	return a != handle.None && a != h && r.tree.isAncestor(a, h)
}

// Ancestors yields the parent of an entity, the parent's parent, and so on.
func (r *Reader) Ancestors(h handle.Handle) iter.Seq[handle.Handle] {
	return func(yield func(handle.Handle) bool) {
		for up := r.tree.parent(h); up != handle.None && yield(up); {
			up = r.tree.parent(up)
		}
	}
}

// DepthFirst yields the descendants of an entity: each before its own children, and
// these before its next sibling. It needs no memory.
func (r *Reader) DepthFirst(h handle.Handle) iter.Seq[handle.Handle] {
	return func(yield func(handle.Handle) bool) { r.depthFirst(h, yield) }
}

// depthFirst is the walk of DepthFirst. It keeps no stack: from the last child it finds its way back
// by the links.
func (r *Reader) depthFirst(h handle.Handle, yield func(handle.Handle) bool) {
	t, at := r.tree, h
	children, i := r.Children(h), 0
	for {
		if i < len(children) {
			child := children[i]
			i++
			if child == handle.None {
				continue
			}
			if !yield(child) {
				return
			}
			if below := r.Children(child); len(below) > 0 {
				at, children, i = child, below, 0
			}
			continue
		}
		if at == h {
			return
		}
		link := t.linkOf(t.look(at))
		if link == 0 { // the loop's body has moved it
			return
		}
		i = t.placeOf(at) + 1
		at = t.owners[t.number(link)]
		children = r.Children(at)
	}
}

// BreadthFirst yields the descendants of an entity, children first, then
// grandchildren, and so on; within a level in the order of their parents. The
// Reader remembers the parents of the level.
func (r *Reader) BreadthFirst(h handle.Handle) iter.Seq[handle.Handle] {
	return func(yield func(handle.Handle) bool) {
		r := r.scratch()
		base := len(r.queue)
		defer func() { r.queue = r.queue[:base] }()
		r.queue = append(r.queue, h)
		for i := base; i < len(r.queue); i++ {
			for _, child := range r.Children(r.queue[i]) {
				if child == handle.None {
					continue
				}
				if !yield(child) {
					return
				}
				if r.tree.look(child).hasList() {
					r.queue = append(r.queue, child)
				}
			}
		}
	}
}

// Conflicts returns the requests that the last refresh could not apply, in order, up to
// Options.ConflictsMax.
func (r *Reader) Conflicts() []Conflict {
	if r.conflicts == nil {
		return nil
	}
	return *r.conflicts
}
