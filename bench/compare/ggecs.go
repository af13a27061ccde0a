package main

import ecs "github.com/marioolofo/go-gameengine-ecs"

// ggecs is go-gameengine-ecs.
var ggecs = contender{
	name: "ggecs", role: peer,
	iterate:  func() field { return ggecsIterate(false) },
	lookup:   ggecsLookup,
	populate: ggecsPopulate,
	values:   ggecsValues,
	change:   ggecsChange,
	newWorld: func() any { return ecs.NewWorld(1024) },
}

// ggecsKept is go-gameengine-ecs with a cursor that is kept and restarted for
// each loop. It sees only the archetypes that existed when it was made, so a program
// that uses it must know when all exist.
var ggecsKept = contender{
	name: "ggecs-kept", role: peer,
	iterate: func() field { return ggecsIterate(true) },
}

// The numbers of the components, which ggecs leaves to its user.
const (
	ggecsPosition ecs.ComponentID = iota
	ggecsVelocity
)

var ggecsIDs = []ecs.ComponentID{ggecsPosition, ggecsVelocity, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}

func ggecsWorld() ecs.World {
	w := ecs.NewWorld(1024)
	w.Register(ecs.NewComponentRegistry[Position](ggecsPosition))
	w.Register(ecs.NewComponentRegistry[Velocity](ggecsVelocity))
	w.Register(ecs.NewComponentRegistry[C1](2))
	w.Register(ecs.NewComponentRegistry[C2](3))
	w.Register(ecs.NewComponentRegistry[C3](4))
	w.Register(ecs.NewComponentRegistry[C4](5))
	w.Register(ecs.NewComponentRegistry[C5](6))
	w.Register(ecs.NewComponentRegistry[C6](7))
	w.Register(ecs.NewComponentRegistry[C7](8))
	w.Register(ecs.NewComponentRegistry[C8](9))
	w.Register(ecs.NewComponentRegistry[C9](10))
	w.Register(ecs.NewComponentRegistry[C10](11))
	return w
}

func ggecsIterate(keep bool) field {
	w := ggecsWorld()
	all, both := ecs.MakeComponentMask(ggecsPosition), ecs.MakeComponentMask(ggecsPosition, ggecsVelocity)
	var cursor ecs.QueryCursor
	made := false
	return field{
		place: func(s set, n int) {
			made = false
			chosen := components(s, ggecsIDs)
			for range n {
				e := w.NewEntity(chosen...)
				if s&velocity != 0 {
					*(*Velocity)(w.Component(e, ggecsVelocity)) = Velocity{1, 1}
				}
			}
		},
		pass: func() {
			if made {
				cursor.Restart()
			} else {
				cursor, made = w.Query(both), keep
			}
			for cursor.Next() {
				pos, vel := (*Position)(cursor.Component(ggecsPosition)), (*Velocity)(cursor.Component(ggecsVelocity))
				pos.X += vel.X
				pos.Y += vel.Y
			}
		},
		sum: func() float64 {
			sum := 0.0
			for q := w.Query(all); q.Next(); {
				p := (*Position)(q.Component(ggecsPosition))
				sum += p.X + p.Y
			}
			return sum
		},
	}
}

func ggecsLookup(n int) lookups {
	w := ggecsWorld()
	handles := make([]ecs.EntityID, n)
	for i := range handles {
		handles[i] = w.NewEntity(ggecsPosition)
		(*Position)(w.Component(handles[i], ggecsPosition)).X = float64(i)
	}
	shuffle(handles)
	return lookups{
		read: func() float64 {
			sum := 0.0
			for _, e := range handles {
				sum += (*Position)(w.Component(e, ggecsPosition)).X
			}
			return sum
		},
		write: func() {
			for _, e := range handles {
				(*Position)(w.Component(e, ggecsPosition)).X++
			}
		},
	}
}

func ggecsPopulate(wide bool, n int) population {
	w := ggecsWorld()
	chosen := components(setOf(wide), ggecsIDs)
	all := ecs.MakeComponentMask(chosen...)
	handles := make([]ecs.EntityID, 0, n)
	return population{
		create: func(n int) {
			for range n {
				handles = append(handles, w.NewEntity(chosen...))
			}
		},
		destroy: func() {
			for _, e := range handles {
				w.RemEntity(e)
			}
			handles = handles[:0]
		},
		count:  func() int { return ggecsCount(w, all) },
		forget: func() { handles = nil },
	}
}

func ggecsChange(wide bool, n int) change {
	w := ggecsWorld()
	chosen := components(baseOf(wide), ggecsIDs)
	with := ecs.MakeComponentMask(ggecsPosition, ggecsVelocity)
	handles := make([]ecs.EntityID, n)
	for i := range handles {
		handles[i] = w.NewEntity(chosen...)
	}
	return change{
		add: func() {
			for _, e := range handles {
				w.AddComponent(e, ggecsVelocity)
			}
		},
		remove: func() {
			for _, e := range handles {
				w.RemComponent(e, ggecsVelocity)
			}
		},
		count: func() int { return ggecsCount(w, with) },
	}
}

func ggecsCount(w ecs.World, mask ecs.Mask) int {
	n := 0
	for q := w.Query(mask); q.Next(); {
		n++
	}
	return n
}

func ggecsValues(wide bool, n int) values {
	if wide {
		return values{} // far slower to create ten without values
	}
	w := ggecsWorld()
	handles := make([]ecs.EntityID, 0, n)
	return values{
		create: func(n int) {
			for range n {
				e := w.NewEntity(ggecsIDs[:2]...)
				*(*Position)(w.Component(e, ggecsPosition)) = Position{1, 2}
				*(*Velocity)(w.Component(e, ggecsVelocity)) = Velocity{3, 4}
				handles = append(handles, e)
			}
		},
		clear: func() {
			for _, e := range handles {
				w.RemEntity(e)
			}
			handles = handles[:0]
		},
		sum: func() float64 {
			sum := 0.0
			for _, e := range handles {
				p, v := (*Position)(w.Component(e, ggecsPosition)), (*Velocity)(w.Component(e, ggecsVelocity))
				sum += p.X + p.Y + v.X + v.Y
			}
			return sum
		},
	}
}
