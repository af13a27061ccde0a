package main

import (
	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
)

// arche is Arche, whose loops use a filter that is looked up each time.
var arche = contender{
	name: "arche", role: peer,
	iterate:  func() field { return archeIterate(false) },
	lookup:   archeLookup,
	populate: archePopulate,
	values:   archeValues,
	change:   archeChange,
	newWorld: func() any { w := ecs.NewWorld(); return &w },
}

// archeCached is Arche with a registered filter.
var archeCached = contender{
	name: "arche-cached", role: peer,
	iterate: func() field { return archeIterate(true) },
}

func archeIDs(w *ecs.World) []ecs.ID {
	return []ecs.ID{
		ecs.ComponentID[Position](w), ecs.ComponentID[Velocity](w),
		ecs.ComponentID[C1](w), ecs.ComponentID[C2](w), ecs.ComponentID[C3](w), ecs.ComponentID[C4](w), ecs.ComponentID[C5](w),
		ecs.ComponentID[C6](w), ecs.ComponentID[C7](w), ecs.ComponentID[C8](w), ecs.ComponentID[C9](w), ecs.ComponentID[C10](w),
	}
}

func archeIterate(cached bool) field {
	w := ecs.NewWorld(1024)
	ids := archeIDs(&w)
	posID, velID := ids[0], ids[1]
	all, both := ecs.All(posID), ecs.All(posID, velID)
	var filter ecs.Filter = &both
	if cached {
		registered := w.Cache().Register(&both)
		filter = &registered
	}
	return field{
		place: func(s set, n int) {
			chosen := components(s, ids)
			if s == position {
				w.Batch().New(n, chosen...)
				return
			}
			for range n {
				e := w.NewEntity(chosen...)
				if s&velocity != 0 {
					*(*Velocity)(w.Get(e, velID)) = Velocity{1, 1}
				}
			}
		},
		pass: func() {
			q := w.Query(filter)
			for q.Next() {
				pos, vel := (*Position)(q.Get(posID)), (*Velocity)(q.Get(velID))
				pos.X += vel.X
				pos.Y += vel.Y
			}
		},
		sum: func() float64 {
			sum := 0.0
			for q := w.Query(&all); q.Next(); {
				p := (*Position)(q.Get(posID))
				sum += p.X + p.Y
			}
			return sum
		},
	}
}

func archeLookup(n int) lookups {
	w := ecs.NewWorld(1024)
	pos := ecs.ComponentID[Position](&w)
	places := generic.NewMap1[Position](&w)
	handles := make([]ecs.Entity, n)
	for i := range handles {
		handles[i] = places.NewWith(&Position{X: float64(i)})
	}
	shuffle(handles)
	return lookups{
		read: func() float64 {
			sum := 0.0
			for _, e := range handles {
				sum += (*Position)(w.Get(e, pos)).X
			}
			return sum
		},
		write: func() {
			for _, e := range handles {
				(*Position)(w.Get(e, pos)).X++
			}
		},
	}
}

func archePopulate(wide bool, n int) population {
	w := ecs.NewWorld(1024)
	chosen := components(setOf(wide), archeIDs(&w))
	every := ecs.All(chosen...)
	all, builder := w.Cache().Register(&every), ecs.NewBuilder(&w, chosen...)
	handles := make([]ecs.Entity, 0, n)
	return population{
		create: func(n int) {
			for range n {
				handles = append(handles, w.NewEntity(chosen...))
			}
		},
		createBatch: func(n int) { builder.NewBatch(n) },
		destroy: func() {
			for _, e := range handles {
				w.RemoveEntity(e)
			}
			handles = handles[:0]
		},
		destroyBatch: func() {
			w.Batch().RemoveEntities(&all)
			handles = handles[:0]
		},
		count:  func() int { return archeCount(&w, &all) },
		forget: func() { handles = nil },
	}
}

func archeChange(wide bool, n int) change {
	w := ecs.NewWorld(1024)
	ids := archeIDs(&w)
	chosen, added := components(baseOf(wide), ids), ids[1:2]
	every, some := ecs.All(ids[0]), ecs.All(ids[0], ids[1])
	all, with := w.Cache().Register(&every), w.Cache().Register(&some)
	handles := make([]ecs.Entity, n)
	for i := range handles {
		handles[i] = w.NewEntity(chosen...)
	}
	found := make([]ecs.Entity, 0, n) // while a query runs, the world is locked
	find := func(of ecs.Filter) {
		found = found[:0]
		for q := w.Query(of); q.Next(); {
			found = append(found, q.Entity())
		}
	}
	return change{
		addTick: func() {
			find(&all)
			for _, e := range found {
				w.Add(e, added...)
			}
		},
		addTenth: func() {
			found = found[:0]
			l := newLot()
			for q := w.Query(&all); q.Next(); {
				if l.drawn() {
					found = append(found, q.Entity())
				}
			}
			for _, e := range found {
				w.Add(e, added...)
			}
		},
		removeTick: func() {
			find(&with)
			for _, e := range found {
				w.Remove(e, added...)
			}
		},
		add: func() {
			for _, e := range handles {
				w.Add(e, added...)
			}
		},
		remove: func() {
			for _, e := range handles {
				w.Remove(e, added...)
			}
		},
		addBatch:    func() { w.Batch().Add(&all, added...) },
		removeBatch: func() { w.Batch().Remove(&with, added...) },
		count:       func() int { return archeCount(&w, &with) },
	}
}

func archeCount(w *ecs.World, filter ecs.Filter) int {
	q := w.Query(filter)
	defer q.Close()
	return q.Count()
}

func archeValues(wide bool, n int) values {
	if wide {
		return archeWideValues(n)
	}
	w := ecs.NewWorld(1024)
	ids := archeIDs(&w)
	every := ecs.All(ids[0], ids[1])
	all := w.Cache().Register(&every)
	handles := make([]ecs.Entity, 0, n)
	m := generic.NewMap2[Position, Velocity](&w)
	return values{
		create: func(n int) {
			for range n {
				e := w.NewEntity(ids[:2]...)
				*(*Position)(w.Get(e, ids[0])), *(*Velocity)(w.Get(e, ids[1])) = Position{1, 2}, Velocity{3, 4}
				handles = append(handles, e)
			}
		},
		createBatch: func(n int) {
			for q := m.NewBatchQ(n); q.Next(); {
				p, v := q.Get()
				*p, *v = Position{1, 2}, Velocity{3, 4}
			}
		},
		clear: func() {
			w.Batch().RemoveEntities(&all)
			handles = handles[:0]
		},
		sum: func() float64 {
			sum := 0.0
			for q := w.Query(&all); q.Next(); {
				p, v := (*Position)(q.Get(ids[0])), (*Velocity)(q.Get(ids[1]))
				sum += p.X + p.Y + v.X + v.Y
			}
			return sum
		},
	}
}

func archeWideValues(n int) values {
	w := ecs.NewWorld(1024)
	ids := components(setOf(true), archeIDs(&w))
	every := ecs.All(ids...)
	all := w.Cache().Register(&every)
	handles := make([]ecs.Entity, 0, n)
	return values{
		create: func(n int) {
			for range n {
				e := w.NewEntity(ids...)
				for _, id := range ids { // all have the same fields
					*(*C1)(w.Get(e, id)) = C1{1, 2}
				}
				handles = append(handles, e)
			}
		},
		clear: func() {
			w.Batch().RemoveEntities(&all)
			handles = handles[:0]
		},
		sum: func() float64 {
			sum := 0.0
			for q := w.Query(&all); q.Next(); {
				for _, id := range ids {
					c := (*C1)(q.Get(id))
					sum += c.X + c.Y
				}
			}
			return sum
		},
	}
}
