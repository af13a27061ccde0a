package main

import "github.com/akmonengine/volt"

// volts is Volt. It has no check that an entity is alive.
var volts = contender{
	name: "volt", role: peer,
	iterate:  voltIterate,
	lookup:   voltLookup,
	populate: voltPopulate,
	values:   voltValues,
	change:   voltChange,
	newWorld: func() any { return volt.CreateWorld(1024) },
}

// Volt's components return their own numbers.
func (Position) GetComponentId() volt.ComponentId { return 0 }
func (Velocity) GetComponentId() volt.ComponentId { return 1 }
func (C1) GetComponentId() volt.ComponentId       { return 2 }
func (C2) GetComponentId() volt.ComponentId       { return 3 }
func (C3) GetComponentId() volt.ComponentId       { return 4 }
func (C4) GetComponentId() volt.ComponentId       { return 5 }
func (C5) GetComponentId() volt.ComponentId       { return 6 }
func (C6) GetComponentId() volt.ComponentId       { return 7 }
func (C7) GetComponentId() volt.ComponentId       { return 8 }
func (C8) GetComponentId() volt.ComponentId       { return 9 }
func (C9) GetComponentId() volt.ComponentId       { return 10 }
func (C10) GetComponentId() volt.ComponentId      { return 11 }

func voltRegister[T volt.ComponentInterface](w *volt.World) {
	volt.RegisterComponent[T](w, &volt.ComponentConfig[T]{})
}

func voltWorld() *volt.World {
	w := volt.CreateWorld(1024)
	voltRegister[Position](w)
	voltRegister[Velocity](w)
	voltRegister[C1](w)
	voltRegister[C2](w)
	voltRegister[C3](w)
	voltRegister[C4](w)
	voltRegister[C5](w)
	voltRegister[C6](w)
	voltRegister[C7](w)
	voltRegister[C8](w)
	voltRegister[C9](w)
	voltRegister[C10](w)
	return w
}

// voltCreate makes an entity of any set, its components zero.
func voltCreate(w *volt.World, s set) volt.EntityId {
	e := w.CreateEntity()
	var chosen []volt.ComponentIdConf
	for i := range extrasMax + 2 {
		if s>>i&1 != 0 {
			chosen = append(chosen, volt.ComponentIdConf{ComponentId: volt.ComponentId(i)})
		}
	}
	check(w.AddComponents(e, chosen...))
	return e
}

func voltIterate() field {
	w := voltWorld()
	all := volt.CreateQuery1[Position](w, volt.QueryConfiguration{})
	both := volt.CreateQuery2[Position, Velocity](w, volt.QueryConfiguration{})
	return field{
		place: func(s set, n int) {
			for range n {
				e := voltCreate(w, s)
				if s&velocity != 0 {
					*volt.GetComponent[Velocity](w, e) = Velocity{1, 1}
				}
			}
		},
		pass: func() {
			for row := range both.Foreach(nil) {
				row.A.X += row.B.X
				row.A.Y += row.B.Y
			}
		},
		sum: func() float64 {
			sum := 0.0
			for row := range all.Foreach(nil) {
				sum += row.A.X + row.A.Y
			}
			return sum
		},
	}
}

func voltLookup(n int) lookups {
	w := voltWorld()
	handles := make([]volt.EntityId, n)
	for i := range handles {
		handles[i] = voltCreate(w, position)
		volt.GetComponent[Position](w, handles[i]).X = float64(i)
	}
	shuffle(handles)
	return lookups{
		read: func() float64 {
			sum := 0.0
			for _, e := range handles {
				sum += volt.GetComponent[Position](w, e).X
			}
			return sum
		},
		write: func() {
			for _, e := range handles {
				volt.GetComponent[Position](w, e).X++
			}
		},
	}
}

func voltPopulate(wide bool, n int) population {
	w := voltWorld()
	handles := make([]volt.EntityId, 0, n)
	p := population{
		create: func(n int) {
			for range n {
				handles = append(handles, must(volt.CreateEntityWithComponents2(w, Position{}, Velocity{})))
			}
		},
		destroy: func() {
			for _, e := range handles {
				w.RemoveEntity(e)
			}
			handles = handles[:0]
		},
		forget: func() { handles = nil },
	}
	if wide {
		all := volt.CreateQuery1[C10](w, volt.QueryConfiguration{})
		p.count = all.Count
		p.create = func(n int) {
			for range n {
				e := must(volt.CreateEntityWithComponents8(w, C1{}, C2{}, C3{}, C4{}, C5{}, C6{}, C7{}, C8{}))
				check(volt.AddComponents2(w, e, C9{}, C10{}))
				handles = append(handles, e)
			}
		}
		return p
	}
	both := volt.CreateQuery2[Position, Velocity](w, volt.QueryConfiguration{})
	p.count = both.Count
	return p
}

func voltChange(wide bool, n int) change {
	w := voltWorld()
	with := volt.CreateQuery1[Velocity](w, volt.QueryConfiguration{})
	handles := make([]volt.EntityId, n)
	for i := range handles {
		handles[i] = voltCreate(w, baseOf(wide))
	}
	return change{
		add: func() {
			for _, e := range handles {
				check(volt.AddComponent(w, e, Velocity{}))
			}
		},
		remove: func() {
			for _, e := range handles {
				check(volt.RemoveComponent[Velocity](w, e))
			}
		},
		count: with.Count,
	}
}

func voltValues(wide bool, n int) values {
	if wide {
		return values{} // far slower to create ten without values
	}
	w := voltWorld()
	handles := make([]volt.EntityId, 0, n)
	return values{
		create: func(n int) {
			for range n {
				handles = append(handles, must(volt.CreateEntityWithComponents2(w, Position{1, 2}, Velocity{3, 4})))
			}
		},
		clear: func() {
			for _, e := range handles {
				w.RemoveEntity(e)
			}
			handles = handles[:0]
		},
		sum: func() float64 {
			sum := 0.0
			for _, e := range handles {
				p, v := volt.GetComponent[Position](w, e), volt.GetComponent[Velocity](w, e)
				sum += p.X + p.Y + v.X + v.Y
			}
			return sum
		},
	}
}
