package shard

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Limits of the storage of a world.
const (
	// RowsMax is the number of rows in the largest chunk.
	RowsMax = slots.RowsMax
	// ChunksMax is the largest number of chunks that a world can have.
	ChunksMax = slots.ChunksMax
	// ComponentsMax is the number of components that a world can have.
	ComponentsMax = store.ComponentsMax
)

// Loc says where the row of an entity is: the number of a chunk in the upper 20 bits, the row
// within it in the lower 12. Chunk numbers are unique in the world, so a Loc is right whichever
// shard has the entity; they start at 1, so the zero Loc is nowhere. It is good until the refresh.
type Loc uint32

// Row returns the row within the chunk.
func (l Loc) Row() int { return slots.Loc(l).Row() }

// Chunk is a view of rows that are next to each other: of entities with the same components, one
// row each. The Slice of an accessor returns the component of all rows, in the order of the rows,
// and At that of the row at a Loc.
//
// It is good until the refresh, and its length does not change. The check build panics when a Chunk
// is used after that; a release build does not check. Only the goroutine that may use the shard may
// use it.
type Chunk store.Rows

// Len returns the number of rows.
func (c Chunk) Len() int { return store.Rows(c).Len() }

// Handle returns the handle of the entity in row i. It panics if there is no such row.
func (c Chunk) Handle(i int) handle.Handle { return store.Rows(c).Handle(i) }

// Handles returns the handles of all rows, in the order of the rows. They must not be written.
func (c Chunk) Handles() []handle.Handle { return store.Rows(c).Handles() }

// Loc returns where row i is. It panics if there is no such row.
func (c Chunk) Loc(i int) Loc { return Loc(store.Rows(c).Loc(i)) }

// Cap returns how many rows fit in the chunk that this is a view of.
func (c Chunk) Cap() int { return store.Rows(c).Cap() }

// Contains reports whether the entity of h is in one of the rows. It costs what looking an
// entity up does, however many rows there are.
func (c Chunk) Contains(h handle.Handle) bool { return store.Rows(c).Contains(h) }
