package main

// The components of every bench: two float64 each, as in the public comparison
// of Go libraries.
type (
	Position struct{ X, Y float64 }
	Velocity struct{ X, Y float64 }

	C1  struct{ X, Y float64 }
	C2  struct{ X, Y float64 }
	C3  struct{ X, Y float64 }
	C4  struct{ X, Y float64 }
	C5  struct{ X, Y float64 }
	C6  struct{ X, Y float64 }
	C7  struct{ X, Y float64 }
	C8  struct{ X, Y float64 }
	C9  struct{ X, Y float64 }
	C10 struct{ X, Y float64 }
)

// extrasMax is the number of components in addition to Position and Velocity.
const extrasMax = 10

// set names components by bit: bit 0 Position, bit 1 Velocity, bit 2+i the
// extra component C(i+1).
type set uint16

const (
	position set = 1 << iota
	velocity
	extra // the first of the extra components; the others follow
)

// moving is what the loop over two components looks for.
const moving = position | velocity

// extras returns the set whose extra components are the bits of mask.
func extras(mask int) set { return set(mask) * extra }

// setOf is what the entities of a population have: two components, or ten.
func setOf(wide bool) set {
	if wide {
		return extras(1<<extrasMax - 1)
	}
	return moving
}

// baseOf is what the entities of a change have: one component, or eleven.
func baseOf(wide bool) set {
	if wide {
		return position | extras(1<<extrasMax-1)
	}
	return position
}

// components returns those of all that are in the set. all is in the order of the
// set's bits.
func components[T any](s set, all []T) []T {
	var chosen []T
	for i := range all {
		if s>>i&1 != 0 {
			chosen = append(chosen, all[i])
		}
	}
	return chosen
}

// move is the loop over two components for contenders that have slices of them. It is
// not inlined, so that all run the same machine code.
//
//go:noinline
func move(pos []Position, vel []Velocity) {
	vel = vel[:len(pos)]
	for i := range pos {
		pos[i].X += vel[i].X
		pos[i].Y += vel[i].Y
	}
}
