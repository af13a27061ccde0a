package store

import (
	"reflect"
	"slices"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/mem"
)

// strip is the memory of one column for several chunks of the largest size, which follow one
// another in their table:
//
//	chunks  [4096 rows][4096 rows]
//	strip   └─ part ──┴─ part ──┴─── rest ───┘
//
// So a loop reads each column through addresses without many jumps, for which processors are
// ready. Memory of the rest is not touched before it is a part. The collector frees a strip as a
// whole: a part that a chunk dropped is kept to be used again until all parts are free. So is a rest
// when chunks of another table come between.
//
// Ownership: under the space's lock.
type strip[T any] struct {
	rest  []T // no chunk had it yet; for the chunk behind the one that has the last part
	parts int // that chunks have, or that are spare
	idle  int // spare parts that were not used since the last trim; scratch of trim
}

// part is the rows of one chunk, and the strip that they are a part of, or nil.
type part[T any] struct {
	rows  []T
	strip *strip[T]
}

const (
	// stripPartsMax is the largest number of parts of a strip.
	stripPartsMax = 16
	// stripBytesMax is the most memory that the strips of a table take at a time, in all of its
	// columns, unless one chunk takes more.
	stripBytesMax = 512 << 10
)

// stripParts returns how many parts strips are to have whose first one is for a chunk of so many
// rows at the end of the table, which is known to need room for some rows. Only the largest
// chunks are in strips. These grow with the table, so that the rest is less than what the table
// has or is known to need.
func (t *Table) stripParts(rows, needs int) int {
	if rows < t.shard.space.Growth.RowsMax {
		return 1
	}
	has := 0
	for has < min(stripPartsMax, len(t.chunks)) && t.chunks[len(t.chunks)-1-has].Cap() == rows {
		has++
	}
	return t.limitParts(max(has, needs/rows), rows)
}

// limitParts returns n, or less if strips of so many parts take too much memory.
func (t *Table) limitParts(n, rows int) int {
	bytes := 0
	for _, size := range t.sizes {
		bytes += rows * int(size)
	}
	return max(1, min(n, stripPartsMax, stripBytesMax/max(1, bytes)))
}

// take returns zeroed rows for a chunk: those behind the rows of the chunk before it, spare
// ones, or the first part of a new strip. What became spare last is used first.
func (c *Column[T]) take(rows, before, parts int) part[T] {
	if s := c.dir.Load().strips[before]; s != nil && len(s.rest) >= rows {
		c.held -= rows
		return s.cut(rows)
	}
	for i := len(c.spare) - 1; i >= 0; i-- {
		p := c.spare[i]
		if len(p.rows) != rows {
			continue
		}
		c.spare = slices.Delete(c.spare, i, i+1)
		c.held -= rows
		if i < c.idle {
			c.idle--
		}
		if check.Enabled {
			clear(p.rows) // they were poisoned
		}
		return p
	}
	if parts == 1 {
		return part[T]{rows: c.newRows(rows)}
	}
	s := &strip[T]{rest: mem.Reserve[T](c.memory, rows*parts)}
	c.held += rows * (parts - 1)
	return s.cut(rows)
}

// cut makes the first rows of the rest a part.
func (s *strip[T]) cut(rows int) part[T] {
	p := part[T]{s.rest[:rows:rows], s}
	s.rest = s.rest[rows:]
	s.parts++
	mem.Touch(p.rows)
	return p
}

// releaseRests makes the rests of strips spare parts that no chunk of the table can continue, because
// chunks of another table came behind the one with the last part, or that went to another table.
func (t *Table) releaseRests() {
	if len(t.chunks) < 2 {
		return
	}
	s := t.shard.space
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, col := range t.columns {
		if col.releaseRests(t.chunks) {
			s.spare.Store(true)
		}
	}
}

func (c *Column[T]) releaseRests(chunks []*Chunk) (some bool) {
	strips := c.dir.Load().strips
	last := len(chunks) - 1
	for _, x := range chunks[:last] {
		s := strips[x.number()]
		if s == nil || len(s.rest) == 0 || s == strips[chunks[last].number()] {
			continue
		}
		n := len(s.rest) / x.Cap()
		for i := range n {
			rows := s.rest[(n-1-i)*x.Cap():] // the first is used first
			c.spare = append(c.spare, part[T]{rows[:x.Cap():x.Cap()], s})
		}
		s.rest, s.parts, some = nil, s.parts+n, true
	}
	return some
}

// newRows returns rows that are not a part of a strip.
func (c *Column[T]) newRows(n int) []T {
	return mem.Take[T](c.memory, n+stagger(n*int(reflect.TypeFor[T]().Size())))[:n:n]
}

// stagger returns how many rows more to allocate than a run of so many bytes
// needs. Allocations of a power of two all begin at the same offset in their
// memory pages and so compete for the same few sets of the processor's cache,
// when they are not full. One row more puts them in a size class that does not.
func stagger(bytes int) int {
	if bytes >= 2048 && bytes < 32768 && bytes%2048 == 0 {
		return 1
	}
	return 0
}

func (c *Column[T]) drop(number, used int) {
	d := c.dir.Load()
	p := part[T]{d.rows[number], d.strips[number]}
	if check.Enabled {
		c.poison(p.rows)
	} else {
		clear(p.rows[:used])
	}
	c.spare = append(c.spare, p)
	c.held += len(p.rows)
	d.rows[number], d.own[number], d.all[number], d.strips[number] = nil, Run{}, Run{}, nil
}

// replace gives a chunk other rows, of its own. For the check build.
func (c *Column[T]) replace(number int, rows []T) {
	d := c.dir.Load()
	d.rows[number], d.own[number].First, d.all[number].First = rows, mem.AddressOf(rows), mem.AddressOf(rows)
	if s := d.strips[number]; s != nil {
		if s.parts--; s.parts == 0 {
			c.held -= len(s.rest)
		}
		d.strips[number] = nil
	}
}

func (c *Column[T]) trim(all bool) (some bool) {
	if all {
		c.idle = len(c.spare)
	}
	for _, p := range c.spare[:c.idle] {
		if p.strip != nil {
			p.strip.idle++
		}
	}
	left := c.spare[:0]
	for i, p := range c.spare {
		if i >= c.idle || p.strip != nil && p.strip.idle < p.strip.parts {
			left = append(left, p)
			continue
		}
		c.held -= len(p.rows)
		if s := p.strip; s != nil {
			c.held -= len(s.rest)
			s.rest = nil // so that the other parts do not count it
		}
	}
	clear(c.spare[len(left):])
	c.spare, c.idle = left, len(left)
	for _, p := range left {
		if p.strip != nil {
			p.strip.idle = 0
		}
	}
	return c.idle > 0
}

func (c *Column[T]) heldBytes() uint64 { return uint64(c.held) * uint64(reflect.TypeFor[T]().Size()) }
