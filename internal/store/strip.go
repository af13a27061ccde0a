package store

import (
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
// So the addresses that a loop reads in each column have few jumps, which processors handle best.
// Memory of the rest is not touched before it becomes a part. The collector frees a strip as a
// whole. So a part that a chunk has dropped is kept for later use until all parts are free. So is a
// rest when chunks of another table come between.
//
// Ownership: under the space's lock.
type strip struct {
	rest  mem.Address // not used by a chunk yet; for the chunk after the one that has the last part
	left  int         // rows in rest
	parts int         // how many parts chunks have, or are spare
	idle  int         // spare parts that were not used since the last trim; scratch of trim
}

// part is the rows of one chunk, and the strip that they are a part of, or nil.
type part struct {
	rows  mem.Address
	len   int
	strip *strip
}

const (
	// stripPartsMax is the largest number of parts of a strip.
	stripPartsMax = 16
	// stripBytesMax is the most memory that the strips of a table take at a time, in all of its
	// columns, unless one chunk takes more.
	stripBytesMax = 2 << 20
)

// stripParts returns the number of parts of a new strip. Its first part is for a chunk of so many
// rows at the end of the table, which is known to need room for some rows. Only the largest chunks
// are in strips. Strips grow with the table, so that the rest is smaller than what the table has or
// is known to need.
func (t *Table) stripParts(rows, needs int) int {
	if rows < t.growth.RowsMax {
		return 1
	}
	has := 0
	for has < min(stripPartsMax, len(t.chunks)) && t.chunks[len(t.chunks)-1-has].Cap() == rows {
		has++
	}
	return t.limitParts(max(has, needs/rows), rows)
}

// limitParts returns n, or less if strips of n parts take too much memory.
func (t *Table) limitParts(n, rows int) int {
	bytes := 0
	for _, size := range t.sizes {
		bytes += rows * int(size)
	}
	return max(1, min(n, stripPartsMax, stripBytesMax/max(1, bytes)))
}

// take returns zeroed rows for a chunk: those after the rows of the chunk before it, spare ones, or
// the first part of a new strip. The newest spare rows are used first.
func (c *Column) take(rows, before, parts int) part {
	if s := c.dir.Load().strips[before]; s != nil && s.left >= rows {
		c.held -= rows
		return s.cut(c.of, rows)
	}
	for i := len(c.spare) - 1; i >= 0; i-- {
		p := c.spare[i]
		if p.len != rows {
			continue
		}
		c.spare = slices.Delete(c.spare, i, i+1)
		c.held -= rows
		if i < c.idle {
			c.idle--
		}
		if check.Enabled {
			c.of.Clear(p.rows, rows) // they were poisoned
		}
		return p
	}
	if parts == 1 {
		return part{rows: c.newRows(rows), len: rows}
	}
	s := &strip{rest: c.memory.Reserve(c.of, rows*parts), left: rows * parts}
	c.held += rows * (parts - 1)
	return s.cut(c.of, rows)
}

// cut makes the first rows of the rest a part.
func (s *strip) cut(of *mem.Type, rows int) part {
	p := part{s.rest, rows, s}
	if s.left -= rows; s.left > 0 {
		s.rest = of.At(s.rest, rows)
	} else {
		s.rest = nil
	}
	s.parts++
	of.Touch(p.rows, rows)
	return p
}

// releaseRests makes spare parts of the rests that no chunk of the table can continue, because the
// chunk after the one with the last part belongs to another table, or the one with the last part
// does.
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

// releaseRests makes spare rows of the rests that the last of a table's chunks cannot continue, and
// reports whether there were some. The space's lock is held.
func (c *Column) releaseRests(chunks []*Chunk) (some bool) {
	strips := c.dir.Load().strips
	last := len(chunks) - 1
	for _, x := range chunks[:last] {
		s := strips[x.number()]
		if s == nil || s.left == 0 || s == strips[chunks[last].number()] {
			continue
		}
		n := s.left / x.Cap()
		for i := range n {
			rows := c.of.At(s.rest, (n-1-i)*x.Cap()) // the first is used first
			c.spare = append(c.spare, part{rows, x.Cap(), s})
		}
		s.rest, s.left, s.parts, some = nil, 0, s.parts+n, true
	}
	return some
}

// newRows returns rows that are not a part of a strip.
func (c *Column) newRows(n int) mem.Address {
	return c.memory.Take(c.of, n+stagger(n*int(c.of.Size)))
}

// stagger returns how many extra rows to allocate for a run of so many bytes. Allocations of a
// power of two all begin at the same offset in their memory pages. So, when they are not full, they
// compete for the same few sets of the processor's cache. One extra row puts them in a size class
// that does not.
func stagger(bytes int) int {
	if bytes >= 2048 && bytes < 32768 && bytes%2048 == 0 {
		return 1
	}
	return 0
}

// drop takes a chunk's rows away, and keeps them for later use. From row used on they hold zeroes.
// The space's lock is held, and no system runs.
func (c *Column) drop(number, used int) {
	d := c.dir.Load()
	p := part{d.rows[number].first, d.rows[number].len, d.strips[number]}
	if check.Enabled {
		c.poison(p.rows, p.len)
	} else {
		c.of.Clear(p.rows, used)
	}
	c.spare = append(c.spare, p)
	c.held += p.len
	d.rows[number], d.own[number], d.all[number], d.strips[number] = rowList{}, Run{}, Run{}, nil
}

// replace gives a chunk other rows, which are not part of a strip. For the check build, between
// ticks: see Space.Shift. The caller then tells the chunk its new bases. The space's lock is held.
func (c *Column) replace(number int, rows mem.Address) {
	d := c.dir.Load()
	d.rows[number].first, d.own[number].First, d.all[number].First = rows, rows, rows
	if s := d.strips[number]; s != nil {
		if s.parts--; s.parts == 0 {
			c.held -= s.left
		}
		d.strips[number] = nil
	}
}

// trim drops the kept rows that were not used since the last trim, or all kept rows, but never a
// strip that is partly in use. It reports whether some are left. The space's lock is held.
func (c *Column) trim(all bool) (some bool) {
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
		c.held -= p.len
		if s := p.strip; s != nil {
			c.held -= s.left
			s.rest, s.left = nil, 0 // so that the other parts do not count it
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

// heldBytes is the memory of rows that no chunk has. The space's lock is held.
func (c *Column) heldBytes() uint64 { return uint64(c.held) * uint64(c.of.Size) }
