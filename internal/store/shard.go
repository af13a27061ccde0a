package store

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// Shard is the unit of parallelism: slots, tables and columns that one
// goroutine at a time may use.
//
// Invariants: an atom is in exactly one table of one shard. Nothing moves
// outside of a refresh.
//
// Ownership: the goroutine that runs the shard: the world's between ticks, one worker's
// within a tick. The scheduler hands shards over.
type Shard struct {
	Allocator
	Outcomes
	// Loop is the number of the newest loop over tables. Whoever begins one raises it;
	// Table.RowsAt then returns the number of rows at that moment.
	Loop uint64
	// KeepOrder makes Compact keep the order among the living rows of a table.
	KeepOrder bool
	// HoldDestroys puts off the outcomes of requests to destroy until DecideHeld.
	HoldDestroys bool
	// InMigration says that some atoms migrate in this refresh, so each delivery must be
	// noted with its Order.
	InMigration bool

	id         int
	order      uint64       // of the request that is being applied
	columns    *[]AnyColumn // the world's, by component
	tables     []*Table
	bySet      map[Set]*Table
	dirty      []*Table // with marked rows
	grown      []*Table // with loop marks
	fragmented []*Table // with a chunk that is larger than others before it, since the last refresh
	spare      []*Table // with chunks to give back, perhaps, or to be given back themselves
	gone       int      // how many of tables were given back
	made       uint64   // how many tables were ever made
	removals   uint64   // how often tables were taken out of the list
	holes      []Loc    // scratch of Compact
	moves      []relocation
	scratch    []handle.Handle
	runs       []Rows          // scratch of Retag and RetagMatching
	cut        []*Chunk        // scratch of Retag
	remoteDead []handle.Handle // dead with their home in another shard
	flagged    []handle.Handle // with flags to publish; none has left since
	portDead   []handle.Handle // dead with their home in the port allocator
	staging    uint32          // stagedBit if the refresh stages what it stores, or 0
	// applying counts the requests that ApplyRequests has begun, while it runs.
	applying  int
	tally     tally
	changes   changeLog
	notifying changeLog // what hooks are being notified of
	migration migration
	held      []held
	occupant  occupant
}

// New makes shard number id of a world. columns lists the world's columns, by
// component, and may grow while no tick runs.
func New(space *Space, id int, columns *[]AnyColumn) *Shard {
	return &Shard{Allocator: newAllocator(space, id), id: id, columns: columns, bySet: map[Set]*Table{}}
}

// ID returns the shard's number.
func (s *Shard) ID() int { return s.id }

// Alive returns the number of atoms, marked ones included.
func (s *Shard) Alive() int {
	return int(s.tally.created + s.migration.arrived - s.tally.destroyed - s.migration.departed)
}

// Created returns how many atoms were ever stored here.
func (s *Shard) Created() uint64 { return s.tally.created }

// Destroyed returns how many atoms were ever freed here.
func (s *Shard) Destroyed() uint64 { return s.tally.destroyed }

// Table returns the table of a component set, made when first asked for.
func (s *Shard) Table(set Set) *Table {
	if t := s.bySet[set]; t != nil {
		return t
	}
	n := set.Len()
	t := &Table{
		shard: s, set: set, cur: noChunk,
		ids: make([]int, 0, n), columns: make([]AnyColumn, 0, n), sizes: make([]uintptr, 0, n), plain: make([]bool, 0, n),
	}
	for c := range set.All {
		col := (*s.columns)[c]
		size, plain := col.layout()
		t.ids, t.columns = append(t.ids, c), append(t.columns, col)
		t.sizes, t.plain = append(t.sizes, size), append(t.plain, plain)
		t.pointers = t.pointers || !plain
	}
	t.same = t.newEdge(t)
	s.bySet[set] = t
	s.tables = append(s.tables, t)
	s.made++
	t.serial = s.made
	t.noteSpare() // should it get no row
	return t
}

// Tables returns the tables in the order in which they were made.
func (s *Shard) Tables() []*Table { return s.tables }

// TablesVersion returns a number that changes whenever the list of tables does.
func (s *Shard) TablesVersion() uint64 { return s.made + s.removals }

// Removals returns a number that changes whenever tables that were given back leave the list.
func (s *Shard) Removals() uint64 { return s.removals }

// TablesSince returns the tables that were made after the one with the given number.
func (s *Shard) TablesSince(serial uint64) []*Table {
	from := len(s.tables)
	for from > 0 && s.tables[from-1].serial > serial {
		from--
	}
	return s.tables[from:]
}

// Made returns how many tables were ever made: the number of the last.
func (s *Shard) Made() uint64 { return s.made }

// Atom is a row that was just taken, before its components are stored. It has four
// fields because the compiler keeps no more than that in registers: with a fifth each
// use copied it in memory, right behind the stores that had made it.
type Atom struct {
	Handle     handle.Handle
	Chunk      *Chunk
	Row        int
	generation uint32 // of the slot when it is published
}

// Loc returns where the atom is.
func (a Atom) Loc() Loc { return a.Chunk.base + Loc(a.Row) }

// Publish makes the atom alive to everyone.
func (a Atom) Publish() {
	slot := a.Chunk.table.shard.space.slot(a.Handle)
	slot.loc = a.Loc()
	slot.store(a.generation) // publishes loc and the row
}

// Create takes a handle and a row in the table. The caller stores the components
// and then calls Publish.
func (s *Shard) Create(t *Table) (Atom, error) {
	if !s.hasRoom(t) {
		if err := s.prepare(t, 1); err != nil {
			return Atom{}, err
		}
	}
	h, _ := s.next(s.pop())
	return s.atom(t, h), nil
}

// hasRoom reports whether there are a free index and a free row.
func (s *Shard) hasRoom(t *Table) bool {
	return len(s.free) > 0 && t.cur.n < len(t.cur.handles) && t.lastMark == s.Loop
}

// prepare makes hasRoom true; want is how many handles the caller will take soon.
func (s *Shard) prepare(t *Table, want int) error {
	if len(s.free) == 0 {
		if err := s.refill(want); err != nil {
			return err
		}
	}
	return t.ensureRow()
}

// atom takes the next row.
func (s *Shard) atom(t *Table, h handle.Handle) Atom {
	c, row := t.push(h)
	s.tally.create(h)
	return Atom{h, c, row, uint32(h)}
}

// Adopt takes a row for a pending handle of any home. The caller stores the
// components and then calls Publish.
func (s *Shard) Adopt(t *Table, h handle.Handle) (Atom, error) {
	if err := t.ensureRow(); err != nil {
		return Atom{}, err
	}
	a := s.atom(t, h)
	a.generation ^= s.staging
	return a, nil
}

// Prepare makes room for n atoms that are about to be created in a table, and for their slots.
func (s *Shard) Prepare(t *Table, n int) error {
	if n <= len(s.free) && n <= len(t.cur.handles)-t.cur.n {
		return nil
	}
	if err := s.reserve(n); err != nil {
		return err
	}
	return t.reserve(n)
}

// Reserve is Prepare for atoms that may come at any time: the room stays until they do.
func (s *Shard) Reserve(t *Table, n int) error {
	if err := s.Prepare(t, n); err != nil {
		return err
	}
	t.keep(n)
	return nil
}

// Owner returns the number of the shard that owns the atom at l.
func (s *Space) Owner(l Loc) int { return (*s.chunks.Load())[l>>RowBits].owner }

// Set returns the components of the atom at l.
func (s *Space) Set(l Loc) *Set { return &s.chunk(l).table.set }

// Owns reports whether the atom at l is in this shard.
func (s *Shard) Owns(l Loc) bool { return s.space.Owner(l) == s.id }

// Mark marks the atom at l and reports whether it was not marked yet. The next Compact of
// its shard removes it. The caller must own the shard.
func (s *Space) Mark(l Loc) bool { return s.chunk(l).mark(l.Row()) }

// Marked reports whether the atom at l is marked. The caller must own its shard.
func (s *Space) Marked(l Loc) bool { return s.chunk(l).isMarked(l.Row()) }

// MarkAll marks every atom and returns how many were not marked yet.
func (s *Shard) MarkAll() int {
	n := 0
	for _, t := range s.tables {
		for _, c := range t.chunks[:t.cur.order+1] {
			n += c.markAll()
		}
	}
	return n
}

// MarkedRows returns the number of marked atoms.
func (s *Shard) MarkedRows() int {
	n := 0
	for _, t := range s.dirty {
		for _, c := range t.dirty {
			n += c.marked
		}
	}
	return n
}

// Compact removes the rows of the marked atoms, and of those that have left, and fills the
// holes. It recycles the slots of the marked atoms that are at home here; RemoteDead and
// PortDead have the rest.
func (s *Shard) Compact() {
	s.finishMigration()
	if len(s.dirty) > 1 || len(s.dirty) == 1 && len(s.dirty[0].dirty) > 1 {
		s.free = slices.Grow(s.free, s.MarkedRows()) // once instead of chunk by chunk
	}
	for _, t := range s.dirty {
		t.compact()
	}
	s.dirty = s.dirty[:0]
	s.migration.left = false
}

// Unfinished returns how much there is for EndTick to do.
func (s *Shard) Unfinished() int {
	n := len(s.grown) + len(s.fragmented) + len(s.remoteDead) + len(s.portDead) + len(s.flagged)
	if s.shrinks() {
		n++
	}
	return n
}

// EndTick ends a refresh: it forgets the dead with their home elsewhere and the marks of the
// tick's loops, coalesces the small chunks of tables that have grown, gives back what is
// spare, and publishes flags. It touches only the shard's own atoms, because other shards do
// the same at the same time.
func (s *Shard) EndTick() {
	for _, t := range s.grown {
		t.marks = t.marks[:0]
	}
	s.grown = s.grown[:0]
	for _, t := range s.fragmented {
		t.fragmented = false
		t.coalesce()
	}
	clear(s.fragmented)
	s.fragmented = s.fragmented[:0]
	if s.shrinks() {
		s.shrink()
	}
	s.remoteDead, s.portDead = s.remoteDead[:0], s.portDead[:0]
	s.PublishFlags()
}

// freeDead counts dead atoms, and recycles their slots in order, or from the last one on. It
// notes the handles with their home elsewhere.
func (s *Shard) freeDead(dead []handle.Handle, fromLast bool) {
	s.tally.destroyed += uint64(len(dead))
	s.free = slices.Grow(s.free, len(dead)) // checks the room once
	free := s.free[:len(s.free)+len(dead)]
	n := len(s.free)
	i, step := 0, 1
	if fromLast {
		i, step = len(dead)-1, -1
	}
	for {
		i, n = s.freeOwn(dead, i, step, free, n)
		if uint(i) >= uint(len(dead)) {
			break
		}
		if h := dead[i]; h.Shard() != uint32(s.id) {
			s.freeRemote(h)
		} else {
			s.recycle(h) // retires it
		}
		i += step
	}
	s.free = free[:n]
}

// freeOwn frees the slots of the dead, from dead[i] on, up to the first that is not at home
// here or has no version left. It puts their indexes behind the first n of free, and returns
// where it ended. It calls nothing, and loads what it compares with only once: as far as the
// compiler knows, a store to a slot might change that.
func (s *Shard) freeOwn(dead []handle.Handle, i, step int, free []uint32, n int) (at, freed int) {
	id, versionMax, own := uint32(s.id), s.space.versionMax, s.ref
	for ; uint(i) < uint(len(dead)); i += step {
		h := dead[i]
		if h.Shard() != id || h.Version() >= versionMax {
			break
		}
		if slot, gen := own.slot(h.Index()), word(h+1, StateUnused); step < 0 { // the version is the low field
			slot.storeBatched(gen) // a whole chunk
		} else {
			slot.store(gen)
		}
		free[n] = h.Index()
		n++
	}
	return i, n
}

// freeRemote leaves the slot of a dead atom to its home.
func (s *Shard) freeRemote(dead handle.Handle) {
	if dead.Shard() == uint32(s.space.homes-1) {
		s.portDead = append(s.portDead, dead)
	} else {
		s.remoteDead = append(s.remoteDead, dead)
	}
}

// Foreign returns how many handles with their home elsewhere this refresh freed.
func (s *Shard) Foreign() int { return len(s.remoteDead) + len(s.portDead) }

// RemoteDead are the handles that a refresh freed in a shard other than their home, grouped
// by home. A group is in the order of the shards that held the atoms; those of one shard are
// in the order in which it freed them.
//
// Ownership: as of Groups.
type RemoteDead struct{ groups Groups[handle.Handle] }

// Gather collects the handles from all shards.
func (e *RemoteDead) Gather(shards []*Shard) {
	g := &e.groups
	g.Reset(len(shards))
	for _, s := range shards {
		for _, h := range s.remoteDead {
			g.Count(int(h.Shard()))
		}
	}
	g.Counted()
	for _, s := range shards {
		for _, h := range s.remoteDead {
			g.Add(int(h.Shard()), h)
		}
	}
}

// PortDead returns the handles that this refresh freed and that have their home in the port
// allocator, in order.
func (s *Shard) PortDead() []handle.Handle { return s.portDead }

// Recycle takes back the slots of the dead that are at home in this shard.
func (s *Shard) Recycle(dead *RemoteDead) {
	for _, h := range dead.groups.Of(s.id) {
		s.recycle(h)
	}
}
