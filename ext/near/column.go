package near

import (
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// column reads the positions of rows of one chunk: of the given rows, or without any of those from
// one on. first is the address of the chunk's column. Only columnOf knows the component's type, so
// that little is compiled per type.
type column interface {
	// points reads where rows are.
	points(first mem.Address, rows []uint32, from int, to []Point)
	// where returns where the row at a location is. It returns false if there is no row or its
	// place is not finite.
	where(v store.View, l slots.Loc) (Point, bool)
}

// columnOf is the column of a component.
type columnOf[P any] func(P) Point

// points fills to with the places of rows from rows[from] on, or from row from on if rows is nil.
func (c columnOf[P]) points(first mem.Address, rows []uint32, from int, to []Point) {
	if rows != nil {
		for i, row := range rows[from : from+len(to)] {
			to[i] = c(mem.Slice[P](first, int(row)+1)[row])
		}
		return
	}
	for i, v := range mem.Slice[P](first, from+len(to))[from:] {
		to[i] = c(v)
	}
}

func (c columnOf[P]) where(v store.View, l slots.Loc) (Point, bool) {
	if row := store.At[P](&v, l); row != nil {
		p := c(*row)
		return p, p.finite()
	}
	return Point{}, false
}
