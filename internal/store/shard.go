package store

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
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

// Atom is a row that was just taken, before its components are stored. It has four fields because
// the compiler keeps no more than that in registers: with a fifth, each use copied the Atom in
// memory, right after the stores that had made it.
type Atom struct {
	Handle     handle.Handle
	Chunk      *Chunk
	Row        int
	generation uint32 // of the slot when it is published
}

// Loc returns where the atom is.
func (a Atom) Loc() slots.Loc { return a.Chunk.base + slots.Loc(a.Row) }

// Publish makes the atom alive to all goroutines.
func (a Atom) Publish() {
	slot := a.Chunk.table.shard.space.Slot(a.Handle)
	slot.Loc = a.Loc()
	slot.Store(a.generation) // publishes loc and the row
}

// Create takes a handle and a row in the table. The caller stores the components
// and then calls Publish.
func (s *Shard) Create(t *Table) (Atom, error) {
	if !s.hasRoom(t) {
		if err := s.makeRoom(t, 1); err != nil {
			return Atom{}, err
		}
	}
	h, _ := s.Next(s.Pop())
	return s.atom(t, h), nil
}

// CreatePlain is Create, StorePlain and Publish in one, because servers do these most often. What is
// seldom needed is in calls that come last, so that the rest keeps its values in registers. v may be on
// the stack.
func (s *Shard) CreatePlain(t *Table, fields *Fields, v mem.Address) (handle.Handle, error) {
	if !s.hasRoom(t) {
		return s.createWithRoom(t, fields, v)
	}
	t.cur.storeNext(fields, v)
	h, slot := s.Next(s.Pop())
	c, row := t.push(h)
	slot.Loc = c.base + slots.Loc(row)
	slot.Store(s.tally.create(h, c, row)) // publishes loc and the row
	return h, nil
}

// createWithRoom is CreatePlain after it has made room.
func (s *Shard) createWithRoom(t *Table, fields *Fields, v mem.Address) (handle.Handle, error) {
	if err := s.makeRoom(t, 1); err != nil {
		return handle.None, err
	}
	return s.CreatePlain(t, fields, v)
}

// hasRoom reports whether there is a free index and a free row.
func (s *Shard) hasRoom(t *Table) bool {
	return s.Free() > 0 && t.cur.n < len(t.cur.handles) && t.lastLoop == s.Loop
}

// makeRoom makes hasRoom true; want is how many handles the caller will take soon.
func (s *Shard) makeRoom(t *Table, want int) error {
	if s.Free() == 0 {
		if err := s.Refill(want); err != nil {
			return err
		}
	}
	return t.ensureRow()
}

// atom takes the next row.
func (s *Shard) atom(t *Table, h handle.Handle) Atom {
	c, row := t.push(h)
	return Atom{h, c, row, s.tally.create(h, c, row)}
}

// Adopt takes a row for a pending handle of any home. The caller stores the
// components and then calls Publish.
func (s *Shard) Adopt(t *Table, h handle.Handle) (Atom, error) {
	if err := t.ensureRow(); err != nil {
		return Atom{}, err
	}
	a := s.atom(t, h)
	a.generation ^= s.applying.staged
	return a, nil
}

// Prepare makes room for n atoms that are about to be created in a table, and for their slots.
func (s *Shard) Prepare(t *Table, n int) error {
	if n <= s.Free() && n <= t.cur.Cap()-t.cur.n {
		return nil
	}
	if err := s.ReserveSlots(n); err != nil {
		return err
	}
	return t.reserve(n)
}

// Reserve is Prepare for atoms that may come at any time: the room stays until they do, whatever
// chunks refreshes give up before.
func (s *Shard) Reserve(t *Table, n int) error {
	if n == 0 {
		return nil
	}
	if err := s.ReserveSlots(n); err != nil {
		return err
	}
	return t.reserveLasting(n)
}

// Owner returns the number of the shard that owns the atom at l.
func (s *Space) Owner(l slots.Loc) int { return (*s.chunks.Load())[l>>slots.RowBits].owner }

// Set returns the components of the atom at l.
func (s *Space) Set(l slots.Loc) *Set { return &s.chunk(l).table.set }

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

// RemoteDead are the handles that a refresh freed in a shard other than their home, grouped
// by home. A group is in the order of the shards that held the atoms; those of one shard are
// in the order in which it freed them.
//
// Ownership: as for Groups.
type RemoteDead struct{ Groups[handle.Handle] }

// Gather collects the handles from all shards.
func (r *RemoteDead) Gather(shards []*Shard) {
	r.Reset(len(shards))
	for _, s := range shards {
		for _, h := range s.ShardDead() {
			r.Count(int(h.Home()))
		}
	}
	r.Counted()
	for _, s := range shards {
		for _, h := range s.ShardDead() {
			r.Add(int(h.Home()), h)
		}
	}
}
