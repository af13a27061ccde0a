package store

import (
	"fmt"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
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

// Alive returns the number of atoms, dying ones included.
func (s *Shard) Alive() int {
	return int(s.tally.created + s.migration.arrived - s.tally.destroyed - s.migration.departed)
}

// Created returns how many atoms were stored here so far.
func (s *Shard) Created() uint64 { return s.tally.created }

// Destroyed returns how many atoms were freed here so far.
func (s *Shard) Destroyed() uint64 { return s.tally.destroyed }

// Tables returns the tables in the order in which they got their first chunk. A table that has had
// no chunk for a while is not among them.
func (s *Shard) Tables() []*Table { return s.tables }

// TablesVersion returns a number that changes whenever the list of tables does.
func (s *Shard) TablesVersion() uint64 { return s.made + s.removals }

// Removals returns a number that changes whenever tables leave the list.
func (s *Shard) Removals() uint64 { return s.removals }

// TablesSince returns the tables that came into the list after the one with the given number.
// Queries of the shard ask for it, to look only at what is new to them.
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
// again. A table that a caller has kept stays empty. A world that closes calls it when nothing else
// runs.
func (s *Shard) Drop() {
	for _, t := range s.tables {
		t.chunks, t.dirty, t.loopMarks, t.cur = nil, nil, nil, noChunk
	}
	s.tally.runs, s.changes.runs = nil, nil
	s.Allocator.Drop()
	s.compaction, s.retagging, s.migration.moves = compaction{}, retagging{}, nil
}

// occupant holds the current user of a shard, with which the check build checks the Ownership
// paragraphs. In a release build it takes no room.
type occupant [check.Count]atomic.Pointer[Occupant]

// Occupant describes the goroutine that uses a shard, in the check build.
//
// Ownership: the goroutine that uses the shard. It must not change until Leave.
type Occupant struct {
	What string
	Name string // may be empty
}

// String describes the goroutine, for a panic.
func (o *Occupant) String() string {
	switch {
	case o == nil:
		return "somebody"
	case o.Name == "":
		return o.What
	}
	return fmt.Sprintf("%s %q", o.What, o.Name)
}

// Enter sets the user of the shard until Leave, and panics if the shard is in use already. Call it
// only in the check build.
func (s *Shard) Enter(user *Occupant) {
	for i := range s.occupant {
		if !s.occupant[i].CompareAndSwap(nil, user) {
			panic(fmt.Sprintf("world: shard %d is used by %v while %v uses it; a shard is for one goroutine at a time: act from elsewhere through a Port", s.id, user, s.occupant[i].Load()))
		}
	}
}

// Leave undoes Enter.
func (s *Shard) Leave() {
	for i := range s.occupant {
		s.occupant[i].Store(nil)
	}
}

// tally counts the atoms that were stored and freed. For hooks it keeps those that were stored
// since hooks were last notified. While functions run it also keeps those that they store, and the
// shard stages these: they are alive to the shard, and not to the functions on other shards.
//
// Ownership: the shard's owner.
type tally struct {
	created   uint64
	destroyed uint64
	watched   bool            // created atoms are noted: hooked, or staging
	hooked    bool            // hooks are called for created atoms
	staging   uint32          // slots.StagedBit while functions run, or 0
	fresh     []handle.Handle // atoms that hooks have yet to be notified of, and after them
	runs      []notedRun      // rows of such atoms
	staged    []handle.Handle // atoms that functions have stored in this refresh
}

// create counts an atom in a row, and returns what its slot is to hold.
func (t *tally) create(h handle.Handle, c *Chunk, row int) (generation uint32) {
	t.created++
	if t.watched {
		return t.note(h, c, row)
	}
	return uint32(h)
}

// note notes an atom, and returns what its slot is to hold. It is a function of its own, so that
// the code that creates stays short.
//
//go:noinline
func (t *tally) note(h handle.Handle, c *Chunk, row int) (generation uint32) {
	if t.hooked {
		t.noteCreated(c, row, 1)
	}
	if t.staging != 0 {
		t.staged = append(t.staged, h)
	}
	return uint32(h) ^ t.staging
}

// createAll is create for the atoms in a chunk's rows from a row on.
func (t *tally) createAll(hs []handle.Handle, c *Chunk, row int) {
	t.created += uint64(len(hs))
	if t.watched {
		t.noteAll(hs, c, row)
	}
}

// noteAll is note for the atoms in a chunk's rows from a row on.
//
//go:noinline
func (t *tally) noteAll(hs []handle.Handle, c *Chunk, row int) {
	if t.hooked && len(hs) > 0 {
		t.noteCreated(c, row, len(hs))
	}
	if t.staging != 0 {
		t.staged = append(t.staged, hs...)
	}
}

// compaction is the scratch of Compact.
type compaction struct {
	holes   []slots.Loc
	dead    []handle.Handle // in the rows of holes
	moves   []relocation    // of the current table, for its columns
	handles []handle.Handle // of rows that move
}

// shrinking lists the tables of a shard that may give something back.
type shrinking struct {
	tables []*Table // tables that may have chunks to give back, or may be given back themselves
	gone   int      // how many tables must leave the shard's list
}

// retagging is the scratch of Retag and RetagMatching. Between them it holds no chunks.
type retagging struct {
	runs []Rows   // for calls of added, or to be moved
	cut  []*Chunk // from the other table
}

// forget empties the scratch, so that it does not keep chunks that are given back.
func (r *retagging) forget() {
	clear(r.runs)
	clear(r.cut)
	r.runs, r.cut = r.runs[:0], r.cut[:0]
}
