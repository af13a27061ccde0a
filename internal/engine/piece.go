package engine

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Row is a living entity as something is about to be copied from it. It is good until the world
// changes.
type Row struct {
	Shard  int
	Set    *store.Set // its components, not to be written
	Flags  slots.Flags
	Marked bool

	chunk *store.Chunk
	row   int
}

// Row returns an entity of the idle world, and whether it is alive.
func (w *World) Row(h handle.Handle) (r Row, ok bool) {
	l := w.space.Locate(h)
	if l == 0 {
		return r, false
	}
	c, row := w.space.At(l)
	return Row{w.space.Owner(l), w.space.Set(l), c.FlagsAt(row), w.space.Marked(l), c, row}, true
}

// Value returns a component of an entity, which has it, in place. It allocates nothing.
func (w *World) Value(r *Row, component int) mem.Cells {
	return r.chunk.CellsFrom(slices.Index(r.chunk.Table().Components(), component), r.row, 1)
}

// Pieces returns where package snapshot keeps what it has found out about the types of this world. The
// owner of the world's phase may use it.
func (w *World) Pieces() *any { return &w.pieces }
