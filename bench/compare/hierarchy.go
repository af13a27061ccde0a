package main

import (
	"slices"
	"time"
	"unsafe"

	"github.com/mlange-42/ark/ecs"
	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/features/transform"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
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
func (w wishes) family() int { return (w.children + w.parents - 1) / w.parents }

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

// kinWorld is a world with a top, parents and children.
type kinWorld struct {
	*world.World
	top               handle.Handle
	parents, children []handle.Handle
	mixed             []handle.Handle // the children, shuffled
	home              []int           // by shuffled child: the number of its parent
}

func newKinWorld(o world.Options, s wishes) *kinWorld {
	w := &kinWorld{World: world.MustNew(o)}
	world.Register[Position](w.World, "position")
	places := world.NewBundle[atollPlace](w.World)
	w.top = must(places.Create(w.World, atollPlace{}))
	w.parents = must(places.AppendN(nil, w.World, s.parents, nil))
	w.children = must(places.AppendN(nil, w.World, s.children, nil))
	w.mixed, w.home = shuffled(w.children, s.order), kinHomes(s)
	return w
}

// kinHomes returns the number of the parent of each shuffled child.
func kinHomes(s wishes) []int {
	homes := make([]int, s.children)
	for i, at := range s.order {
		homes[i] = at / s.family()
	}
	return homes
}

func atollHierarchy(o world.Options, s wishes) kinship {
	w := newKinWorld(o, s)
	rel := hierarchy.New(w.World, "kin", hierarchy.Options{OnChildDeath: hierarchy.Swap, Memory: hierarchy.Memory{KeepCapacity: true}})
	read := rel.Read(w.World)
	check(rel.AddChildren(w.World, w.top, w.parents...))
	for i, child := range w.children {
		check(rel.AddChild(w.World, w.parents[i/s.family()], child))
	}
	return kinship{
		add: func() {
			for i, child := range w.mixed {
				check(rel.AddChild(w.World, w.parents[w.home[i]], child))
			}
		},
		remove: func() {
			for _, child := range w.mixed {
				if read.Parent(child) != handle.None {
					check(rel.RemoveChild(w.World, child, hierarchy.Swap))
				}
			}
		},
		removeIn: func() {
			for i := 0; i < len(w.mixed); i += 2 {
				check(rel.RemoveChild(w.World, w.mixed[i], hierarchy.Close))
			}
		},
		list: func(order []int) int {
			n, sum := 0, uint64(0)
			for _, p := range order {
				children := read.Children(w.parents[p])
				sum += listed(children)
				n += len(children)
			}
			return kinSeen(n, sum)
		},
		parentOf: func() int {
			n := 0
			for i, child := range w.mixed {
				if read.Parent(child) == w.parents[w.home[i]] {
					n++
				}
			}
			return n
		},
		reparent: func(k int) {
			for i, child := range w.mixed {
				check(rel.Move(w.World, child, w.parents[(w.home[i]+k)%len(w.parents)]))
			}
		},
		cascade: func() {
			w.Destroy(w.top)
			w.Refresh()
		},
		count: func() int { return rel.Links() - read.Count(w.top) },
		alive: w.Count,
	}
}

// kinSeen returns n and uses the sum.
func kinSeen(n int, sum uint64) int {
	if sum == 1<<63+12345 {
		panic("a sum that cannot be")
	}
	return n
}

// byMaps is a hierarchy written by hand, without relations: a map of lists and
// one of parents, by handle. Its only check is for a second parent.
var byMaps = contender{name: "maps", role: peer, hierarchy: mapsHierarchy}

func mapsHierarchy(s wishes) kinship {
	w := newKinWorld(world.Options{}, s)
	children, parent := map[handle.Handle][]handle.Handle{}, map[handle.Handle]handle.Handle{}
	add := func(p, child handle.Handle) {
		if _, ok := parent[child]; ok {
			panic("a second parent")
		}
		children[p] = append(children[p], child)
		parent[child] = p
	}
	for _, p := range w.parents {
		add(w.top, p)
	}
	for i, child := range w.children {
		add(w.parents[i/s.family()], child)
	}
	remove := func(child handle.Handle) handle.Handle {
		p := parent[child]
		list := children[p]
		for at := range list {
			if list[at] == child {
				last := len(list) - 1
				list[at] = list[last]
				children[p] = list[:last]
				break
			}
		}
		return p
	}
	return kinship{
		add: func() {
			for i, child := range w.mixed {
				add(w.parents[w.home[i]], child)
			}
		},
		remove: func() {
			for _, child := range w.mixed {
				if remove(child) != handle.None {
					delete(parent, child)
				}
			}
		},
		removeIn: func() {
			for i := 0; i < len(w.mixed); i += 2 {
				child := w.mixed[i]
				p := parent[child]
				list := children[p]
				for at := range list {
					if list[at] == child {
						children[p] = append(list[:at], list[at+1:]...)
						break
					}
				}
				delete(parent, child)
			}
		},
		list: func(order []int) int {
			n, sum := 0, uint64(0)
			for _, p := range order {
				list := children[w.parents[p]]
				sum += listed(list)
				n += len(list)
			}
			return kinSeen(n, sum)
		},
		parentOf: func() int {
			n := 0
			for i, child := range w.mixed {
				if parent[child] == w.parents[w.home[i]] {
					n++
				}
			}
			return n
		},
		reparent: func(k int) {
			for i, child := range w.mixed {
				remove(child)
				p := w.parents[(w.home[i]+k)%len(w.parents)]
				children[p] = append(children[p], child)
				parent[child] = p
			}
		},
		cascade: func() {
			dying := []handle.Handle{w.top}
			for i := 0; i < len(dying); i++ {
				h := dying[i]
				dying = append(dying, children[h]...)
				delete(children, h)
				delete(parent, h)
				w.Destroy(h)
			}
			w.Refresh()
		},
		count: func() int { return len(parent) - len(w.parents) },
		alive: w.Count,
	}
}

// arkChildOf is the relation. Entities that may have children have arkFertile:
// without it, a cascade would have to query the children of every entity.
type (
	arkChildOf struct{ ecs.RelationMarker }
	arkFertile struct{}
)

func arkHierarchy(s wishes) kinship {
	w := ecs.NewWorld()
	places, childOf, fertile := ecs.NewMap[Position](w), ecs.NewMap[arkChildOf](w), ecs.NewMap[arkFertile](w)
	kids, inner := ecs.NewFilter1[arkChildOf](w), ecs.NewFilter2[arkChildOf, arkFertile](w)
	all := ecs.NewFilter0(w)
	top := places.NewEntity(&Position{})
	fertile.AddFn(top, nil)
	var parents, children []ecs.Entity
	for range s.parents {
		e := places.NewEntity(&Position{})
		fertile.AddFn(e, nil)
		childOf.AddFn(e, nil, top)
		parents = append(parents, e)
	}
	for i := range s.children {
		e := places.NewEntity(&Position{})
		childOf.AddFn(e, nil, parents[i/s.family()])
		children = append(children, e)
	}
	mixed, home := shuffled(children, s.order), kinHomes(s)
	var cascade func(e ecs.Entity)
	cascade = func(e ecs.Entity) {
		var below []ecs.Entity
		for q := inner.Query(ecs.RelIdx(0, e)); q.NextTable(); {
			below = append(below, q.Entities()...)
		}
		for _, x := range below {
			cascade(x)
		}
		w.RemoveEntities(kids.Batch(ecs.RelIdx(0, e)), nil)
	}
	return kinship{
		add: func() {
			for i, e := range mixed {
				childOf.AddFn(e, nil, parents[home[i]])
			}
		},
		remove: func() {
			for _, e := range mixed {
				if childOf.Has(e) {
					childOf.Remove(e)
				}
			}
		},
		list: func(order []int) int {
			n, sum := 0, uint64(0)
			for _, p := range order {
				for q := kids.Query(ecs.RelIdx(0, parents[p])); q.NextTable(); {
					list := q.Entities()
					sum += listed(list)
					n += len(list)
				}
			}
			return kinSeen(n, sum)
		},
		parentOf: func() int {
			n := 0
			for i, e := range mixed {
				if childOf.GetRelation(e) == parents[home[i]] {
					n++
				}
			}
			return n
		},
		reparent: func(k int) {
			for i, e := range mixed {
				childOf.SetRelation(e, parents[(home[i]+k)%len(parents)])
			}
		},
		cascade: func() {
			cascade(top)
			w.RemoveEntity(top)
		},
		count: func() int {
			n := 0
			for _, e := range children {
				if childOf.Has(e) {
					n++
				}
			}
			return n
		},
		alive: func() int {
			q := all.Query()
			defer q.Close()
			return q.Count()
		},
	}
}

// donburiWide is the number of children from which on Donburi is left out: it copies the
// whole list when a child is removed, which takes too long.
const donburiWide = 1000

func donburiHierarchy(s wishes) kinship {
	w := donburi.NewWorld()
	make1 := func() *donburi.Entry {
		e := w.Entry(w.Create(transform.Transform))
		transform.Reset(e)
		return e
	}
	top := make1()
	var parents, children []*donburi.Entry
	for range s.parents {
		e := make1()
		transform.AppendChild(top, e, false)
		parents = append(parents, e)
	}
	for i := range s.children {
		e := make1()
		transform.AppendChild(parents[i/s.family()], e, false)
		children = append(children, e)
	}
	mixed, home := shuffled(children, s.order), kinHomes(s)
	remove := func(e *donburi.Entry) {
		if s.family() > donburiWide {
			panic("a removal copies the whole list, which takes too long here")
		}
		if _, ok := transform.GetParent(e); ok {
			transform.RemoveParent(e, false)
		}
	}
	return kinship{
		add: func() {
			for i, e := range mixed {
				transform.AppendChild(parents[home[i]], e, false)
			}
		},
		remove: func() {
			for _, e := range mixed {
				remove(e)
			}
		},
		removeIn: func() {
			for i := 0; i < len(mixed); i += 2 {
				remove(mixed[i])
			}
		},
		list: func(order []int) int {
			n, sum := 0, donburi.Entity(0)
			for _, p := range order {
				list, _ := transform.GetChildren(parents[p])
				for _, e := range list {
					sum += e.Entity()
				}
				n += len(list)
			}
			return kinSeen(n, uint64(sum))
		},
		parentOf: func() int {
			n := 0
			for i, e := range mixed {
				if p, ok := transform.GetParent(e); ok && p == parents[home[i]] {
					n++
				}
			}
			return n
		},
		reparent: func(k int) {
			for i, e := range mixed {
				remove(e)
				transform.AppendChild(parents[(home[i]+k)%len(parents)], e, false)
			}
		},
		cascade: func() { transform.RemoveRecursive(top) },
		count: func() int {
			n := 0
			for _, e := range children {
				if _, ok := transform.GetParent(e); ok {
					n++
				}
			}
			return n
		},
		alive: w.Len,
	}
}

// listed adds up a list of 8-byte handles, the cost of iterating over children. All contenders run
// the same machine code, so that the place of a loop in memory does not matter.
//
// Safety: callers only pass lists of values of 8 bytes without pointers, which may
// be read as numbers.
func listed[T any](list []T) uint64 {
	var one T
	if unsafe.Sizeof(one) != 8 {
		panic("listed: not a handle of 8 bytes")
	}
	return added(unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(list))), len(list)))
}

//go:noinline
func added(list []uint64) (sum uint64) {
	for _, x := range list {
		sum += x
	}
	return sum
}
