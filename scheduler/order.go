package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/atoll-sim/atoll/world"
)

// graph is the order that Before and After ask for. Each system has its edges: the systems that
// must follow it.
//
// Invariants: it has no circle.
//
// Ownership: the scheduler's goroutine.
type graph struct {
	added  []*system         // in the order of Add
	sorted []*system         // in the order in which they run; nil if one was added since
	wanted map[string][]edge // by the name of a system that was not added yet; these edges lack that side
}

// edge says that a system must come before another.
type edge struct{ first, then *system }

// add adds a system; byName has those that were added before. If some would then have to run before
// each other, it returns an error that names them, and adds nothing. It looks only at the new edges
// and at what follows the new system, so that each of many systems takes no longer than one of a
// few.
func (g *graph) add(x *system, byName map[string]*system) error {
	edges := g.edges(x, byName)
	for _, e := range edges {
		if e.first.stage > e.then.stage {
			return fmt.Errorf("scheduler: system %q is to come before %q, but is in %v, after %v", e.first.name, e.then.name, e.first.stage, e.then.stage)
		}
	}
	for _, e := range edges {
		e.first.follows = append(e.first.follows, e.then)
	}
	if x.followsItself() {
		_, left := order(append(slices.Clone(g.added), x))
		err := errCycle(left)
		for _, e := range edges {
			e.first.follows = e.first.follows[:len(e.first.follows)-1]
		}
		return err
	}
	g.added, g.sorted = append(g.added, x), nil
	delete(g.wanted, x.name)
	x.wishes(func(name string, e edge) {
		if byName[name] == nil {
			g.wanted[name] = append(g.wanted[name], e)
		}
	})
	return nil
}

// edges returns the edges that come with a system: those that earlier systems wished for, and its
// own.
func (g *graph) edges(x *system, byName map[string]*system) (edges []edge) {
	with := func(e edge, other *system) {
		edges = append(edges, edge{cmp.Or(e.first, other), cmp.Or(e.then, other)})
	}
	for _, e := range g.wanted[x.name] {
		with(e, x)
	}
	x.wishes(func(name string, e edge) {
		if name == x.name {
			with(e, x)
		} else if other := byName[name]; other != nil {
			with(e, other)
		}
	})
	return edges
}

// wishes calls f with each name in Before and After, and with the edge, which lacks that side.
func (s *system) wishes(f func(name string, e edge)) {
	for _, name := range s.before {
		f(name, edge{first: s})
	}
	for _, name := range s.after {
		f(name, edge{then: s})
	}
}

// followsItself reports whether the system is in a circle.
func (s *system) followsItself() bool {
	seen := map[*system]bool{}
	for todo := slices.Clone(s.follows); len(todo) > 0; {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if next == s {
			return true
		}
		if !seen[next] {
			seen[next] = true
			todo = append(todo, next.follows...)
		}
	}
	return false
}

// inOrder returns the systems in the order in which they run.
func (g *graph) inOrder() []*system {
	if g.sorted == nil {
		g.sorted, _ = order(g.added)
	}
	return g.sorted
}

// unknown returns an error if Before or After names a system that was not added.
func (g *graph) unknown() error {
	if len(g.wanted) == 0 {
		return nil
	}
	for _, s := range g.added {
		for _, side := range []struct {
			what  string
			names []string
		}{{"before", s.before}, {"after", s.after}} {
			for _, name := range side.names {
				if g.wanted[name] != nil {
					return fmt.Errorf("scheduler: system %q is to come %s %q, which was not added", s.name, side.what, name)
				}
			}
		}
	}
	return nil
}

// order returns the systems in the order in which they run: by stage, and within a stage in the
// order of Add, as far as Before and After allow. If some are in a circle, these are left, and
// those that must come after them.
func order(added []*system) (sorted, left []*system) {
	left = slices.Clone(added)
	slices.SortStableFunc(left, func(a, b *system) int { return cmp.Compare(a.stage, b.stage) })
	place := make(map[*system]int, len(left))
	for i, s := range left {
		place[s] = i
	}
	waits := make([]int, len(left)) // by place: for how many systems that must come first
	for _, s := range left {
		for _, next := range s.follows {
			waits[place[next]]++
		}
	}
	var free []int // ascending
	for i, n := range waits {
		if n == 0 {
			free = append(free, i)
		}
	}
	for len(free) > 0 {
		i := free[0]
		free = free[1:]
		sorted = append(sorted, left[i])
		for _, next := range left[i].follows {
			k := place[next]
			if waits[k]--; waits[k] == 0 {
				at, _ := slices.BinarySearch(free, k)
				free = slices.Insert(free, at, k)
			}
		}
	}
	return sorted, slices.DeleteFunc(left, func(s *system) bool { return waits[place[s]] == 0 })
}

// errCycle returns an error that names the systems of a cycle among those that are left. Each
// of them must come after another one, so going back from any of them leads into a cycle.
func errCycle(left []*system) error {
	before := func(s *system) *system {
		for _, x := range left {
			if slices.Contains(x.follows, s) {
				return x
			}
		}
		return nil
	}
	var path []*system
	for s := left[0]; ; s = before(s) {
		if i := slices.Index(path, s); i >= 0 {
			path = append(path[i:], s)
			break
		}
		path = append(path, s)
	}
	slices.Reverse(path)
	names := make([]string, len(path))
	for i, s := range path {
		names[i] = fmt.Sprintf("%q", s.name)
	}
	return fmt.Errorf("scheduler: systems are to come before each other in a circle: %s; take one Before or After away", strings.Join(names, " before "))
}

// withMerges puts the merge of each accumulator behind the last system that adds
// to it. Accumulators are in the order of their numbers where there are several.
func withMerges(w *world.World, sorted []*system, made map[int]*system) []*system {
	last := map[int]*system{} // by accumulator
	for _, s := range sorted {
		for id := range s.access[0].ResourceParts.All {
			last[id] = s
		}
	}
	all := make([]*system, 0, len(sorted)+len(last))
	for _, s := range sorted {
		all = append(all, s)
		for id := range s.access[0].ResourceParts.All {
			if last[id] != s {
				continue
			}
			if made[id] == nil {
				made[id] = newMerge(w, id, s)
			}
			made[id].stage = s.stage
			all = append(all, made[id])
		}
	}
	return all
}
