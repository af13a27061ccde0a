package main

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// role is what a contender is in the comparison.
type role int

const (
	own   role = iota // Atoll
	twin              // Atoll with the other number of shards
	peer              // a library of the same kind: may be the best peer
	limit             // hand-written code that does no more than it must
)

// contender is one library. Each function uses the library's fastest path with checks
// on. A nil function, here or in a function's result, means that the library
// does not offer it. The returned functions do the work, which is timed; making
// them is the setup, which is not.
type contender struct {
	name   string
	role   role
	shards int // Atoll's

	// iterate makes an empty world to loop over.
	iterate func() field
	// lookup makes n entities, the i-th with Position.X = i.
	lookup func(n int) lookups
	// populate makes a world for up to n entities of Position and Velocity, or
	// of C1 to C10, if wide.
	populate func(wide bool, n int) population
	// values makes a world for up to n entities of Position {1, 2} and Velocity
	// {3, 4}, or, if wide, of C1 to C10, each {1, 2}, created with these values.
	values func(wide bool, n int) values
	// change makes n entities of Position, or of Position and C1 to C10, if
	// wide, to add Velocity to and to remove it from.
	change func(wide bool, n int) change
	// hierarchy makes a world with parents and children.
	hierarchy func(s wishes) kinship
	// newWorld makes a world with the default options and returns it.
	newWorld func() any
}

// field is a world to loop over.
type field struct {
	// place makes n entities of the set, with Velocity {1, 1}.
	place func(s set, n int)
	// pass adds Velocity to Position in every entity that has both.
	pass func()
	// sum adds up X and Y of Position in every entity.
	sum func() float64
}

// lookups look up all entities by handle, in shuffled order.
type lookups struct {
	read  func() float64 // sums up X
	write func()         // adds 1 to X; nil: not measured
}

// population is a world to create and destroy in. The components' values are
// zero. At most n entities are created, and all are destroyed at once.
type population struct {
	create       func(n int) // one at a time, keeping the handles
	createBatch  func(n int)
	destroy      func() // one at a time, in the order of creation
	destroyBatch func()
	reset        func() // empties it for the next round; nil: as destroy does
	count        func() int
	forget       func() // drops the handles: only the world is left
	// stats returns how many bytes are in use and reserved; nil if unknown.
	stats func() (used, reserved uint64)
}

// values is a world to create entities of given values in.
type values struct {
	create      func(n int) // keeping the handles; nil: not measured
	createBatch func(n int) // not keeping them; nil: there is no call for that
	clear       func()
	sum         func() float64 // of both components' fields, of all entities
}

// clear empties the population, untimed.
func (p population) clear() {
	switch {
	case p.reset != nil:
		p.reset()
	case p.destroyBatch != nil:
		p.destroyBatch()
	default:
		p.destroy()
	}
}

// change is a world to add a component in and remove it.
type change struct {
	add, remove           func() // one at a time
	addBatch, removeBatch func()
	// one at a time, within a tick: by a system that loops over the entities
	addTick, removeTick func()
	addTenth            func()     // addTick of the entities that a lot draws
	count               func() int // of those that have it
}

// lot draws one in ten at random, and the same ones in each tick.
type lot uint64

func newLot() lot { return 88172645463325252 }

// drawn reports whether the next one is drawn.
func (l *lot) drawn() bool {
	*l ^= *l << 13
	*l ^= *l >> 7
	*l ^= *l << 17
	return uint32(*l>>32) < math.MaxUint32/10
}

// drawnOf counts how many of n are drawn.
func drawnOf(n int) int {
	count := 0
	for l := newLot(); n > 0; n-- {
		if l.drawn() {
			count++
		}
	}
	return count
}

// others are the contenders besides Atoll.
var others = []contender{ark, arkCached, arche, archeCached, donburis, volts, unitoftime, unitoftimeSlices, ggecs, ggecsKept, byMaps, limits}

// shuffle orders handles at random, in the same way each time.
func shuffle[T any](handles []T) []T {
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(handles), func(i, j int) { handles[i], handles[j] = handles[j], handles[i] })
	return handles
}

// must panics on an error: the contender is left out of the cell.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// check is must for calls that only return an error.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// guard runs f and turns a panic into an error.
func guard(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	f()
	return nil
}

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
