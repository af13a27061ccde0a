package scheduler

import (
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/store"
)

// Fence is a wait between two systems: shards do not run System before others
// have passed After.
type Fence struct {
	System, After string
	// Near says that a shard waits only for its declared neighbours, and not for
	// all shards.
	Near    bool
	Reasons []Reason
}

// Reason is a component or resource that two systems must not use at the same
// time on different shards.
type Reason struct {
	Name  string // of the component or resource, or "all shards"
	First string // what the system that comes first does
	Then  string // what the other does
}

// String says what each of the two systems does.
func (r Reason) String() string {
	return fmt.Sprintf("%q: %s, then %s", r.Name, r.First, r.Then)
}

// What a system does, in the words of the schedule.
const (
	writes    = "written"
	reads     = "read"
	readsAll  = "read in all shards"
	readsNear = "read in neighbours"
	addsTo    = "added to"
)

// What Reason names where a global system has the shards to itself.
const (
	allShards = "all shards"
	run       = "run"
	stopped   = "stopped"
)

// fence is a Fence by the systems' places in the order.
type fence struct {
	system, after int
	near          bool
	reasons       []Reason
}

func (f *fence) public(systems []*system) Fence {
	return Fence{System: systems[f.system].name, After: systems[f.after].name, Near: f.near, Reasons: f.reasons}
}

// fencesOf finds the fences that systems need, in order.
//
// Shards pass systems in order, so a fence behind the last system that clashes stands for those
// behind all earlier ones. The same holds for global systems among themselves. So a system has at
// most one fence behind a system of the shards and one behind a global one. It may have more fences
// that only neighbours wait at, behind systems that come later than the first of these.
func fencesOf(d *engine.World, systems []*system) (fences []fence) {
	users := newUsers()
	for i, s := range systems {
		for _, k := range users.before(s) {
			switch far, near := reasons(d, systems[k], s); {
			case len(far) > 0:
				fences = append(fences, fence{i, k, false, far})
			case len(near) > 0:
				fences = append(fences, fence{i, k, true, near})
			}
		}
		users.add(i, s)
	}
	return fences
}

// reasons returns why shards must not run the systems first and then at the same time: far between
// any two shards, near between neighbours.
func reasons(w *engine.World, first, then *system) (far, near []Reason) {
	switch a, b := first.access[0], then.access[0]; {
	case first.global && then.global: // never at the same time anyway
		return nil, nil
	case first.global && a.Exclusive:
		return []Reason{{allShards, stopped, run}}, nil
	case then.global && b.Exclusive:
		return []Reason{{allShards, run, stopped}}, nil
	default:
		for _, c := range clashes {
			to := &far
			if c.near {
				to = &near
			}
			add := func(x, y *uses) {
				for id := range x.set(a).Common(y.set(b)).All {
					*to = append(*to, Reason{x.names(w, id), x.what, y.what})
				}
			}
			add(c.a, c.b)
			add(c.b, c.a)
		}
		return far, near
	}
}

// uses is one way in which a system uses components or resources, for which others may have
// to wait.
type uses struct {
	what  string
	set   func(*extend.Access) store.Set
	names func(*engine.World, int) string
}

// The ways that clash.
var (
	ownWritten      = &uses{writes, func(a *extend.Access) store.Set { return a.Writes }, (*engine.World).ComponentName}
	readForeign     = &uses{readsAll, func(a *extend.Access) store.Set { return a.Foreign }, (*engine.World).ComponentName}
	readNear        = &uses{readsNear, func(a *extend.Access) store.Set { return a.Neighbour }, (*engine.World).ComponentName}
	resourceWritten = &uses{writes, func(a *extend.Access) store.Set { return a.ResourceWrites }, (*engine.World).ResourceName}
	resourceRead    = &uses{reads, func(a *extend.Access) store.Set { return a.ResourceReads }, (*engine.World).ResourceName}
	resourceAdded   = &uses{addsTo, func(a *extend.Access) store.Set { return a.ResourceParts }, (*engine.World).ResourceName}
)

// clashes are the pairs of uses that must not happen at the same time in two
// different shards. Each pair counts in both orders.
var clashes = []struct {
	near bool
	a, b *uses
}{
	{a: ownWritten, b: readForeign},
	{a: ownWritten, b: readNear, near: true},
	{a: resourceWritten, b: resourceRead},
	{a: resourceWritten, b: resourceAdded},
}

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

// before returns the places of the systems that s may have to wait for, ascending. Of the systems
// of the shards, and of the global ones, these are the last that all shards wait for, and later
// ones that only neighbours wait for. The result is good until the next call.
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
