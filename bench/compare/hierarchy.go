package main

import (
	"slices"
	"time"
)

// kinship is a world with parents, which are children of one top, and each of which has
// a run of the children. At first all children have their parents.
type kinship struct {
	add      func() // every child to its parent, in shuffled order
	remove   func() // every child from its parent, in shuffled order; the order of the others may change
	removeIn func() // every other of the shuffled children; later ones move up in order, and are read afterwards
	list     func(order []int) int
	parentOf func() int  // of every child, in shuffled order: how many have theirs
	reparent func(k int) // every child, in shuffled order, to the k-th parent after its own
	cascade  func()      // destroy the top with all descendants
	count    func() int  // of children that have a parent
	alive    func() int  // of entities
}

// The shapes of the hierarchies: few children each, or many.
const (
	smallFamily = 12
	largeFamily = 10_000
)

// wishes are the sizes and shuffled orders that all contenders share.
type wishes struct {
	parents, children int
	order             []int // of children
	ranks             []int // of parents
}

func newWishes(parents, children int) wishes {
	o := wishes{parents: parents, children: children, order: make([]int, children), ranks: make([]int, parents)}
	for i := range o.order {
		o.order[i] = i
	}
	for i := range o.ranks {
		o.ranks[i] = i
	}
	shuffle(o.order)
	shuffle(o.ranks)
	return o
}

// family is the number of children of a parent but for the last.
func (o wishes) family() int { return (o.children + o.parents - 1) / o.parents }

// shuffled returns all in the order.
func shuffled[T any](all []T, order []int) []T {
	picked := make([]T, len(order))
	for i, at := range order {
		picked[i] = all[at]
	}
	return picked
}

// The bars of hierarchies, at the two numbers of children that are measured.
var (
	kinBars     = bars{120_000: 0.5, 1_000_000: 0.5}
	kinListBars = bars{1_000_000: 1.05}
)

// hierarchyBenches are named for what is done and how many children a parent has.
// N is the number of children.
func hierarchyBenches() []bench {
	var list []bench
	for _, f := range []struct {
		name   string
		family int
		ns     []int
	}{{"12", smallFamily, []int{120_000}}, {"10000", largeFamily, []int{1_000_000}}} {
		has := " (" + f.name + " children a parent)"
		listing := kinBars
		if f.family == largeFamily {
			listing = kinListBars
		}
		list = append(list,
			bench{name: "hierarchy/add-" + f.name, title: "Give a child a parent, the children in shuffled order" + has, bars: kinBars, setup: kinAdd(f.family)},
			bench{name: "hierarchy/remove-" + f.name, title: "Take a child from its parent, the others in any order after" + has, bars: kinBars, setup: kinRemove(f.family)},
			bench{name: "hierarchy/remove-ordered-" + f.name, title: "Take a child from its parent, the others in order after: half of the children, then a look at all lists" + has, bars: kinBars, setup: kinRemoveOrdered(f.family)},
			bench{name: "hierarchy/list-" + f.name, title: "Go over the children of all parents in turn" + has, bars: listing, setup: kinList(f.family, false)},
			bench{name: "hierarchy/list-random-" + f.name, title: "Go over the children of all parents in shuffled order" + has, bars: listing, setup: kinList(f.family, true)},
			bench{name: "hierarchy/parent-" + f.name, title: "Find the parent of a child, the children in shuffled order" + has, bars: kinBars, setup: kinParent(f.family)},
			bench{name: "hierarchy/reparent-" + f.name, title: "Give a child another parent, the children in shuffled order" + has, bars: kinBars, setup: kinReparent(f.family)},
		)
		for i := range list[len(list)-7:] {
			list[len(list)-7+i].sizes = f.ns
		}
		list = append(list, bench{
			name: "hierarchy/cascade-" + f.name, title: "Destroy one with all descendants, in two levels, by a way that holds for any" + has,
			sizes: []int{1_000_000}, bars: kinBars, builds: true, setup: kinCascade(f.family),
		})
	}
	return list
}

// kin sets a contender up.
func kin(c *contender, family, n int) (kinship, wishes, bool) {
	if c.hierarchy == nil {
		return kinship{}, wishes{}, false
	}
	o := newWishes((n+family-1)/family, n)
	return c.hierarchy(o), o, true
}

func kinAdd(family int) func(*contender, int) *subject {
	return func(c *contender, n int) *subject {
		k, _, ok := kin(c, family, n)
		if !ok {
			return nil
		}
		before, after := 0, 0
		return &subject{
			ops: n,
			work: stretches(func() {
				k.remove()
				before = k.count()
			}, k.add, func(bool) { after = k.count() }),
			check: func() error {
				if err := same("number of children before", before, 0); err != nil {
					return err
				}
				return same("number of children", after, n)
			},
		}
	}
}

func kinRemove(family int) func(*contender, int) *subject {
	return func(c *contender, n int) *subject {
		k, _, ok := kin(c, family, n)
		if !ok {
			return nil
		}
		after := 0
		return &subject{
			ops: n,
			work: stretches(nil, k.remove, func(bool) {
				after = k.count()
				k.add()
			}),
			check: func() error {
				if err := same("number of children left", after, 0); err != nil {
					return err
				}
				return same("number of children", k.count(), n)
			},
		}
	}
}

func kinRemoveOrdered(family int) func(*contender, int) *subject {
	return func(c *contender, n int) *subject {
		k, o, ok := kin(c, family, n)
		if !ok || k.removeIn == nil {
			return nil
		}
		all := slices.Sorted(slices.Values(o.ranks))
		half, seen := (n+1)/2, 0
		return &subject{
			ops: half,
			work: stretches(nil, func() {
				k.removeIn()
				seen = k.list(all)
			}, func(bool) {
				k.remove()
				k.add()
			}),
			check: func() error { return same("number of children seen", seen, n-half) },
		}
	}
}

func kinList(family int, random bool) func(*contender, int) *subject {
	return func(c *contender, n int) *subject {
		k, o, ok := kin(c, family, n)
		if !ok {
			return nil
		}
		order := o.ranks
		if !random {
			order = slices.Sorted(slices.Values(order))
		}
		seen, passes := 0, 0
		return &subject{
			ops: n, warm: true,
			work:  repeated(func() { seen += k.list(order) }, &passes),
			check: func() error { return same("number of children seen", seen, passes*n) },
		}
	}
}

func kinParent(family int) func(*contender, int) *subject {
	return func(c *contender, n int) *subject {
		k, _, ok := kin(c, family, n)
		if !ok {
			return nil
		}
		found, passes := 0, 0
		return &subject{
			ops: n, warm: true,
			work:  repeated(func() { found += k.parentOf() }, &passes),
			check: func() error { return same("number of parents found", found, passes*n) },
		}
	}
}

func kinReparent(family int) func(*contender, int) *subject {
	return func(c *contender, n int) *subject {
		k, o, ok := kin(c, family, n)
		if !ok {
			return nil
		}
		passes := 0
		return &subject{
			ops: n, warm: true,
			work: func(times int) time.Duration {
				start := time.Now()
				for range times {
					passes++
					k.reparent(passes % o.parents)
				}
				return time.Since(start) - clockCost
			},
			check: func() error {
				k.reparent(0)
				if err := same("number of children", k.count(), n); err != nil {
					return err
				}
				return same("number of children whose parent is theirs", k.parentOf(), n)
			},
		}
	}
}

func kinCascade(family int) func(*contender, int) *subject {
	return func(c *contender, n int) *subject {
		if c.hierarchy == nil {
			return nil
		}
		o := newWishes((n+family-1)/family, n)
		var k kinship
		before, after := 0, 0
		return &subject{
			ops: n + o.parents,
			work: stretches(func() {
				k = c.hierarchy(o)
				before = k.alive()
			}, func() { k.cascade() }, func(bool) {
				after = k.alive()
				k = kinship{}
			}),
			check: func() error {
				if err := same("number of entities before", before, 1+o.parents+n); err != nil {
					return err
				}
				return same("number of entities after", after, 0)
			},
		}
	}
}
