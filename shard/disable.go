package shard

import "math/bits"

// entityBit is the position of the entity's own bits, before those of the
// columns.
const entityBit = 0

// off says which rows of a chunk are disabled: the entity, or one of its
// components; and which have flags. A chunk in which nothing was ever disabled or
// flagged has none.
//
//	sets[0]    entity      0000 0100 …
//	sets[1]    column 0    0000 0000 …   nil until used
//	sets[2]    column 1    0010 0000 …
//	sets[3]    flag 0      1000 0000 …   behind the columns: see SetFlags
//
// Invariants: bits of rows that are not occupied are 0.
//
// Ownership: the shard's owner.
type off struct {
	sets    [][]uint64
	n       int // bits set of what is disabled
	flagged int // bits set of flags
}

// newOff makes one for a chunk, without a bit set.
func newOff(c *Chunk) *off { return &off{sets: make([][]uint64, 1+len(c.table.ids)+FlagsMax)} }

// none reports whether no bit is set.
func (o *off) none() bool { return o == nil || o.n+o.flagged == 0 }

// SetOff disables a component of the atom at l, which must be here and have it,
// or with component -1 the atom; or enables it.
func (s *Shard) SetOff(l Loc, component int, disabled bool) {
	c := s.space.chunk(l)
	c.setOff(c.table.bit(component), l.Row(), disabled)
}

// Off reports whether a component of the atom at l, or with component -1 the
// atom, is disabled. The caller must own its shard.
func (s *Space) Off(l Loc, component int) bool {
	c := s.chunk(l)
	return c.isOff(c.table.bit(component), l.Row())
}

// bit returns the position of a component's bits, or of the entity's for -1.
func (t *Table) bit(component int) int {
	if component < 0 {
		return entityBit
	}
	return 1 + t.position(component)
}

func (c *Chunk) isOff(bit, row int) bool {
	return c.off != nil && c.off.sets[bit] != nil && c.off.sets[bit][row/64]>>(row%64)&1 != 0
}

func (c *Chunk) setOff(bit, row int, disabled bool) {
	if c.isOff(bit, row) == disabled {
		return
	}
	if c.off == nil {
		c.off = newOff(c)
	}
	if c.off.sets[bit] == nil {
		c.off.sets[bit] = make([]uint64, len(c.dead))
	}
	c.off.sets[bit][row/64] ^= 1 << (row % 64)
	n := &c.off.n
	if bit >= c.flagBit(0) {
		n = &c.off.flagged
	}
	if disabled {
		*n++
	} else {
		*n--
	}
}

// carry makes a row's bits those of another row of the same table, which is
// about to be given up.
func (c *Chunk) carry(row int, from *Chunk, fromRow int) {
	if c.off.none() && from.off.none() {
		return
	}
	for bit := range c.flagBit(FlagsMax) {
		c.setOff(bit, row, from.isOff(bit, fromRow))
		from.setOff(bit, fromRow, false)
	}
}

// forget clears the bits of a row that is given up.
func (c *Chunk) forget(row int) {
	if c.off.none() {
		return
	}
	for bit := range c.off.sets {
		c.setOff(bit, row, false)
	}
}

// forgetAll clears the bits of all rows.
func (c *Chunk) forgetAll() {
	if c.off.none() {
		return
	}
	for _, set := range c.off.sets {
		clear(set)
	}
	c.off.n, c.off.flagged = 0, 0
}

// relabelOff puts the bits where the chunk's new table has them; those of
// components that it lacks are dropped.
func (c *Chunk) relabelOff(from *Table) {
	if c.off == nil {
		return
	}
	old := *c.off
	c.off = newOff(c)
	c.off.flagged = old.flagged
	copy(c.off.sets[c.flagBit(0):], old.sets[1+len(from.ids):])
	c.off.sets[entityBit] = old.sets[entityBit]
	for i, id := range c.table.ids {
		if at := from.position(id); at >= 0 {
			c.off.sets[1+i] = old.sets[1+at]
		}
	}
	for _, set := range c.off.sets[:c.flagBit(0)] {
		for _, w := range set {
			c.off.n += bits.OnesCount64(w)
		}
	}
}

// Enabled yields the runs of the rows in which neither the entity nor one of the
// filter's components is disabled, and which have its flags. It returns false if yield
// did.
func (r Rows) Enabled(f *Filter, yield func(Rows) bool) bool {
	if !f.Flagged() && r.AllEnabled() {
		return yield(r)
	}
	for from := r.from; ; {
		from = r.chunk.next(f, from, r.to, true)
		if from == r.to {
			return true
		}
		to := r.chunk.next(f, from, r.to, false)
		if !yield(r.chunk.rows(from, to)) {
			return false
		}
		from = to
	}
}

// AllEnabled reports whether nothing in the chunk is disabled.
func (r Rows) AllEnabled() bool { return r.chunk.off == nil || r.chunk.off.n == 0 }

// next returns the first row from a row on, below to, that is enabled or that is
// not, or to if there is none. It looks at 64 rows at a time.
func (c *Chunk) next(f *Filter, row, to int, enabled bool) int {
	for row < to {
		w := c.offWord(f, row/64)
		if enabled {
			w = ^w
		}
		if w &= ^uint64(0) << (row % 64); w != 0 {
			return min(row&^63+bits.TrailingZeros64(w), to)
		}
		row = row&^63 + 64
	}
	return to
}

// offWord returns which of 64 rows are disabled as far as the filter goes, or
// lack flags.
func (c *Chunk) offWord(f *Filter, word int) uint64 {
	w := uint64(0)
	if f.Flagged() {
		w = c.unflagged(f, word)
	}
	if c.off == nil || c.off.n == 0 {
		return w
	}
	if set := c.off.sets[entityBit]; set != nil {
		w |= set[word]
	}
	for i, id := range c.table.ids {
		if set := c.off.sets[1+i]; set != nil && f.Components.Has(id) {
			w |= set[word]
		}
	}
	return w
}

// EnabledRows returns how many of the rows Enabled would yield.
func (t *Table) EnabledRows(f *Filter) int {
	n := t.Rows()
	for _, c := range t.chunks[:t.cur.order+1] {
		if !f.Flagged() && (c.off == nil || c.off.n == 0) {
			continue
		}
		for from := 0; from < c.n; from += 64 {
			w := c.offWord(f, from/64)
			if rest := c.n - from; rest < 64 {
				w &= 1<<rest - 1
			}
			n -= bits.OnesCount64(w)
		}
	}
	return n
}
