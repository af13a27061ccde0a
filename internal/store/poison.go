package store

import (
	"fmt"
	"hash/maphash"
	"math/bits"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
)

// viewEpochMask keeps the view epoch in the bits of an int above those of a chunk's number.
const viewEpochMask = 1<<(bits.UintSize-1-slots.ChunkBits) - 1

// Outdate ends the view epoch: views of rows that were made until now are no longer
// good. Called by the coordinator or the idle world before rows move. Check build only.
func (s *Space) Outdate() { s.viewEpoch = (s.viewEpoch + 1) & viewEpochMask }

// Shift moves all rows that were handed out since the last time to other memory, and poisons the
// old memory. It costs a copy of the rows. Called by the coordinator after the step release. Check
// build only.
func (s *Space) Shift() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, col := range s.Columns {
		col.shift(s)
	}
}

// rebase records that a chunk's rows of a column have moved. Called by Shift, under the space's
// lock.
func (s *Space) rebase(number int, col *Column, to mem.Address) {
	c := (*s.chunks.Load())[number].chunk
	for i, x := range c.table.columns {
		if x == col {
			c.bases[i] = to
		}
	}
}

// shift is Space.Shift for the column.
func (c *Column) shift(s *Space) {
	d := c.dir.Load()
	for _, v := range c.views {
		v.guard.Lent(func(number int) {
			if number >= len(d.rows) || d.rows[number].len == 0 { // the chunk lost the component
				return
			}
			old := d.rows[number]
			rows := c.newRows(old.len)
			c.of.Copy(rows, old.first, old.len)
			c.poison(old.first, old.len)
			c.replace(number, rows)
			s.rebase(number, c, rows)
		})
	}
}

// Guard attaches a guard to the view, which must stay at its address. Check build only.
func (v *View) Guard(g check.Guard) {
	v.guard = g
	v.column.views = append(v.column.views, v)
}

// borrow checks that the view may hand out rows, and returns their chunk's number.
func (v *View) borrow(r Rows) int {
	v.guard.Must()
	r.mustBeGood()
	number, sh := r.chunk.number(), r.chunk.table.shard
	switch {
	case v.Now != &sh.space.now:
		panic(fmt.Sprintf("world: a Chunk of another world is used with an accessor of %v; use accessors and queries of one world", v.column.of.Of))
	case !v.all() && int(v.Owner) != sh.id+1:
		panic(fmt.Sprintf("world: a Chunk of shard %d is used with an accessor of %v that was made for shard %d; use accessors and queries of one Build", sh.id, v.column.of.Of, v.Owner-1))
	}
	v.guard.Borrow(number)
	return number
}

// borrowAt is borrow for a row.
func (v *View) borrowAt(l slots.Loc) {
	v.guard.Must()
	v.guard.Borrow(int(l >> slots.RowBits))
}

var digestSeed = maphash.MakeSeed()

// Digest returns a hash of all rows of a component in the shard. It covers the contents of the rows
// themselves, not what they point to. Its cost grows with their bytes.
func (s *Shard) Digest(component int) uint64 {
	var h maphash.Hash
	h.SetSeed(digestSeed)
	for _, t := range s.tables {
		i := t.position(component)
		if i < 0 {
			continue
		}
		for _, c := range t.chunks[:t.cur.order+1] {
			_, _ = h.Write(c.Bytes(i))
		}
	}
	return h.Sum64()
}
