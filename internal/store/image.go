package store

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Image is the state of a shard as data: all that Load needs to make another shard the same. Its
// slices may be those of the shard.
type Image struct {
	Slots, Free []uint32 // as AppendSlots and FreeList return them
	Tables      []TableImage
	Marked      []MarkedTable // the tables with marked rows, in order
	Created     []handle.Handle
	Changes     []ChangeImage
	Stored      []StoredImage
}

// TableImage is the state of a table.
type TableImage struct {
	Components         []int // ascending
	Listed, Fragmented bool
	Left               uint32
	Current            int // the number of the chunk that takes the next row, or -1
	Chunks             []ChunkImage
}

// ChunkImage is the state of a chunk.
type ChunkImage struct {
	Cap, Rows int
	Reserved  bool
	Changed   uint32
	Written   []uint32 // by column
	Marks     []uint64 // nil for none
	Flags     [slots.FlagsMax][]uint64
	Handles   []handle.Handle // filled in later as well
	Columns   []mem.Cells     // likewise
}

// MarkedTable is the order in which the chunks of a table got marked rows.
type MarkedTable struct {
	Table  int
	Chunks []int
}

// ChangeImage is an entry about an atom that had other components, and StoredImage one about a
// replaced component. Hooks have yet to be notified of them. Moves is as for Space.MovesOf.
type (
	ChangeImage struct {
		Handle     handle.Handle
		Components []int
		Moves      uint32
	}
	StoredImage struct {
		Handle    handle.Handle
		Component int
	}
)

// Image returns the state of the shard. It is good until the shard changes.
func (s *Shard) Image() (x Image) {
	x.Slots, x.Free = s.AppendSlots(nil), s.FreeList()
	x.Tables = make([]TableImage, len(s.tables))
	for i, t := range s.tables {
		x.Tables[i] = t.image()
	}
	for _, t := range s.dirty {
		m := MarkedTable{Table: slices.Index(s.tables, t)}
		for _, c := range t.dirty {
			m.Chunks = append(m.Chunks, c.order)
		}
		x.Marked = append(x.Marked, m)
	}
	x.Created = s.appendCreated(slices.Clip(s.tally.fresh))
	for _, c := range s.appendChanges(slices.Clip(s.changes.changes)) {
		x.Changes = append(x.Changes, ChangeImage{c.handle, slices.Collect(c.from.set.All), c.moves})
	}
	for _, c := range s.changes.stored {
		x.Stored = append(x.Stored, StoredImage{c.handle, int(c.component)})
	}
	return x
}

func (t *Table) image() TableImage {
	x := TableImage{
		Components: t.ids, Listed: t.listed, Fragmented: t.fragmented, Left: t.left, Current: t.cur.order,
		Chunks: make([]ChunkImage, len(t.chunks)),
	}
	for i, c := range t.chunks {
		y := ChunkImage{Cap: c.Cap(), Rows: c.n, Reserved: c.reserved, Changed: c.changed, Written: c.written, Marks: c.Marks(), Handles: c.Handles()}
		if !c.flags.none() {
			y.Flags = c.flags.sets
		}
		if c.n > 0 {
			y.Columns = make([]mem.Cells, len(t.ids))
			for k := range t.ids {
				y.Columns[k] = c.Cells(k)
			}
		}
		x.Chunks[i] = y
	}
	return x
}

// MovesOf returns how often atoms were moved to other shards, and the value of that when changes
// were last gathered. Entries of the change log have the value at the time when they were made.
func (s *Space) MovesOf() (moves, gathered uint32) { return s.moves, s.gathered }
