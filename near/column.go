package near

import (
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// column reads positions of rows that begin at an address: of the given ones, or of those from one on
// if there are none given. It knows their type; so that little is compiled for each, others do not.
type column interface {
	// points tells where rows are.
	points(first mem.Address, rows []uint32, from int, to []Point)
	// where tells where the row at a location is, and false if there is none or its place not finite.
	where(v store.View, l slots.Loc) (Point, bool)
}

// columnOf is the column of a component.
type columnOf[P any] func(P) Point

func (at columnOf[P]) points(first mem.Address, rows []uint32, from int, to []Point) {
	if rows != nil {
		for i, row := range rows[from : from+len(to)] {
			to[i] = at(mem.Slice[P](first, int(row)+1)[row])
		}
		return
	}
	for i, v := range mem.Slice[P](first, from+len(to))[from:] {
		to[i] = at(v)
	}
}

func (at columnOf[P]) where(v store.View, l slots.Loc) (Point, bool) {
	if row := store.At[P](&v, l); row != nil {
		p := at(*row)
		return p, p.finite()
	}
	return Point{}, false
}
