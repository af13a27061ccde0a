package store

import (
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
)

// SetChunks makes the space believe that n chunk numbers were given.
func (s *Space) SetChunks(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.chunks = n
	s.lengthen(n)
}

// FirstLoc returns where a chunk's first row is.
func FirstLoc(c *Chunk) slots.Loc { return c.base }

// Ready returns the number of rows that are ready to be taken.
func (c *Chunk) Ready() int { return len(c.handles) }

// Spare returns the number of dropped chunks whose rows the column keeps.
func (c *Column) Spare() int { return len(c.spare) }

// Typed is a column of values whose type is known.
type Typed[T any] struct{ *Column }

// NewTyped makes the column of the next component.
func NewTyped[T any](space *Space) Typed[T] { return Typed[T]{NewColumn(space, mem.TypeOf[T]())} }

func (c Typed[T]) At(l slots.Loc) *T { return (*T)(c.Column.At(l)) }

func (c Typed[T]) AtWrite(l slots.Loc) *T { return (*T)(c.Column.AtWrite(l)) }

func (c Typed[T]) View(owner int) TypedView[T] { return TypedView[T]{c.Column.View(owner)} }

// TypedView is a view of a Typed column.
type TypedView[T any] struct{ View }

func (v *TypedView[T]) At(l slots.Loc) *T { return At[T](&v.View, l) }

func (v *TypedView[T]) AtWrite(l slots.Loc) *T { return AtWrite[T](&v.View, l) }

func (v *TypedView[T]) Slice(r Rows) []T { return Slice[T](&v.View, r) }

func (v *TypedView[T]) SliceWrite(r Rows) []T { return SliceWrite[T](&v.View, r) }

// Wanted returns how many rows the column expects its tables to need soon.
func (c *Column) Wanted() int { return c.blocks.wanted }

// NotedRuns returns how many runs of rows are noted for hooks.
func (s *Shard) NotedRuns() int { return len(s.tally.runs) + len(s.changes.runs) }
