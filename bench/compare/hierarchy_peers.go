package main

import (
	"github.com/mlange-42/ark/ecs"
	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/features/transform"
)

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
