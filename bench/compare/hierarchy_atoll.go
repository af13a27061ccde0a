package main

import (
	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

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
	rel := hierarchy.New(w.World, "kin", hierarchy.Options{OnChildDeath: hierarchy.Swap, Tree: hierarchy.TreeOptions{KeepCapacity: true}})
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
