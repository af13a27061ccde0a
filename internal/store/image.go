package store

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Image is the state of a shard as data: all that Load needs to make another shard the same. Its
// slices may be those of the shard.
type Image struct {
	slots.HomeImage                   // of the shard's first home
	More            []slots.HomeImage // of its other homes, in order
	Drawing         int               // the home that it draws from; 0 is the first
	Tables          []TableImage
	Marked          []MarkedTable // the tables with marked rows, in order
	Created         []handle.Handle
	Changes         []ChangeImage
	Stored          []StoredImage
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

// Image returns the state of the shard, without copying it: it is good until the shard changes. The
// coordinator or the idle world calls it.
func (s *Shard) Image() (x Image) {
	more, at := s.Drawing()
	x.Slots, x.Free, x.Drawing = s.AppendSlots(nil, 0), s.FreeList(0), at
	for k := range more {
		x.More = append(x.More, slots.HomeImage{Slots: s.AppendSlots(nil, k+1), Free: s.FreeList(k + 1)})
	}
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

// image returns the state of the table, as Image does.
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

// What follows, up to Unload, gives a new shard the state of an Image. It checks everything in the
// Image: a state that no shard can have is slots.ErrImage. After an error the shard must not be
// used.

// LoadMoves sets what MovesOf returns. The world must be idle.
func (s *Space) LoadMoves(moves, gathered uint32) { s.moves, s.gathered = moves, gathered }

// Load makes the tables and chunks of an image, without handles and components: see Chunk.Fill. It
// calls made, if that is not nil, with each chunk that has rows. The slots are loaded separately.
// The shard must have no atoms. Several goroutines may each load a shard.
func (s *Shard) Load(x *Image, made func(c *Chunk, table, chunk int)) error {
	s.ShrinkAll() // drops what was reserved, so that no table is in the list
	loaded, known := make([]*Table, len(x.Tables)), map[*Table]bool{}
	for i := range x.Tables {
		set, err := s.space.setOf(x.Tables[i].Components)
		if err != nil {
			return err
		}
		t := s.Table(set)
		if known[t] || len(t.chunks) > 0 {
			return fmt.Errorf("%w: two tables have components %v", slots.ErrImage, t.ids)
		}
		loaded[i], known[t] = t, true
	}
	s.arrange(loaded)
	s.shrinking.tables, s.fragmented = s.shrinking.tables[:0], s.fragmented[:0]
	for i, t := range loaded {
		if err := t.load(&x.Tables[i], func(c *Chunk) {
			if made != nil {
				made(c, i, c.order)
			}
		}); err != nil {
			return fmt.Errorf("%w, in table %d", err, i)
		}
	}
	if err := s.loadMarked(x.Marked); err != nil {
		return err
	}
	return s.loadNotes(x)
}

// Loaded ends a Load, when all rows are filled: it publishes flags. The idle world calls it for
// each shard. The error is slots.ErrImage.
func (s *Shard) Loaded() error {
	for _, t := range s.tables {
		for _, c := range t.chunks {
			if c.flags.none() {
				continue
			}
			for row, h := range c.Handles() {
				if f := c.flagsAt(row); f != 0 {
					s.space.PublishFlags(h, f)
				}
			}
		}
	}
	for _, h := range s.noted() {
		if l := s.space.Locate(h); l != 0 && !s.Owns(l) && s.space.moves == s.space.gathered {
			return fmt.Errorf("%w: shard %d has a note of %v, which is in another", slots.ErrImage, s.id, h)
		}
	}
	return nil
}

// noted returns the atoms that hooks have yet to be notified of.
func (s *Shard) noted() []handle.Handle {
	all := slices.Clone(s.tally.fresh)
	for _, x := range s.changes.changes {
		all = append(all, x.handle)
	}
	for _, x := range s.changes.stored {
		all = append(all, x.handle)
	}
	return all
}

// setOf returns a set of components that an image lists in order. The error is slots.ErrImage.
func (s *Space) setOf(components []int) (set Set, err error) {
	last := -1
	for _, c := range components {
		if c <= last || c >= len(s.Columns) {
			return set, fmt.Errorf("%w: a set of components is %v, of %d that there are", slots.ErrImage, components, len(s.Columns))
		}
		set.Add(c)
		last = c
	}
	return set, nil
}

// arrange makes tables the list and gives them new numbers, so that queries look at them again.
func (s *Shard) arrange(tables []*Table) {
	s.tables = tables
	for _, t := range s.tables {
		s.made++
		t.serial, t.in = s.made, true
	}
	s.removals++
}

// load makes the chunks of a table. After an error the shard must be unloaded.
func (t *Table) load(x *TableImage, made func(c *Chunk)) error {
	rows, needs := 0, 0
	for i := range x.Chunks {
		needs += x.Chunks[i].Cap
	}
	for i := range x.Chunks {
		y := &x.Chunks[i]
		c, err := t.loadChunk(y, needs)
		if err != nil {
			return fmt.Errorf("%w, in chunk %d", err, i)
		}
		if c.n > 0 && rows != c.first {
			return fmt.Errorf("%w: chunk %d has rows, and one before it is not full", slots.ErrImage, i)
		}
		if c.n > 0 {
			made(c)
		}
		rows += c.n
		needs -= y.Cap
	}
	t.cur = noChunk
	switch at := x.Current; {
	case at < -1 || at >= len(t.chunks):
		return fmt.Errorf("%w: chunk %d takes the next row, of %d", slots.ErrImage, at, len(t.chunks))
	case at >= 0:
		t.cur = t.chunks[at]
	}
	if t.Rows() != rows {
		return fmt.Errorf("%w: chunk %d takes the next row, of %d rows", slots.ErrImage, x.Current, rows)
	}
	t.left, t.listed, t.fragmented = x.Left, x.Listed || len(t.chunks) == 0, x.Fragmented
	if t.listed {
		t.shard.shrinking.tables = append(t.shard.shrinking.tables, t)
	}
	if t.fragmented {
		t.shard.fragmented = append(t.shard.fragmented, t)
	}
	t.shard.tally.created += uint64(rows)
	return nil
}

// loadChunk makes the next chunk of a table, with its marks and flags, but without handles and
// components. needs is how many rows this chunk and those after it have. After an error the shard
// must be unloaded.
func (t *Table) loadChunk(x *ChunkImage, needs int) (*Chunk, error) {
	if x.Cap < 1 || x.Cap > slots.RowsMax || x.Cap&(x.Cap-1) != 0 || x.Rows < 0 || x.Rows > x.Cap || len(x.Written) != len(t.ids) {
		return nil, fmt.Errorf("%w: it has %d rows of %d, and %d stamps for %d components", slots.ErrImage, x.Rows, x.Cap, len(x.Written), len(t.ids))
	}
	if err := t.add(x.Cap, needs); err != nil {
		return nil, err
	}
	c := t.chunks[len(t.chunks)-1]
	c.ready(x.Rows)
	c.n, c.changed, c.reserved = x.Rows, x.Changed, x.Reserved
	copy(c.written, x.Written)
	var err error
	if c.marked, err = c.loadBits(c.marks, x.Marks); err != nil {
		return nil, err
	}
	c.words = c.allWords()
	for i, words := range x.Flags {
		if len(words) == 0 {
			continue
		}
		if c.flags == nil {
			c.flags = new(flagSets)
		}
		c.flags.sets[i] = make([]uint64, len(c.marks))
		c.flags.used |= 1 << i
		n, err := c.loadBits(c.flags.sets[i], words)
		if err != nil {
			return nil, err
		}
		c.flags.n += n
	}
	return c, nil
}

// loadBits copies a set of rows and returns how many are in it. An error says that a row beyond the
// last is among them.
func (c *Chunk) loadBits(to, words []uint64) (n int, err error) {
	for i, w := range words {
		if i*64+bits.Len64(w) > c.n {
			return 0, fmt.Errorf("%w: a mark or flag is of a row beyond its %d", slots.ErrImage, c.n)
		}
		if w != 0 {
			to[i] = w
			n += bits.OnesCount64(w)
		}
	}
	return n, nil
}

// Fill puts the atoms of an image into the chunk's rows. The caller stores their components where
// Cells says. Any goroutine; each chunk once. The error is slots.ErrImage.
func (c *Chunk) Fill(hs []handle.Handle, l *slots.Load) error {
	if len(hs) != c.n {
		return fmt.Errorf("%w: %d handles for a chunk of %d rows", slots.ErrImage, len(hs), c.n)
	}
	copy(c.handles, hs)
	return l.Place(hs, c.base)
}

// FillColumn stores the i-th component of n of the chunk's rows, from row on, from the k-th component
// of rows of a chunk of a frame, from at on. Both are of the same type. Any goroutine; each component
// of a row once.
func (c *Chunk) FillColumn(i, row int, from *Chunk, k, at, n int) {
	from.table.columns[k].copyRows(c.table.columns[i].row(c.number(), row), from.table.columns[k].row(from.number(), at), n)
}

// loadMarked puts tables and chunks in the order in which they got marked rows. After an error the
// shard must be unloaded.
func (s *Shard) loadMarked(all []MarkedTable) error {
	for _, m := range all {
		if m.Table < 0 || m.Table >= len(s.tables) || len(s.tables[m.Table].dirty) > 0 || len(m.Chunks) == 0 {
			return fmt.Errorf("%w: table %d has marked rows, of %d", slots.ErrImage, m.Table, len(s.tables))
		}
		t := s.tables[m.Table]
		for _, i := range m.Chunks {
			if i < 0 || i >= len(t.chunks) || t.chunks[i].touched {
				return fmt.Errorf("%w: chunk %d of table %d has marked rows, of %d", slots.ErrImage, i, m.Table, len(t.chunks))
			}
			t.touch(t.chunks[i])
		}
	}
	for i, t := range s.tables {
		for _, c := range t.chunks {
			if c.marked > 0 && !c.touched {
				return fmt.Errorf("%w: chunk %d of table %d has marked rows, and is in no list", slots.ErrImage, c.order, i)
			}
		}
	}
	return nil
}

// loadNotes loads the changes that hooks have yet to be notified of. After an error the shard must
// be unloaded.
func (s *Shard) loadNotes(x *Image) error {
	s.settle()
	s.tally.fresh = append(s.tally.fresh[:0], x.Created...)
	for _, n := range x.Changes {
		set, err := s.space.setOf(n.Components)
		if err != nil {
			return err
		}
		from := s.bySet[set]
		if from == nil {
			from = &Table{set: set, gone: true}
		}
		s.changes.changes = append(s.changes.changes, changeEntry{n.Handle, from, n.Moves})
	}
	for _, n := range x.Stored {
		if n.Component < 0 || n.Component >= len(s.space.Columns) {
			return fmt.Errorf("%w: component %d of %v was stored, of %d", slots.ErrImage, n.Component, n.Handle, len(s.space.Columns))
		}
		s.changes.stored = append(s.changes.stored, storeEntry{n.Handle, uint16(n.Component)})
	}
	return nil
}

// Unload undoes Load: the shard has no atoms again, and can be loaded anew. The idle world calls
// it, also after an error of Load.
func (s *Shard) Unload() {
	s.shrinking.tables = slices.DeleteFunc(s.shrinking.tables, func(t *Table) bool { return t.in })
	for _, t := range s.tables {
		for _, c := range t.chunks {
			s.space.remove(c)
		}
		t.chunks, t.dirty, t.cur = nil, nil, noChunk
		t.listed, t.fragmented, t.in = false, false, false
		if !t.kept {
			t.giveBack()
		}
	}
	s.arrange(nil)
	s.dirty, s.fragmented, s.flagged = nil, nil, nil
	s.changes = changeLog{}
	s.tally = tally{watched: s.tally.hooked, hooked: s.tally.hooked}
}

// What follows is for hashes of the state. With the rows it shows everything that decides what
// happens next, in an order that depends neither on time nor on the number of workers. Chunk numbers
// are left out: they are given in the order in which shards ask for them.
