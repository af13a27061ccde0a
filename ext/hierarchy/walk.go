package hierarchy

import (
	"iter"

	"github.com/atoll-sim/atoll/handle"
)

// Ancestors yields the parent of an entity, the parent's parent, and so on.
func (r *Reader) Ancestors(h handle.Handle) iter.Seq[handle.Handle] {
	return func(yield func(handle.Handle) bool) {
		for up := r.tree.parent(h); up != handle.None && yield(up); {
			up = r.tree.parent(up)
		}
	}
}

// isAncestor reports whether a is an ancestor of h, or h itself.
func (t *Tree) isAncestor(a, h handle.Handle) bool {
	for h != a {
		if h = t.parent(h); h == handle.None {
			return false
		}
	}
	return true
}

// DepthFirst yields the descendants of an entity: each before its own children, and
// these before its next sibling. It needs no memory.
func (r *Reader) DepthFirst(h handle.Handle) iter.Seq[handle.Handle] {
	return func(yield func(handle.Handle) bool) { r.depthFirst(h, yield) }
}

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

// Levels yields the descendants of an entity level by level: 1 with its children,
// 2 with its grandchildren, and so on. The slice is valid until the next level.
func (r *Reader) Levels(h handle.Handle) iter.Seq2[int, []handle.Handle] {
	return func(yield func(int, []handle.Handle) bool) {
		r := r.scratch()
		base := len(r.queue)
		defer func() { r.queue = r.queue[:base] }()
		r.queue = append(r.queue, h)
		for level, from := 1, base; ; level++ {
			to := len(r.queue)
			for i := from; i < to; i++ {
				for _, child := range r.Children(r.queue[i]) {
					if child != handle.None {
						r.queue = append(r.queue, child)
					}
				}
			}
			if len(r.queue) == to || !yield(level, r.queue[to:len(r.queue):len(r.queue)]) {
				return
			}
			from = to
		}
	}
}

// Getter is a *world.Reader or a *world.Writer.
type Getter[T any] interface{ Get(h handle.Handle) *T }

// ForeignGetter is a *world.ForeignReader.
type ForeignGetter[T any] interface {
	Get(h handle.Handle) (T, bool)
}

// With yields the entities of a walk that have a component, with the component, as far as the
// accessor finds it: in a system those of the system's own shard. The children of h that have a
// Weight:
//
//	for item, weight := range hierarchy.With(bags.Each(h), weights)
func With[T any](walk iter.Seq[handle.Handle], component Getter[T]) iter.Seq2[handle.Handle, *T] {
	return func(yield func(handle.Handle, *T) bool) {
		for h := range walk {
			if v := component.Get(h); v != nil && !yield(h, v) {
				return
			}
		}
	}
}

// WithForeign is With for entities of any shard. It yields copies of their
// components.
func WithForeign[T any](walk iter.Seq[handle.Handle], component ForeignGetter[T]) iter.Seq2[handle.Handle, T] {
	return func(yield func(handle.Handle, T) bool) {
		for h := range walk {
			if v, ok := component.Get(h); ok && !yield(h, v) {
				return
			}
		}
	}
}
