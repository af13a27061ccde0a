package scheduler

import "slices"

// users are the systems that were met so far, by what they use, so that the few for which a system
// may have to wait are found without a look at all others.
type users struct {
	of        map[use]*[2][]int // their places in the order, ascending: first systems of the shards, then global ones
	last      int               // the last one of the shards, or none
	exclusive int               // the last one that is global and has the shards to itself, or none
	found     []int
}

// use is a component or resource that is used in one way.
type use struct {
	by *uses
	id int
}

func newUsers() *users { return &users{of: map[use]*[2][]int{}, last: none, exclusive: none} }

// add adds a system, which comes after all that are there.
func (u *users) add(at int, s *system) {
	a, kind := s.access[0], 0
	switch {
	case !s.global:
		u.last = at
	case a.Exclusive:
		u.exclusive = at
		return // whatever it uses, others wait for it
	default:
		kind = 1
	}
	for _, by := range []*uses{ownWritten, readForeign, readNear, resourceWritten, resourceRead, resourceAdded} {
		for id := range by.set(a).All {
			x := u.of[use{by, id}]
			if x == nil {
				x = &[2][]int{}
				u.of[use{by, id}] = x
			}
			x[kind] = append(x[kind], at)
		}
	}
}

// before returns the places of the systems that s may have to wait for, ascending. Of the systems of
// the shards, and of the global ones, these are the last that all shards wait for, and later ones
// that only neighbours wait for. The result is good until the next call.
func (u *users) before(s *system) []int {
	last := [2]int{none, none}
	exclusive := s.global && s.access[0].Exclusive
	switch {
	case exclusive:
		last[0] = u.last
	case !s.global:
		last[1] = u.exclusive
	}
	u.found = u.found[:0]
	if !exclusive {
		u.clashing(s, false, func(kind int, list []int) { last[kind] = max(last[kind], list[len(list)-1]) })
		u.clashing(s, true, func(kind int, list []int) {
			for i := len(list) - 1; i >= 0 && list[i] > last[kind]; i-- {
				u.found = append(u.found, list[i])
			}
		})
	}
	for _, at := range last {
		if at != none {
			u.found = append(u.found, at)
		}
	}
	slices.Sort(u.found)
	return slices.Compact(u.found)
}

// clashing calls f with the lists of systems that clash with s, near or far.
func (u *users) clashing(s *system, near bool, f func(kind int, list []int)) {
	each := func(own, other *uses) {
		for id := range own.set(s.access[0]).All {
			x := u.of[use{other, id}]
			if x == nil {
				continue
			}
			for kind, list := range x {
				if len(list) > 0 && !(s.global && kind == 1) { // global ones follow each other anyway
					f(kind, list)
				}
			}
		}
	}
	for _, c := range clashes {
		if c.near == near {
			each(c.a, c.b)
			each(c.b, c.a)
		}
	}
}
