package wheel

import (
	"math/bits"
	"reflect"
)

// Of is a Wheel whose entries have a value each: bodies are by index, in pages of 64 KB. A page
// exists once an entry was in it.
//
// Ownership: as for the Wheel.
type Of[M any] struct {
	Wheel
	bodies [][]M
	bits   int // a page of bodies has 1<<bits
}

// New returns an empty wheel.
func New[M any]() Of[M] {
	size := max(1, reflect.TypeFor[M]().Size())
	return Of[M]{
		Wheel: Wheel{slots: make([]list, slotsFirst)},
		bits:  min(pageBits, max(0, bits.Len64(bodyBytes/uint64(size))-1)),
	}
}

const bodyBytes = 64 << 10

// Body returns where the body of the entry at an index is.
func (w *Of[M]) Body(index int) *M {
	page := index >> w.bits
	for page >= len(w.bodies) {
		w.bodies = append(w.bodies, nil)
	}
	if w.bodies[page] == nil {
		w.bodies[page] = make([]M, 1<<w.bits)
	}
	return &w.bodies[page][index&(1<<w.bits-1)]
}

// pageBytes returns how much memory Body would take for an index.
func (w *Of[M]) pageBytes(index int) uintptr {
	if page := index >> w.bits; page < len(w.bodies) && w.bodies[page] != nil {
		return 0
	}
	return reflect.TypeFor[M]().Size() << w.bits
}
