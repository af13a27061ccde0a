package hierarchy_test

import (
	"maps"
	"slices"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
)

// naive is a tree of maps: what a Tree must do, in the simplest way.
type naive struct {
	parent map[handle.Handle]handle.Handle
	lists  map[handle.Handle][]handle.Handle // None is a hole
	added  map[handle.Handle]bool
	fixed  map[handle.Handle]bool
}

func newNaive() *naive {
	return &naive{
		parent: map[handle.Handle]handle.Handle{}, lists: map[handle.Handle][]handle.Handle{},
		added: map[handle.Handle]bool{}, fixed: map[handle.Handle]bool{},
	}
}

func (n *naive) clone() naive {
	lists := maps.Clone(n.lists)
	for h, l := range lists {
		lists[h] = slices.Clone(l)
	}
	return naive{maps.Clone(n.parent), lists, maps.Clone(n.added), maps.Clone(n.fixed)}
}

func (n *naive) has(h handle.Handle) bool {
	return n.parent[h] != 0 || n.added[h] || n.fixed[h] || n.count(h) > 0
}

func (n *naive) count(h handle.Handle) int {
	count := 0
	for _, child := range n.lists[h] {
		if child != handle.None {
			count++
		}
	}
	return count
}

func (n *naive) isAncestor(a, h handle.Handle) bool {
	for ; h != handle.None; h = n.parent[h] {
		if h == a {
			return true
		}
	}
	return false
}

// leave takes a child from its parent.
func (n *naive) leave(child handle.Handle, gap hierarchy.Gap) {
	p := n.parent[child]
	if p == handle.None {
		return
	}
	delete(n.parent, child)
	list := n.lists[p]
	i := slices.Index(list, child)
	switch {
	case n.fixed[p] || gap == hierarchy.Hole:
		list[i] = handle.None
	case gap == hierarchy.Close:
		list = slices.Delete(list, i, i+1)
	default:
		last := len(list) - 1
		list[i] = list[last]
		list = list[:last]
	}
	n.lists[p] = list
	n.trim(p)
}

func (n *naive) trim(p handle.Handle) {
	for list := n.lists[p]; !n.fixed[p] && len(list) > 0 && list[len(list)-1] == handle.None; list = n.lists[p] {
		n.lists[p] = list[:len(list)-1]
	}
}

// spot is where a child is to go: at a place, or at the end, or to a free place.
type spot struct {
	mode  string // end, before, into, free
	place int
}

// seat is every way of adding and moving; keep says whether a parent that the child
// has is an error.
func (n *naive) seat(child, parent handle.Handle, to spot, gap hierarchy.Gap, keep bool) error {
	was := n.parent[child]
	switch {
	case keep && was != handle.None:
		return hierarchy.ErrParent
	case n.isAncestor(child, parent):
		return hierarchy.ErrCycle
	}
	list, fixed := n.lists[parent], n.fixed[parent]
	if fixed && to.mode == "end" {
		to.mode = "free"
	}
	if to == (spot{"into", hierarchy.Free}) {
		to.mode = "free"
	}
	switch to.mode {
	case "before":
		most := len(list)
		if was == parent && gap != hierarchy.Hole {
			most--
		}
		if fixed {
			return hierarchy.ErrFixed
		}
		if to.place < 0 || to.place > most {
			return hierarchy.ErrPlace
		}
	case "into":
		if to.place < 0 || fixed && to.place >= len(list) {
			return hierarchy.ErrPlace
		}
		if to.place < len(list) && list[to.place] == child {
			return nil
		}
		if to.place < len(list) && list[to.place] != handle.None {
			return hierarchy.ErrTaken
		}
	case "free":
		if to.place = slices.Index(list, handle.None); to.place < 0 {
			if was == parent {
				return nil
			}
			if fixed {
				return hierarchy.ErrNoPlace
			}
			to.place = len(list)
		}
	}
	if was == parent && (to.mode == "into" || to.mode == "free") {
		gap = hierarchy.Hole
	}
	n.leave(child, gap)
	list = n.lists[parent]
	if to.mode == "end" {
		to.place = len(list)
	}
	if to.mode == "before" && to.place < len(list) {
		list = slices.Insert(list, to.place, child)
	} else {
		for len(list) <= to.place {
			list = append(list, handle.None)
		}
		list[to.place] = child
	}
	n.lists[parent] = list
	n.parent[child] = parent
	return nil
}

func (n *naive) remove(h handle.Handle, gap hierarchy.Gap) error {
	switch {
	case !n.has(h):
		return hierarchy.ErrAbsent
	case n.count(h) > 0:
		return hierarchy.ErrChildren
	}
	n.leave(h, gap)
	n.forget(h)
	return nil
}

func (n *naive) forget(h handle.Handle) {
	delete(n.lists, h)
	delete(n.added, h)
	delete(n.fixed, h)
}

func (n *naive) removeBranch(h handle.Handle, gap hierarchy.Gap) error {
	if !n.has(h) {
		return hierarchy.ErrAbsent
	}
	n.leave(h, gap)
	for _, d := range append(n.descendants(h), h) {
		delete(n.parent, d)
		n.forget(d)
	}
	return nil
}

// descendants lists those below h, depth first.
func (n *naive) descendants(h handle.Handle) (all []handle.Handle) {
	for _, child := range n.lists[h] {
		if child != handle.None {
			all = append(append(all, child), n.descendants(child)...)
		}
	}
	return all
}

// levels lists those below h, level by level.
func (n *naive) levels(h handle.Handle) (all [][]handle.Handle) {
	for level := []handle.Handle{h}; ; {
		var next []handle.Handle
		for _, p := range level {
			for _, child := range n.lists[p] {
				if child != handle.None {
					next = append(next, child)
				}
			}
		}
		if len(next) == 0 {
			return all
		}
		all, level = append(all, next), next
	}
}

func (n *naive) ancestors(h handle.Handle) (all []handle.Handle) {
	for up := n.parent[h]; up != handle.None; up = n.parent[up] {
		all = append(all, up)
	}
	return all
}

// close takes the holes out of a list; a fixed one has them last.
func (n *naive) close(p handle.Handle) {
	places := len(n.lists[p])
	list := slices.DeleteFunc(n.lists[p], func(h handle.Handle) bool { return h == handle.None })
	for n.fixed[p] && len(list) < places {
		list = append(list, handle.None)
	}
	n.lists[p] = list
}

func (n *naive) setPlaces(p handle.Handle, places int) error {
	list := n.lists[p]
	if places == 0 {
		delete(n.fixed, p)
		n.trim(p)
		return nil
	}
	for len(list) > places {
		if list[len(list)-1] != handle.None {
			return hierarchy.ErrTaken
		}
		list = list[:len(list)-1]
	}
	for len(list) < places {
		list = append(list, handle.None)
	}
	n.lists[p], n.fixed[p] = list, true
	return nil
}

func (n *naive) swap(a, b handle.Handle) error {
	pa, pb := n.parent[a], n.parent[b]
	switch {
	case pa == handle.None || pb == handle.None:
		return hierarchy.ErrAbsent
	case a == b:
		return nil
	case n.isAncestor(a, b) || n.isAncestor(b, a):
		return hierarchy.ErrCycle
	}
	ia, ib := slices.Index(n.lists[pa], a), slices.Index(n.lists[pb], b)
	n.lists[pa][ia], n.lists[pb][ib] = b, a
	n.parent[a], n.parent[b] = pb, pa
	return nil
}

func (n *naive) swapPlaces(p handle.Handle, i, j int) error {
	list := n.lists[p]
	if min(i, j) < 0 || max(i, j) >= len(list) {
		return hierarchy.ErrPlace
	}
	list[i], list[j] = list[j], list[i]
	n.trim(p)
	return nil
}
