package main

import (
	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/component"
	"github.com/yohamta/donburi/filter"
)

// donburis is Donburi.
var donburis = contender{
	name: "donburi", role: peer,
	iterate:   donburiIterate,
	lookup:    donburiLookup,
	populate:  donburiPopulate,
	values:    donburiValues,
	change:    donburiChange,
	hierarchy: donburiHierarchy,
	newWorld:  func() any { return donburi.NewWorld() },
}

// Donburi's component types are global.
var (
	donburiPosition = donburi.NewComponentType[Position]()
	donburiVelocity = donburi.NewComponentType[Velocity]()
	donburiTypes    = []component.IComponentType{
		donburiPosition, donburiVelocity,
		donburi.NewComponentType[C1](), donburi.NewComponentType[C2](), donburi.NewComponentType[C3](), donburi.NewComponentType[C4](),
		donburi.NewComponentType[C5](), donburi.NewComponentType[C6](), donburi.NewComponentType[C7](), donburi.NewComponentType[C8](),
		donburi.NewComponentType[C9](), donburi.NewComponentType[C10](),
	}
)

func donburiIterate() field {
	w := donburi.NewWorld()
	all := donburi.NewQuery(filter.Contains(donburiPosition))
	both := donburi.NewQuery(filter.Contains(donburiPosition, donburiVelocity))
	return field{
		place: func(s set, n int) {
			chosen := components(s, donburiTypes)
			for range n {
				e := w.Create(chosen...)
				if s&velocity != 0 {
					*donburiVelocity.Get(w.Entry(e)) = Velocity{1, 1}
				}
			}
		},
		pass: func() {
			for entry := range both.Iter(w) {
				pos, vel := donburiPosition.Get(entry), donburiVelocity.Get(entry)
				pos.X += vel.X
				pos.Y += vel.Y
			}
		},
		sum: func() float64 {
			sum := 0.0
			for entry := range all.Iter(w) {
				p := donburiPosition.Get(entry)
				sum += p.X + p.Y
			}
			return sum
		},
	}
}

func donburiLookup(n int) lookups {
	w := donburi.NewWorld()
	handles := w.CreateMany(n, donburiPosition)
	for i, e := range handles {
		donburiPosition.Get(w.Entry(e)).X = float64(i)
	}
	entries := make([]*donburi.Entry, n) // found once, as its users may
	for i, e := range shuffle(handles) {
		entries[i] = w.Entry(e)
	}
	return lookups{
		read: func() float64 {
			sum := 0.0
			for _, e := range entries {
				if e.Valid() { // Get does not check
					sum += donburiPosition.Get(e).X
				}
			}
			return sum
		},
		write: func() {
			for _, e := range entries {
				if e.Valid() {
					donburiPosition.Get(e).X++
				}
			}
		},
	}
}

func donburiPopulate(wide bool, n int) population {
	w := donburi.NewWorld()
	chosen := components(setOf(wide), donburiTypes)
	handles := make([]donburi.Entity, 0, n)
	return population{
		create: func(n int) {
			for range n {
				handles = append(handles, w.Create(chosen...))
			}
		},
		createBatch: func(n int) { handles = w.CreateMany(n, chosen...) },
		destroy: func() {
			for _, e := range handles {
				w.Remove(e)
			}
			handles = handles[:0]
		},
		count:  w.Len,
		forget: func() { handles = nil },
	}
}

func donburiChange(wide bool, n int) change {
	w := donburi.NewWorld()
	with := donburi.NewQuery(filter.Contains(donburiVelocity))
	handles := w.CreateMany(n, components(baseOf(wide), donburiTypes)...)
	return change{
		add: func() {
			for _, e := range handles {
				donburi.Add(w.Entry(e), donburiVelocity, &Velocity{})
			}
		},
		remove: func() {
			for _, e := range handles {
				donburi.Remove[Velocity](w.Entry(e), donburiVelocity)
			}
		},
		count: func() int { return with.Count(w) },
	}
}

func donburiValues(wide bool, n int) values {
	if wide {
		return values{} // far slower to create ten without values
	}
	w := donburi.NewWorld()
	handles := make([]donburi.Entity, 0, n)
	return values{
		create: func(n int) {
			for range n {
				e := w.Create(donburiTypes[:2]...)
				entry := w.Entry(e)
				*donburiPosition.Get(entry), *donburiVelocity.Get(entry) = Position{1, 2}, Velocity{3, 4}
				handles = append(handles, e)
			}
		},
		createBatch: func(n int) {
			handles = append(handles, w.CreateMany(n, donburiTypes[:2]...)...)
			for _, e := range handles {
				entry := w.Entry(e)
				*donburiPosition.Get(entry), *donburiVelocity.Get(entry) = Position{1, 2}, Velocity{3, 4}
			}
		},
		clear: func() {
			for _, e := range handles {
				w.Remove(e)
			}
			handles = handles[:0]
		},
		sum: func() float64 {
			sum := 0.0
			for _, e := range handles {
				entry := w.Entry(e)
				p, v := donburiPosition.Get(entry), donburiVelocity.Get(entry)
				sum += p.X + p.Y + v.X + v.Y
			}
			return sum
		},
	}
}
