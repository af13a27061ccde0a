package store

import "github.com/atoll-sim/atoll/internal/slots"

// SetChunks makes the space believe that n chunk numbers were given.
func (s *Space) SetChunks(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.chunks = n
	s.lengthen(n)
}

// FirstLoc returns where a chunk's first row is.
func FirstLoc(c *Chunk) slots.Loc { return c.base }

// Spare returns the number of dropped chunks whose rows the column keeps.
func (c *Column[T]) Spare() int { return len(c.spare) }
