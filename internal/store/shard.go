package store

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Shard is the unit of parallelism: slots, tables and columns that one
// goroutine at a time may use.
//
// Invariants: an atom is in exactly one table of one shard. Rows move in a refresh, and while the
// world is idle.
//
// Ownership: the goroutine that runs the shard: the world's between ticks, one worker's
// within a tick. The scheduler hands shards over.
type Shard struct {
	slots.Allocator
	queue.Outcomes
	// Loop is the number of the newest loop over tables. Code that begins a loop raises it;
	// Table.RowsAt then returns the number of rows at that moment.
	Loop uint64
	// KeepOrder makes Compact keep the order among the living rows of a table.
	KeepOrder bool
	// HoldDestroys puts off the outcomes of requests to destroy until DecideHeld.
	HoldDestroys bool
	// InMigration says that some atoms migrate in this refresh, so each delivery must be recorded
	// with its Order.
	InMigration bool

	space      *Space
	id         int
	tables     []*Table
	bySet      map[Set]*Table
	made       uint64          // how often tables came into the list
	removals   uint64          // how often tables were removed from the list
	dirty      []*Table        // with marked rows
	grown      []*Table        // with loop marks
	fragmented []*Table        // with a chunk that is larger than one before it, since the last refresh
	flagged    []handle.Handle // atoms with flags to publish; none has left since
	tally      tally
	changes    changeLog
	notifying  changeLog // what hooks are being notified of
	applying   applying
	spending   spending
	cost       uint64 // see Cost
	migration  migration
	compaction compaction
	retagging  retagging
	shrinking  shrinking
	occupant   occupant
}

// New makes shard number id of a world.
func New(space *Space, id int) *Shard {
	s := &Shard{space: space, id: id, bySet: map[Set]*Table{}}
	s.Init(&space.Directory, id)
	return s
}

// ID returns the shard's number.
func (s *Shard) ID() int { return s.id }

// Alive returns the number of atoms, marked ones included.
func (s *Shard) Alive() int {
	return int(s.tally.created + s.migration.arrived - s.tally.destroyed - s.migration.departed)
}

// Created returns how many atoms were stored here so far.
func (s *Shard) Created() uint64 { return s.tally.created }

// Destroyed returns how many atoms were freed here so far.
func (s *Shard) Destroyed() uint64 { return s.tally.destroyed }

// Table returns the table of a component set, made on the first call. It is not among Tables until
// it has a chunk.
func (s *Shard) Table(set Set) *Table {
	if t := s.bySet[set]; t != nil {
		return t
	}
	n := set.Len()
	t := &Table{
		shard: s, set: set, cur: noChunk, growth: s.space.growthOf(set),
		ids: make([]int, 0, n), columns: make([]*Column, 0, n), sizes: make([]uintptr, 0, n), plain: make([]bool, 0, n),
	}
	for c := range set.All {
		col := s.space.Columns[c]
		t.ids, t.columns = append(t.ids, c), append(t.columns, col)
		t.sizes, t.plain = append(t.sizes, col.of.Size), append(t.plain, col.of.Plain)
		t.rowBytes += uint64(col.of.Size)
		t.pointers = t.pointers || !col.of.Plain
	}
	t.step = stepOf(t.sizes)
	t.same = t.newEdge(t)
	s.bySet[set] = t
	t.noteSpare() // in case it gets no row
	return t
}

// Tables returns the tables in the order in which they got their first chunk. A table that has had
// no chunk for a while is not among them.
func (s *Shard) Tables() []*Table { return s.tables }

// TablesVersion returns a number that changes whenever the list of tables does.
func (s *Shard) TablesVersion() uint64 { return s.made + s.removals }

// Removals returns a number that changes whenever tables leave the list.
func (s *Shard) Removals() uint64 { return s.removals }

// TablesSince returns the tables that came into the list after the one with the given number.
func (s *Shard) TablesSince(serial uint64) []*Table {
	from := len(s.tables)
	for from > 0 && s.tables[from-1].serial > serial {
		from--
	}
	return s.tables[from:]
}

// Made returns how often tables came into the list so far, which is the number of the last.
func (s *Shard) Made() uint64 { return s.made }

// Owns reports whether the atom at l is in this shard.
func (s *Shard) Owns(l slots.Loc) bool { return s.space.Owner(l) == s.id }

// Dirty returns how many tables have had marked rows since the last Compact, even if all of those
// were spared: Compact must see these tables before any of their chunks is given up.
func (s *Shard) Dirty() int { return len(s.dirty) }

// Compact removes the rows of the marked atoms, and of those that have left, and fills the holes.
// It recycles the slots of the marked atoms whose home is here; RemoteDead and PortDead have the
// rest.
func (s *Shard) Compact() {
	s.settle()
	if m := &s.migration; len(m.requests)+len(m.outgoing)+len(m.flagged) > 0 {
		s.finishMigration()
	}
	if len(s.dirty) > 1 || len(s.dirty) == 1 && len(s.dirty[0].dirty) > 1 {
		s.GrowFree(s.MarkedRows()) // in one allocation instead of chunk by chunk
	}
	for _, t := range s.dirty {
		t.compact()
	}
	clear(s.dirty)
	s.dirty = s.dirty[:0]
	s.migration.left = false
}

// Unfinished returns how much there is for EndTick to do.
func (s *Shard) Unfinished() int {
	n := len(s.grown) + len(s.fragmented) + s.Deferred() + len(s.flagged)
	if s.shrinks() {
		n++
	}
	return n
}

// EndTick ends a refresh: it forgets the dead of other homes and the marks of the tick's loops,
// coalesces the small chunks of tables that have grown, gives spare chunks back, and publishes
// flags. It touches only the shard's own atoms, because other shards do the same at the same time.
func (s *Shard) EndTick() {
	for _, t := range s.grown {
		t.loopMarks = t.loopMarks[:0]
	}
	clear(s.grown)
	s.grown = s.grown[:0]
	s.coalesceAll()
	if s.shrinks() {
		s.shrink()
	}
	s.ForgetDeferred()
	s.PublishFlags()
}

// freeDead counts the dead among marked rows, which have these handles, and frees their slots; see
// Allocator.FreeAll. The others are those of outgoing atoms.
func (s *Shard) freeDead(marked []handle.Handle, fromLast bool) {
	if s.migration.left {
		s.compaction.handles = append(s.compaction.handles[:0], marked...)
		marked = slices.DeleteFunc(s.compaction.handles, isTombstone)
		s.compaction.handles = marked
	}
	s.tally.destroyed += uint64(len(marked))
	s.FreeAll(marked, fromLast)
}

// Size is the memory of a shard's storage.
type Size struct {
	Tables, Chunks int
	slots.Size     // with the bytes of occupied rows, and of all chunks
}

const rowBytes = 8 // for a row's handle

// Size measures the shard's tables and slots. Its cost grows with the number of tables
// and chunks.
func (s *Shard) Size() Size {
	size := Size{Tables: len(s.tables), Size: s.Allocator.Size()}
	for _, t := range s.tables {
		row := uint64(rowBytes)
		for _, b := range t.sizes {
			row += uint64(b)
		}
		size.Chunks += len(t.chunks)
		size.Used += row * uint64(t.Rows())
		for _, c := range t.chunks {
			size.Reserved += row*uint64(c.Cap()) + uint64(len(c.marks))*8
		}
	}
	return size
}

// Drop gives the memory of all tables back. They must be empty, and nothing may be stored in them
// again. A table that a caller has kept stays empty.
func (s *Shard) Drop() {
	for _, t := range s.tables {
		t.chunks, t.dirty, t.loopMarks, t.cur = nil, nil, nil, noChunk
	}
	s.tally.runs, s.changes.runs = nil, nil
	s.Allocator.Drop()
	s.compaction, s.retagging, s.migration.moves = compaction{}, retagging{}, nil
}
