package store

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
)

// migration has the atoms that migrate to or from a shard in a refresh.
//
//	requests  to migrate, in order; the last for an atom counts
//	partials  decisions that any n atoms leave; see MigrateSome
//	outgoing  the atoms that leave, in the order of requests and partials
//	to        [2 0 0 3 …]   where each of them goes, and whether it was refused there
//	flagged   atoms that have come with flags
//
// Invariants: between CollectOutgoing and Compact the row of an outgoing atom is marked, and a
// tombstone is in the place of its handle. The atom's slot names that row until another shard has
// taken the atom in, so a look-up always finds it.
//
// Ownership: the shard's owner. Between those two steps, in CopyIncoming, each target sets refused
// in the elements of to for the atoms that it refuses.
type migration struct {
	requests []migrationRequest
	partials []partialMigration
	stay     *Set  // atoms with any of these components are not in partial migrations
	rows     []int // for partial migrations: how many rows each table had
	cursors  []int // by table as well: rows from here on were looked at
	outgoing []outgoing
	to       []uint16
	flagged  []flaggedAtom
	moves    []relocation // scratch of copyIn
	left     bool         // rows of outgoing atoms are among the marked ones
	full     bool         // some incoming atoms were refused

	arrived, departed uint64 // how many atoms so far
}

// migrationRequest is a request to migrate, with copies of what the later steps read: by then the
// request itself is in no cache.
type migrationRequest struct {
	queue.PendingRequest
	handle handle.Handle
	to     uint16
	waited bool // its sender waits for the outcome
}

// decideMigration decides the outcome of a request to migrate.
func (s *Shard) decideMigration(a *migrationRequest, o queue.Outcome) {
	s.Outcomes.Add(o, 1)
	if a.waited {
		a.Decide(o)
	}
}

// outgoing is an atom that leaves.
type outgoing struct {
	handle  handle.Handle
	from    slots.Loc
	request int32 // the index of the request to migrate it, or -1 for a partial migration
}

// refused is set in the target of an outgoing atom that the target refused.
const refused = 1 << 15

type flaggedAtom struct {
	at    slots.Loc
	flags slots.Flags
}

// tombstone is put in the row of an atom that leaves for a shard, in place of its handle.
func tombstone(to int) handle.Handle { return slots.Compose(uint32(to), 0, 0) }

// isTombstone reports whether h stands for an atom that leaves. A handle never has version 0.
func isTombstone(h handle.Handle) bool { return h.Version() == 0 }

// ask takes a request to migrate an atom. Migration comes after all other requests, which still
// find the atom where it is.
func (s *Shard) ask(r queue.PendingRequest) {
	l := r.Loc()
	switch {
	case l == 0 || s.space.Marked(l):
		s.Decide(r.Request, queue.Gone)
		return
	case s.Spent():
		s.Decide(r.Request, queue.Refused)
		return
	}
	if n := s.space.chunk(l).table.rowBytes; n >= rowBytesMin && r.Shard() != s.id {
		s.spend(&s.spending.changes, movedTimes*n)
	}
	s.migration.requests = append(s.migration.requests, migrationRequest{r, r.Handle, uint16(r.Shard()), r.Awaited()})
}

// Migrating returns how many requests and partials wait for CollectOutgoing.
func (s *Shard) Migrating() int { return len(s.migration.requests) + len(s.migration.partials) }

// CollectOutgoing finds the atoms that leave. It is the step collect outgoing, for one shard. Of
// several requests for an atom the last counts, and an atom that was destroyed after its request
// does not leave. Compact frees the rows. Flags are published first: no flags are set after this,
// and the next step writes the slots of the atoms that leave.
func (s *Shard) CollectOutgoing() {
	m := &s.migration
	s.settle() // hooks have created, and tombstones take the place of handles
	s.PublishFlags()
	m.full = false
	for i := len(m.requests) - 1; i >= 0; i-- {
		a := &m.requests[i]
		l := a.Loc() // the atom is still alive, as it was in ask
		c, row := s.space.chunk(l), l.Row()
		if isTombstone(c.handles[row]) || c.isMarked(row) { // a later request migrates or destroys it
			s.decideMigration(a, queue.Applied)
			continue
		}
		c.handles[row] = tombstone(int(a.to))
		m.outgoing = append(m.outgoing, outgoing{a.handle, l, int32(i)})
		m.to = append(m.to, a.to)
	}
	slices.Reverse(m.outgoing)
	slices.Reverse(m.to)
	s.collectPartials()
	for i, x := range m.outgoing {
		c, row := s.space.chunk(x.from), x.from.Row()
		if int(m.to[i]) == s.id {
			c.handles[row] = x.handle
			continue
		}
		c.mark(row)
		m.left = true
	}
}

// MigratesTo returns the shard that an atom leaves for. The atom was here before CollectOutgoing.
// The owner of the shard asks in the step collect outgoing.
func (s *Shard) MigratesTo(h handle.Handle) (to int, ok bool) {
	if l := s.space.Locate(h); l != 0 {
		if at := s.space.chunk(l).handles[l.Row()]; isTombstone(at) {
			return int(at.Home()), true
		}
	}
	return 0, false
}

// Incoming are the atoms that migrate in a refresh, grouped by the shard that they come to. A
// group is in the order of the shards that they leave; those of one shard are in the order in
// which they leave it.
//
// Ownership: as for Groups.
type Incoming struct{ groups Groups[incoming] }

// incoming is an outgoing atom of a shard, at a position in that shard's list. The shard that takes
// it in writes the other shard's lists only to refuse it.
type incoming struct {
	outgoing
	shard, at int32
}

// Gather collects all atoms that migrate. The coordinator calls it when all shards have called
// CollectOutgoing.
func (in *Incoming) Gather(shards []*Shard) {
	g := &in.groups
	g.Reset(len(shards))
	for _, s := range shards {
		for _, to := range s.migration.to {
			if int(to) != s.id {
				g.Count(int(to))
			}
		}
	}
	g.Counted()
	for from, s := range shards {
		for i, to := range s.migration.to {
			if int(to) != s.id {
				g.Add(int(to), incoming{s.migration.outgoing[i], int32(from), int32(i)})
			}
		}
	}
}

// CopyIncoming copies the atoms that come to this shard. It is the step copy incoming, for one
// shard. An atom that finds no room is refused: it stays where it was.
func (s *Shard) CopyIncoming(c *Incoming, shards []*Shard) {
	var source, target *Table
	s.migration.moves = s.migration.moves[:0]
	for _, x := range c.groups.Of(s.id) {
		if t := s.space.chunk(x.from).table; t != source {
			if target == nil || target.set != t.set {
				s.copyIn(target)
				target = s.Table(t.set)
			}
			source = t
		}
		if err := s.addIncoming(target, x.outgoing); err != nil {
			shards[x.shard].migration.to[x.at] |= refused
			s.migration.full = true
		}
	}
	s.copyIn(target)
}

// Full reports whether this shard refused some incoming atoms in this refresh.
func (s *Shard) Full() bool { return s.migration.full }

// copyIn copies the components of the atoms that were added to table t, which may be nil. It goes
// column by column: the rows to be read are scattered in memory, and this way no read waits for the
// one before.
func (s *Shard) copyIn(t *Table) {
	if len(s.migration.moves) == 0 {
		return
	}
	for _, col := range t.columns {
		col.move(s.migration.moves)
	}
	s.migration.moves = s.migration.moves[:0]
}

// addIncoming takes a row for an atom in table t of this shard, which has the atom's components. It
// reads the old row but does not write it: the old shard is taking in atoms at the same time. After
// an error the atom stays where it is.
func (s *Shard) addIncoming(t *Table, x outgoing) error {
	if err := t.ensureRow(); err != nil {
		return err
	}
	c, row := s.space.chunk(x.from), x.from.Row()
	to, at := t.push(x.handle)
	s.space.Slot(x.handle).Loc = to.base + slots.Loc(at)
	s.migration.moves = append(s.migration.moves, relocation{to: to.base + slots.Loc(at), from: x.from, n: 1})
	if f := c.flagsAt(row); f != 0 { // set later: other shards may be reading the words
		s.migration.flagged = append(s.migration.flagged, flaggedAtom{to.base + slots.Loc(at), f})
	}
	s.migration.arrived++
	return nil
}

// finishMigration ends the migration: atoms that were refused get their rows back. It decides the
// outcomes of the requests.
func (s *Shard) finishMigration() {
	m := &s.migration
	for i, x := range m.outgoing {
		o := queue.Applied
		switch to := m.to[i]; {
		case to&refused != 0:
			c, row := s.space.chunk(x.from), x.from.Row()
			c.handles[row] = x.handle
			c.unmark(row)
			o = queue.Refused
		case int(to) != s.id:
			m.departed++
		}
		if x.request >= 0 {
			s.decideMigration(&m.requests[x.request], o)
		}
	}
	clear(m.requests)
	m.requests, m.outgoing, m.to = m.requests[:0], m.outgoing[:0], m.to[:0]
	s.flagArrived()
}

// flagArrived gives the atoms that have come the flags that they had.
func (s *Shard) flagArrived() {
	for _, x := range s.migration.flagged {
		s.space.chunk(x.at).setFlags(x.at.Row(), x.flags)
	}
	s.migration.flagged = s.migration.flagged[:0]
}

// Migrate moves the atom at l to this shard at once. The atom must be in another shard and not
// marked. The world must be idle. After an error the atom is where it was.
func (s *Shard) Migrate(l slots.Loc) error {
	c, row := s.space.chunk(l), l.Row()
	from, t := c.table.shard, s.Table(c.table.set)
	s.migration.moves = s.migration.moves[:0]
	if err := s.addIncoming(t, outgoing{handle: c.handles[row], from: l}); err != nil {
		return err
	}
	s.copyIn(t)
	s.flagArrived()
	c.table.swapRemove(c, row)
	from.migration.departed++
	s.space.Moved()
	return nil
}

// Moved records that atoms have migrated, so that GatherChanges has something to do. The world must
// be idle, or in a step that the coordinator runs alone.
func (s *Space) Moved() { s.moves++ }

// Departed returns how many atoms have gone to other shards.
func (s *Shard) Departed() uint64 { return s.migration.departed }

// Arrived returns how many atoms have come from other shards.
func (s *Shard) Arrived() uint64 { return s.migration.arrived }

// partialMigration is a decision that any n atoms leave for another shard.
type partialMigration struct{ to, n int }

// MigrateSome decides that n atoms leave for another shard in CollectOutgoing of this refresh,
// after those that requests name. Each table that has none of the components in stay gives its last
// rows, in proportion to its number of rows, rounded down. The largest such table, or the first of
// several, gives the remainder. Rows that are marked, or leave anyway, are skipped. Fewer than n
// may leave. The coordinator calls it before that step.
func (s *Shard) MigrateSome(to, n int, stay *Set) {
	m := &s.migration
	m.partials = append(m.partials, partialMigration{to, n})
	m.stay = stay
}

// collectPartials finds the atoms that leave by partial migrations. It belongs to the step collect
// outgoing.
func (s *Shard) collectPartials() {
	m := &s.migration
	if len(m.partials) == 0 {
		return
	}
	total, largest := 0, 0
	m.rows, m.cursors = m.rows[:0], m.cursors[:0]
	for i, t := range s.tables {
		n := t.Rows()
		if t.set.Meets(m.stay) {
			n = 0
		}
		total += n
		m.rows, m.cursors = append(m.rows, n), append(m.cursors, n)
		if n > m.rows[largest] {
			largest = i
		}
	}
	for _, x := range m.partials {
		if total == 0 {
			break
		}
		left := min(x.n, total)
		x.n = left
		for i, rows := range m.rows {
			if part := int(int64(x.n) * int64(rows) / int64(total)); i != largest && part > 0 {
				left -= part
				s.collectFrom(i, part, x.to)
			}
		}
		s.collectFrom(largest, left, x.to)
	}
	m.partials = m.partials[:0]
}

// collectFrom makes n atoms of a table outgoing, from its cursor down.
func (s *Shard) collectFrom(table, n, to int) {
	m, t := &s.migration, s.tables[table]
	for k := t.cur.order; k >= 0 && n > 0; k-- {
		c := t.chunks[k]
		for row := min(m.cursors[table]-c.first, c.n) - 1; row >= 0 && n > 0; row-- {
			m.cursors[table] = c.first + row
			if h := c.handles[row]; !c.isMarked(row) && !isTombstone(h) {
				m.outgoing = append(m.outgoing, outgoing{h, c.base + slots.Loc(row), -1})
				m.to = append(m.to, uint16(to))
				c.handles[row] = tombstone(to)
				n--
			}
		}
	}
}
