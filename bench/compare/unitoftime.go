package main

import "github.com/unitoftime/ecs"

// unitoftime is unitoftime/ecs, whose loops call a function for each entity.
var unitoftime = contender{
	name: "unitoftime", role: peer,
	iterate:  func() field { return uotIterate(false) },
	lookup:   uotLookup,
	populate: uotPopulate,
	values:   uotValues,
	change:   uotChange,
	newWorld: func() any { return ecs.NewWorld() },
}

// unitoftimeSlices is unitoftime/ecs with loops over whole archetypes.
var unitoftimeSlices = contender{
	name: "unitoftime-slices", role: peer,
	iterate: func() field { return uotIterate(true) },
}

func uotComponents() []ecs.Component {
	return []ecs.Component{
		ecs.C(Position{}), ecs.C(Velocity{1, 1}),
		ecs.C(C1{}), ecs.C(C2{}), ecs.C(C3{}), ecs.C(C4{}), ecs.C(C5{}),
		ecs.C(C6{}), ecs.C(C7{}), ecs.C(C8{}), ecs.C(C9{}), ecs.C(C10{}),
	}
}

func uotIterate(slices bool) field {
	w := ecs.NewWorld()
	values := uotComponents()
	all, both := ecs.Query1[Position](w), ecs.Query2[Position, Velocity](w)
	pass := func() {
		both.MapId(func(_ ecs.Id, pos *Position, vel *Velocity) {
			pos.X += vel.X
			pos.Y += vel.Y
		})
	}
	if slices {
		pass = func() { // also moves the rows of destroyed entities, of which there are none
			//lint:ignore SA1019 marked as tentative, and the fastest there is
			both.MapSlices(func(_ []ecs.Id, pos []Position, vel []Velocity) { move(pos, vel) })
		}
	}
	return field{
		place: func(s set, n int) {
			chosen := components(s, values)
			for range n {
				ecs.Write(w, w.NewId(), chosen...)
			}
		},
		pass: pass,
		sum: func() float64 {
			sum := 0.0
			all.MapId(func(_ ecs.Id, p *Position) { sum += p.X + p.Y })
			return sum
		},
	}
}

func uotLookup(n int) lookups {
	w := ecs.NewWorld()
	all := ecs.Query1[Position](w)
	handles := make([]ecs.Id, n)
	for i := range handles {
		handles[i] = w.NewId()
		ecs.Write(w, handles[i], ecs.C(Position{X: float64(i)}))
	}
	shuffle(handles)
	return lookups{
		read: func() float64 {
			sum := 0.0
			for _, id := range handles {
				sum += all.Read(id).X
			}
			return sum
		},
	}
}

func uotPopulate(wide bool, n int) population {
	w := ecs.NewWorld()
	values := uotComponents()
	values[1] = ecs.C(Velocity{})
	chosen := components(setOf(wide), values)
	handles := make([]ecs.Id, 0, n)
	count := ecs.Query2[Position, Velocity](w).Count
	if wide {
		count = ecs.Query2[C1, C10](w).Count
	}
	return population{
		create: func(n int) {
			for range n {
				id := w.NewId()
				ecs.Write(w, id, chosen...)
				handles = append(handles, id)
			}
		},
		destroy: func() {
			for _, id := range handles {
				ecs.Delete(w, id)
			}
			handles = handles[:0]
		},
		count:  count,
		forget: func() { handles = nil },
	}
}

func uotChange(wide bool, n int) change {
	w := ecs.NewWorld()
	values := uotComponents()
	chosen, added := components(baseOf(wide), values), []ecs.Component{ecs.C(Velocity{})}
	handles := make([]ecs.Id, n)
	for i := range handles {
		handles[i] = w.NewId()
		ecs.Write(w, handles[i], chosen...)
	}
	return change{
		add: func() {
			for _, id := range handles {
				ecs.Write(w, id, added...)
			}
		},
		remove: func() {
			for _, id := range handles {
				ecs.DeleteComponent(w, id, added...)
			}
		},
		count: ecs.Query1[Velocity](w).Count,
	}
}

func uotValues(wide bool, n int) values {
	if wide {
		return values{} // far slower to create ten without values
	}
	w := ecs.NewWorld()
	both := ecs.Query2[Position, Velocity](w)
	handles := make([]ecs.Id, 0, n)
	return values{
		create: func(n int) {
			for range n {
				id := w.NewId()
				ecs.Write(w, id, ecs.C(Position{1, 2}), ecs.C(Velocity{3, 4}))
				handles = append(handles, id)
			}
		},
		clear: func() {
			for _, id := range handles {
				ecs.Delete(w, id)
			}
			handles = handles[:0]
		},
		sum: func() float64 {
			sum := 0.0
			both.MapId(func(_ ecs.Id, p *Position, v *Velocity) { sum += p.X + p.Y + v.X + v.Y })
			return sum
		},
	}
}
