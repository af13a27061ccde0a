package main

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// atoll is the library of this repository, with a number of shards.
func atoll(shards int) contender {
	o := world.Options{Shards: shards}
	return contender{
		name: "atoll", role: own, shards: shards,
		iterate: func() field { return atollIterate(o) },
		lookup: func(n int) func() float64 {
			w, pos, handles := atollLookup(o, n)
			return func() float64 {
				sum := 0.0
				for _, h := range handles {
					sum += pos.At(w.Locate(h)).X
				}
				return sum
			}
		},
		lookupPlain: func(n int) func() float64 {
			_, pos, handles := atollLookup(o, n)
			return func() float64 {
				sum := 0.0
				for _, h := range handles {
					sum += pos.Get(h).X
				}
				return sum
			}
		},
		populate: func(wide bool, n int) population {
			w := atollWorld(o)
			if wide {
				return atollPopulate[atollWide](w, n)
			}
			return atollPopulate[atollMover](w, n)
		},
		newWorld: func() any { return world.MustNew(o) },
	}
}

// The bundles that entities are created from.
type (
	atollPlace struct{ Position }
	atollMover struct {
		Position
		Velocity
	}
	atollWide struct {
		C1
		C2
		C3
		C4
		C5
		C6
		C7
		C8
		C9
		C10
	}
)

func atollWorld(o world.Options) *world.World {
	w := world.MustNew(o)
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	world.Register[C1](w, "c1")
	world.Register[C2](w, "c2")
	world.Register[C3](w, "c3")
	world.Register[C4](w, "c4")
	world.Register[C5](w, "c5")
	world.Register[C6](w, "c6")
	world.Register[C7](w, "c7")
	world.Register[C8](w, "c8")
	world.Register[C9](w, "c9")
	world.Register[C10](w, "c10")
	return w
}

func atollIterate(o world.Options) field {
	w := atollWorld(o)
	place, mover := world.NewBundle[atollPlace](w), world.NewBundle[atollMover](w)
	pos, vel := world.Write[Position](w), world.Read[Velocity](w)
	all, both := w.Query(pos), w.Query(pos, vel)
	var archetypes *atollArchetypes
	return field{
		place: func(s set, n int) {
			var err error
			switch s {
			case position:
				err = place.CreateN(w, n, nil)
			case moving:
				err = mover.CreateN(w, n, func(_ int, m *atollMover) { m.Velocity = Velocity{1, 1} })
			default:
				if archetypes == nil {
					archetypes = newAtollArchetypes(w)
				}
				for range n {
					archetypes.place(s)
				}
			}
			must(n, err)
		},
		pass: func() {
			for ch := range both.Chunks() {
				move(pos.Slice(ch), vel.Slice(ch))
			}
		},
		sum: func() float64 {
			sum := 0.0
			for ch := range all.Chunks() {
				for _, p := range pos.Slice(ch) {
					sum += p.X + p.Y
				}
			}
			return sum
		},
	}
}

func atollLookup(o world.Options, n int) (*world.World, *world.Reader[Position], []handle.Handle) {
	w := atollWorld(o)
	place := world.NewBundle[atollPlace](w)
	handles := must(place.AppendN(nil, w, n, func(i int, p *atollPlace) { p.X = float64(i) }))
	return w, world.Read[Position](w), shuffle(handles)
}

func atollPopulate[T any](w *world.World, n int) population {
	b := world.NewBundle[T](w)
	handles := make([]handle.Handle, 0, n)
	return population{
		create: func(n int) {
			for range n {
				h, err := b.Create(w, *new(T))
				if err != nil {
					panic(err)
				}
				handles = append(handles, h)
			}
		},
		createBatch: func(n int) {
			if err := b.CreateN(w, n, nil); err != nil {
				panic(err)
			}
		},
		destroy: func() {
			for _, h := range handles {
				w.Destroy(h)
			}
			w.Refresh()
			handles = handles[:0]
		},
		reset: func() {
			w.Clear()
			handles = handles[:0]
		},
		count: w.Count,
	}
}
