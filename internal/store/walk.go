package store

import "github.com/atoll-sim/atoll/internal/mem"

// This file is for data that is derived from rows.

// Number returns the chunk's number in the world.
func (c *Chunk) Number() int { return c.number() }

// Column returns the address of the rows of the i-th component of the chunk's table.
func (c *Chunk) Column(i int) mem.Address { return c.bases[i] }

// Unmatched returns which of 64 rows do not match, from row 64·word on.
func (c *Chunk) Unmatched(f *Filter, word int) uint64 { return c.unmatched(f, word) }
