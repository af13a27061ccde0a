package store

import (
	"fmt"
	"hash/maphash"
	"math/bits"
	"reflect"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
)

// This file holds what the check build does to find views and pointers that are used for
// longer than they are good. Views of rows carry the view epoch in which they were made. Rows
// that were handed out move to other memory at the refresh, so that an old pointer
// reads Poison. A release build has none of it.

// Poison is the byte with which the check build fills rows that are no longer used,
// if they hold no pointers. Those with pointers are zeroed.
const Poison = 0xDB

// viewEpochMask keeps the view epoch in the bits of an int above those of a chunk's number.
const viewEpochMask = 1<<(bits.UintSize-1-slots.ChunkBits) - 1

// Outdate ends the view epoch: views of rows that were made until now are no longer
// good. Called by the coordinator before rows move. Check build only.
func (s *Space) Outdate() { s.viewEpoch = (s.viewEpoch + 1) & viewEpochMask }

// Shift moves all rows that were handed out since the last time to other memory,
// and poisons the memory that they leave. It costs a copy of the rows. Called by the
// coordinator at the end of a refresh. Check build only.
func (s *Space) Shift() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, col := range s.Columns {
		col.shift(s)
	}
}

// rebase notes that a chunk's rows of a column have moved.
func (s *Space) rebase(number int, col AnyColumn, to mem.Address) {
	c := (*s.chunks.Load())[number].chunk
	for i, x := range c.table.columns {
		if x == col {
			c.bases[i] = to
		}
	}
}

func (c *Column[T]) shift(s *Space) {
	d := c.dir.Load()
	for _, v := range c.views {
		v.guard.Lent(func(number int) {
			if number >= len(d.rows) || len(d.rows[number]) == 0 { // the chunk lost the component
				return
			}
			old := d.rows[number]
			rows := c.newRows(len(old))
			copy(rows, old)
			c.poison(old)
			at := mem.AddressOf(rows)
			c.replace(number, rows)
			s.rebase(number, c, at)
		})
	}
}

// poison makes rows unfit for use.
func (c *Column[T]) poison(data []T) {
	if c.pointers {
		clear(data)
		return
	}
	b := mem.BytesOf(data)
	for i := range b {
		b[i] = Poison
	}
}

// Guard puts a guard before the view, which must stay at its address. Check build only.
func (v *View[T]) Guard(g check.Guard) {
	v.guard = g
	v.column.views = append(v.column.views, v)
}

// borrow checks that the view may hand out rows, and returns their chunk's number.
func (v *View[T]) borrow(r Rows) int {
	v.guard.Must()
	r.mustBeGood()
	number, sh := r.chunk.number(), r.chunk.table.shard
	switch {
	case v.now != &sh.space.now:
		panic(fmt.Sprintf("world: a Chunk of another world is used with an accessor of %v; use accessors and queries of one world", reflect.TypeFor[T]()))
	case !v.all() && int(v.Owner) != sh.id+1:
		panic(fmt.Sprintf("world: a Chunk of shard %d is used with an accessor of %v that was made for shard %d; use accessors and queries of one Build", sh.id, reflect.TypeFor[T](), v.Owner-1))
	}
	v.guard.Borrow(number)
	return number
}

// borrowAt is borrow for a row.
func (v *View[T]) borrowAt(l slots.Loc) {
	v.guard.Must()
	v.guard.Borrow(int(l >> slots.RowBits))
}

// mustBeGood panics if rows may have moved since the view was made.
func (r Rows) mustBeGood() {
	if r.number>>slots.ChunkBits != r.chunk.table.shard.space.viewEpoch {
		panic(fmt.Sprintf("world: a Chunk of %d rows on shard %d is used after the refresh, or the change of an idle world, that ended it; ask the query for its Chunks again",
			r.to-r.from, r.chunk.table.shard.id))
	}
}

var digestSeed = maphash.MakeSeed()

// Digest returns a hash of all rows of a component in the shard. It covers what the rows hold
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
			t.columns[i].digest(&h, c.number(), c.n)
		}
	}
	return h.Sum64()
}

func (c *Column[T]) digest(h *maphash.Hash, number, rows int) {
	_, _ = h.Write(mem.BytesOf(c.dir.Load().rows[number][:rows]))
}
