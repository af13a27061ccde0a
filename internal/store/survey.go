package store

import (
	"encoding/binary"
	"reflect"
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// This file is for tools that hash, save or compare worlds. It shows everything that
// decides what happens next, in an order that depends on neither time nor the
// number of workers. Nothing may be written through what it returns, which is good until the
// world changes. Chunk numbers are left out: they are given in the order in
// which shards ask for them.

// Cells is a run of values of one type, for callers that do not know the type.
type Cells struct {
	Type   reflect.Type
	Len    int
	Plain  bool   // without pointers
	Bytes  []byte // if they are plain: their memory, padding included
	Values any    // a []T

	at base // of the first
}

// CellsOf returns a run of values as cells.
func CellsOf[T any](values []T) Cells {
	c := Cells{Type: reflect.TypeFor[T](), Len: len(values), Values: values, at: baseOf(values)}
	if c.Plain = !HasPointers(c.Type); c.Plain {
		c.Bytes = bytesOf(values)
	}
	return c
}

// CellOf returns one value, in place, as cells without Bytes and Values, for Part and
// PartBytes. It allocates nothing.
func CellOf[T any](v *T) Cells { return Cells{Type: reflect.TypeFor[T](), Len: 1, at: payloadOf(v).at} }

// surveyed is an AnyColumn that shows its rows.
type surveyed interface {
	cells(number, rows int) Cells
}

func (c *Column[T]) cells(number, rows int) Cells {
	return CellsOf(c.dir.Load().rows[number][:rows])
}

// AppendSpare appends what decides when the table gives back chunks, when it is given back
// itself, and whether its small chunks are to be coalesced.
func (t *Table) AppendSpare(dst []byte) []byte {
	number := func(n uint32) { dst = binary.LittleEndian.AppendUint32(dst, n) }
	is := func(x bool) {
		if x {
			number(1)
		} else {
			number(0)
		}
	}
	is(t.listed)
	is(t.kept)
	is(t.fragmented)
	if len(t.chunks) == 0 && !t.kept {
		number(t.left)
	}
	for _, c := range t.chunks[t.used():] {
		number(c.changed)
		is(c.reserved)
	}
	return dst
}

// Components returns the numbers of the table's components, ascending.
func (t *Table) Components() []int { return t.ids }

// Chunks returns the table's chunks in order: rows are in the first ones, without
// a hole; those behind are empty.
func (t *Table) Chunks() []*Chunk { return t.chunks }

// Handles returns the handles of the atoms, by row.
func (c *Chunk) Handles() []handle.Handle { return c.handles[:c.n:c.n] }

// Cells returns the rows of the i-th component of the chunk's table.
func (c *Chunk) Cells(i int) Cells { return c.table.columns[i].(surveyed).cells(c.number(), c.n) }

// Stamps returns the tick in which a row last came or was replaced, and for each
// component that in which it was last handed out for writing.
func (c *Chunk) Stamps() (changed uint32, written []uint32) { return c.changed, c.written }

// Marks returns which rows are marked, a bit for each, or nil for none.
func (c *Chunk) Marks() []uint64 {
	if c.marked == 0 {
		return nil
	}
	return c.marks
}

// Flagged returns which rows have a flag, a bit for each, or nil for none.
func (c *Chunk) Flagged(flag int) []uint64 {
	if c.flags.none() {
		return nil
	}
	return c.flags.sets[flag]
}

// FreeList returns the free indexes; the last is given next.
func (h *Allocator) FreeList() []uint32 { return h.free }

// AppendSlots appends the contents of all slots that were ever given, state and
// version, in the order in which they first were. For the home's owner.
func (h *Allocator) AppendSlots(dst []uint32) []uint32 {
	dst = slices.Grow(dst, int(h.given))
	for i := range h.given {
		dst = append(dst, h.ref.slot(i).load())
	}
	return dst
}

// AppendUses appends for each slot how often it was used until now: its version while the
// entity lives, one less while it is free or a port has it in hand. Slots are in the order in
// which they are first drawn; those at the end that were never used are left out. So the
// result depends only on what refreshes have done, whatever ports draw meanwhile.
func (o *PortAllocator) AppendUses(dst []uint32) []uint32 {
	last := len(dst)
	for n := range o.Drawn() {
		dst = append(dst, o.uses(n))
		if dst[len(dst)-1] > 0 {
			last = len(dst)
		}
	}
	return dst[:last]
}

func (o *PortAllocator) uses(n uint32) uint32 {
	h, state := o.at(n)
	if state == StateUnused {
		return h.Version() - 1
	}
	return h.Version()
}

// AppendMarks appends the order in which tables, and the chunks of each, first got marked
// rows. Slots become free in an order that follows from it.
func (s *Shard) AppendMarks(dst []byte) []byte {
	number := func(n int) { dst = binary.LittleEndian.AppendUint32(dst, uint32(n)) }
	for _, t := range s.dirty {
		number(slices.Index(s.tables, t))
		number(len(t.dirty))
		for _, c := range t.dirty {
			number(c.order)
		}
	}
	return dst
}

// AppendChanges appends the changes that hooks were not notified of yet, in order, or nothing
// if there are none.
func (s *Shard) AppendChanges(dst []byte) []byte {
	if s.Noted() == 0 {
		return dst
	}
	number := func(n uint64) { dst = binary.LittleEndian.AppendUint64(dst, n) }
	number(uint64(len(s.tally.fresh)))
	for _, h := range s.tally.fresh {
		number(uint64(h))
	}
	number(uint64(len(s.changes.changes)))
	for _, x := range s.changes.changes {
		number(uint64(x.handle))
		for _, word := range x.from.set {
			number(word)
		}
	}
	for _, x := range s.changes.stored {
		number(uint64(x.handle))
		number(uint64(x.component))
	}
	return dst
}
