package main

import "github.com/atoll-sim/atoll/world"

// archetypesMax is the number of sets of extra components that Atoll's bundles
// are made for: a bundle is a type of its own, so each set has to be compiled.
const archetypesMax = 32

// without stands for the lack of a component, as a component of no size: a
// bundle with it instead makes another archetype.
type without[C any] struct{}

// A tagged bundle is one of the archetypes by its type arguments, each of which
// is a component or the lack of it.
type (
	taggedPlace[A, B, C, D, E any] struct {
		Position Position
		A        A
		B        B
		C        C
		D        D
		E        E
	}
	taggedMover[A, B, C, D, E any] struct {
		Position Position
		Velocity Velocity
		A        A
		B        B
		C        C
		D        D
		E        E
	}
)

// atollArchetypes creates entities by their extra components, as far as there
// are bundles.
type atollArchetypes struct {
	w              *world.World
	places, movers [archetypesMax]func() // by the mask of extra components
}

func newAtollArchetypes(w *world.World) *atollArchetypes {
	world.Register[without[C1]](w, "without c1")
	world.Register[without[C2]](w, "without c2")
	world.Register[without[C3]](w, "without c3")
	world.Register[without[C4]](w, "without c4")
	world.Register[without[C5]](w, "without c5")
	a := &atollArchetypes{w: w}
	tag1[without[C1]](a, 0)
	tag1[C1](a, 1)
	return a
}

func tag1[A any](a *atollArchetypes, mask int) {
	tag2[A, without[C2]](a, mask)
	tag2[A, C2](a, mask|1<<1)
}

func tag2[A, B any](a *atollArchetypes, mask int) {
	tag3[A, B, without[C3]](a, mask)
	tag3[A, B, C3](a, mask|1<<2)
}

func tag3[A, B, C any](a *atollArchetypes, mask int) {
	tag4[A, B, C, without[C4]](a, mask)
	tag4[A, B, C, C4](a, mask|1<<3)
}

func tag4[A, B, C, D any](a *atollArchetypes, mask int) {
	tag5[A, B, C, D, without[C5]](a, mask)
	tag5[A, B, C, D, C5](a, mask|1<<4)
}

func tag5[A, B, C, D, E any](a *atollArchetypes, mask int) {
	place := world.NewBundle[taggedPlace[A, B, C, D, E]](a.w)
	a.places[mask] = func() { must(place.Create(a.w, taggedPlace[A, B, C, D, E]{})) }
	mover := world.NewBundle[taggedMover[A, B, C, D, E]](a.w)
	a.movers[mask] = func() { must(mover.Create(a.w, taggedMover[A, B, C, D, E]{Velocity: Velocity{1, 1}})) }
}

// place creates an entity. Sets that there is no bundle for fall on others.
func (a *atollArchetypes) place(s set) {
	mask := int(s/extra) % archetypesMax
	if s&velocity != 0 {
		a.movers[mask]()
	} else {
		a.places[mask]()
	}
}
