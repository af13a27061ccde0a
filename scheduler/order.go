package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// order returns the systems in the order in which they run: by stage, and within a stage in the
// order of Add, as far as Before and After allow. It returns an error that names the systems if
// these contradict each other. It ignores names of systems that were not added; see unknown.
func order(added []*system) ([]*system, error) {
	follows, err := edges(added)
	if err != nil {
		return nil, err
	}
	waits := make(map[*system]int, len(added)) // how many of the systems that must come first are not in the order yet
	for _, s := range added {
		for _, next := range follows[s] {
			waits[next]++
		}
	}
	left := slices.Clone(added)
	slices.SortStableFunc(left, func(a, b *system) int { return cmp.Compare(a.stage, b.stage) })
	sorted := make([]*system, 0, len(added))
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(s *system) bool { return waits[s] == 0 })
		if i < 0 {
			return nil, errCycle(left, follows)
		}
		s := left[i]
		left = slices.Delete(left, i, i+1)
		sorted = append(sorted, s)
		for _, next := range follows[s] {
			waits[next]--
		}
	}
	return sorted, nil
}

// edges returns for each system the systems that must come after it.
func edges(added []*system) (map[*system][]*system, error) {
	byName := make(map[string]*system, len(added))
	for _, s := range added {
		byName[s.name] = s
	}
	follows := make(map[*system][]*system, len(added))
	edge := func(first, then *system) error {
		if first.stage > then.stage {
			return fmt.Errorf("scheduler: system %q is to come before %q, but is in %v, after %v", first.name, then.name, first.stage, then.stage)
		}
		follows[first] = append(follows[first], then)
		return nil
	}
	for _, s := range added {
		for _, name := range s.before {
			if other := byName[name]; other != nil {
				if err := edge(s, other); err != nil {
					return nil, err
				}
			}
		}
		for _, name := range s.after {
			if other := byName[name]; other != nil {
				if err := edge(other, s); err != nil {
					return nil, err
				}
			}
		}
	}
	return follows, nil
}

// errCycle returns an error that names the systems of a cycle among those that are left. Each
// of them must come after another one, so going back from any of them leads into a cycle.
func errCycle(left []*system, follows map[*system][]*system) error {
	before := func(s *system) *system {
		for _, x := range left {
			if slices.Contains(follows[x], s) {
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

// unknown returns an error if Before or After names a system that was not added.
func unknown(added []*system) error {
	for _, s := range added {
		for _, side := range []struct {
			what  string
			names []string
		}{{"before", s.before}, {"after", s.after}} {
			for _, name := range side.names {
				if !slices.ContainsFunc(added, func(x *system) bool { return x.name == name }) {
					return fmt.Errorf("scheduler: system %q is to come %s %q, which was not added", s.name, side.what, name)
				}
			}
		}
	}
	return nil
}
