package main

import "github.com/mlange-42/ark/ecs"

// ark is Ark, whose loops walk whole tables.
var ark = contender{
	name: "ark", role: peer,
	iterate:   func() field { return arkIterate(false) },
	lookup:    arkLookup,
	populate:  arkPopulate,
	values:    arkValues,
	change:    arkChange,
	hierarchy: arkHierarchy,
	newWorld:  func() any { return ecs.NewWorld() },
}

// arkCached is Ark with a registered filter.
var arkCached = contender{
	name: "ark-cached", role: peer,
	iterate: func() field { return arkIterate(true) },
}

func arkIDs(w *ecs.World) []ecs.ID {
	return []ecs.ID{
		ecs.ComponentID[Position](w), ecs.ComponentID[Velocity](w),
		ecs.ComponentID[C1](w), ecs.ComponentID[C2](w), ecs.ComponentID[C3](w), ecs.ComponentID[C4](w), ecs.ComponentID[C5](w),
		ecs.ComponentID[C6](w), ecs.ComponentID[C7](w), ecs.ComponentID[C8](w), ecs.ComponentID[C9](w), ecs.ComponentID[C10](w),
	}
}

func arkIterate(cached bool) field {
	w := ecs.NewWorld()
	ids := arkIDs(w)
	places, movers := ecs.NewMap1[Position](w), ecs.NewMap2[Position, Velocity](w)
	all, velocities := ecs.NewFilter1[Position](w), ecs.NewMap1[Velocity](w)
	both := ecs.NewFilter2[Position, Velocity](w)
	if cached {
		both.Register()
	}
	return field{
		place: func(s set, n int) {
			switch s {
			case position:
				places.NewBatchFn(n, nil)
				return
			case moving:
				movers.NewBatch(n, &Position{}, &Velocity{1, 1})
				return
			}
			chosen := components(s, ids)
			for range n {
				e := w.Unsafe().NewEntity(chosen...)
				if s&velocity != 0 {
					*velocities.Get(e) = Velocity{1, 1}
				}
			}
		},
		pass: func() {
			q := both.Query()
			for q.NextTable() {
				move(q.GetColumns())
			}
		},
		sum: func() float64 {
			sum := 0.0
			for q := all.Query(); q.Next(); {
				p := q.Get()
				sum += p.X + p.Y
			}
			return sum
		},
	}
}

func arkLookup(n int) lookups {
	w := ecs.NewWorld()
	pos := ecs.NewMap[Position](w)
	handles := make([]ecs.Entity, 0, n)
	pos.NewBatchFn(n, func(e ecs.Entity, p *Position) {
		p.X = float64(len(handles))
		handles = append(handles, e)
	})
	shuffle(handles)
	return lookups{
		read: func() float64 {
			sum := 0.0
			for _, e := range handles {
				sum += pos.Get(e).X
			}
			return sum
		},
		write: func() {
			for _, e := range handles {
				pos.Get(e).X++
			}
		},
	}
}

func arkPopulate(wide bool, n int) population {
	w := ecs.NewWorld()
	all := ecs.NewFilter0(w).Register()
	handles := make([]ecs.Entity, 0, n)
	p := population{
		destroy: func() {
			for _, e := range handles {
				w.RemoveEntity(e)
			}
			handles = handles[:0]
		},
		destroyBatch: func() {
			w.RemoveEntities(all.Batch(), nil)
			handles = handles[:0]
		},
		count: func() int {
			q := all.Query()
			defer q.Close()
			return q.Count()
		},
		forget: func() { handles = nil },
	}
	if wide {
		m := ecs.NewMap10[C1, C2, C3, C4, C5, C6, C7, C8, C9, C10](w)
		p.create = func(n int) {
			for range n {
				handles = append(handles, m.NewEntityFn(nil))
			}
		}
		p.createBatch = func(n int) { m.NewBatchFn(n, nil) }
	} else {
		m := ecs.NewMap2[Position, Velocity](w)
		p.create = func(n int) {
			for range n {
				handles = append(handles, m.NewEntityFn(nil))
			}
		}
		p.createBatch = func(n int) { m.NewBatchFn(n, nil) }
	}
	return p
}

func arkChange(wide bool, n int) change {
	w := ecs.NewWorld()
	vel := ecs.NewMap1[Velocity](w)
	handles := make([]ecs.Entity, 0, n)
	chosen := components(baseOf(wide), arkIDs(w))
	for range n {
		handles = append(handles, w.Unsafe().NewEntity(chosen...))
	}
	all, with := ecs.NewFilter1[Position](w).Register(), ecs.NewFilter2[Position, Velocity](w).Register()
	found := make([]ecs.Entity, 0, n) // while a query runs, the world is locked
	return change{
		addTick: func() {
			found = found[:0]
			for q := all.Query(); q.NextTable(); {
				found = append(found, q.Entities()...)
			}
			for _, e := range found {
				vel.AddFn(e, nil)
			}
		},
		addTenth: func() {
			found = found[:0]
			l := newLot()
			for q := all.Query(); q.NextTable(); {
				for _, e := range q.Entities() {
					if l.drawn() {
						found = append(found, e)
					}
				}
			}
			for _, e := range found {
				vel.AddFn(e, nil)
			}
		},
		removeTick: func() {
			found = found[:0]
			for q := with.Query(); q.NextTable(); {
				found = append(found, q.Entities()...)
			}
			for _, e := range found {
				vel.Remove(e)
			}
		},
		add: func() {
			for _, e := range handles {
				vel.AddFn(e, nil)
			}
		},
		remove: func() {
			for _, e := range handles {
				vel.Remove(e)
			}
		},
		addBatch:    func() { vel.AddBatchFn(all.Batch(), nil) },
		removeBatch: func() { vel.RemoveBatch(with.Batch(), nil) },
		count: func() int {
			q := with.Query()
			defer q.Close()
			return q.Count()
		},
	}
}

// arkFill sets the new components in place, which is faster than passing them.
func arkFill(p *Position, v *Velocity) { *p, *v = Position{1, 2}, Velocity{3, 4} }

func arkFillWide(a *C1, b *C2, c *C3, d *C4, e *C5, f *C6, g *C7, h *C8, i *C9, j *C10) {
	*a, *b, *c, *d, *e, *f, *g, *h, *i, *j = C1{1, 2}, C2{1, 2}, C3{1, 2}, C4{1, 2}, C5{1, 2}, C6{1, 2}, C7{1, 2}, C8{1, 2}, C9{1, 2}, C10{1, 2}
}

func arkWideValues(n int) values {
	w := ecs.NewWorld()
	m, all := ecs.NewMap10[C1, C2, C3, C4, C5, C6, C7, C8, C9, C10](w), ecs.NewFilter8[C1, C2, C3, C4, C5, C6, C7, C8](w).With(ecs.C[C9](), ecs.C[C10]()).Register()
	last := ecs.NewFilter2[C9, C10](w)
	handles := make([]ecs.Entity, 0, n)
	return values{
		create: func(n int) {
			for range n {
				handles = append(handles, m.NewEntityFn(arkFillWide))
			}
		},
		createBatch: func(n int) {
			m.NewBatchFn(n, func(_ ecs.Entity, a *C1, b *C2, c *C3, d *C4, e *C5, f *C6, g *C7, h *C8, i *C9, j *C10) {
				*a, *b, *c, *d, *e, *f, *g, *h, *i, *j = C1{1, 2}, C2{1, 2}, C3{1, 2}, C4{1, 2}, C5{1, 2}, C6{1, 2}, C7{1, 2}, C8{1, 2}, C9{1, 2}, C10{1, 2}
			})
		},
		clear: func() {
			w.RemoveEntities(all.Batch(), nil)
			handles = handles[:0]
		},
		sum: func() float64 {
			sum := 0.0
			for q := all.Query(); q.Next(); {
				a, b, c, d, e, f, g, h := q.Get()
				sum += a.X + a.Y + b.X + b.Y + c.X + c.Y + d.X + d.Y + e.X + e.Y + f.X + f.Y + g.X + g.Y + h.X + h.Y
			}
			for q := last.Query(); q.Next(); {
				i, j := q.Get()
				sum += i.X + i.Y + j.X + j.Y
			}
			return sum
		},
	}
}

func arkValues(wide bool, n int) values {
	if wide {
		return arkWideValues(n)
	}
	w := ecs.NewWorld()
	m, all := ecs.NewMap2[Position, Velocity](w), ecs.NewFilter2[Position, Velocity](w).Register()
	handles := make([]ecs.Entity, 0, n)
	return values{
		create: func(n int) {
			for range n {
				handles = append(handles, m.NewEntityFn(arkFill))
			}
		},
		createBatch: func(n int) {
			m.NewBatchFn(n, func(_ ecs.Entity, p *Position, v *Velocity) { *p, *v = Position{1, 2}, Velocity{3, 4} })
		},
		clear: func() {
			w.RemoveEntities(all.Batch(), nil)
			handles = handles[:0]
		},
		sum: func() float64 {
			sum := 0.0
			for q := all.Query(); q.Next(); {
				p, v := q.Get()
				sum += p.X + p.Y + v.X + v.Y
			}
			return sum
		},
	}
}
