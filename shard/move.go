package shard

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// moving is what a shard knows of atoms that move to or from it in a refresh.
//
//	asked     requests, in order; the last for an atom counts
//	sheds     decisions that some leave, whichever; see Shed
//	leavers   the atoms that leave, in the order of those requests and decisions
//	to        [2 0 0 3 …]   where each of them goes, and whether it was refused there
//	flagged   atoms that have come with flags
//
// Invariants: between Depart and Sweep the row of a leaver is marked, and the
// handle there has version 0 and says which shard it leaves for. The slot has the
// handle's place throughout: nobody else can tell.
//
// Ownership: the shard's owner. In the step between, each target marks in to those that it
// refuses.
type moving struct {
	asked   []asked
	sheds   []shed
	stay    *Set  // who has any of these is not shed
	rows    []int // of a shed: by table, how many there were
	cursors []int // likewise: rows from here on were looked at
	leavers []leaver
	to      []uint16
	flagged []flaggedAtom
	left    bool // rows of leavers are among the marked ones
	full    bool // some who were to come were refused

	arrived, departed uint64 // atoms, ever
}

// asked is a request to move, with what the steps of the moves look at: by then nobody has
// the request itself in a cache.
type asked struct {
	Routed
	handle handle.Handle
	to     uint16
	waited bool // somebody waits for the outcome
}

// decideMove settles the outcome of a request to move.
func (s *Shard) decideMove(a *asked, o Outcome) {
	if a.waited {
		s.Decide(a.Routed, o)
	} else {
		s.Outcomes.counts[o]++
	}
}

// leaver is an atom that leaves.
type leaver struct {
	handle handle.Handle
	from   Loc
	asked  int32 // which of the requests it leaves by, or -1: nobody asked for it by handle
}

// refused is set in the target of a leaver that could not go there.
const refused = 1 << 15

type flaggedAtom struct {
	at    Loc
	flags Flags
}

// vacant is what stands in the row of an atom that leaves for a shard.
func vacant(to int) handle.Handle { return compose(uint32(to), 0, 0) }

func isVacant(h handle.Handle) bool { return h.Version() == 0 }

// ask takes a request to move an atom, which is done when all other requests are:
// so they find it where it is.
func (s *Shard) ask(r Routed) {
	if l := r.Loc(); l == 0 || s.space.Marked(l) {
		s.Decide(r, Gone)
		return
	}
	s.moving.asked = append(s.moving.asked, asked{r, r.Handle, uint16(r.how & shards), r.how&notify != 0})
}

// Asked returns how many requests to move, and decisions, wait for Depart.
func (s *Shard) Asked() int { return len(s.moving.asked) + len(s.moving.sheds) }

// Depart finds out who leaves. Of several requests for an atom the last counts,
// and one that was destroyed after all does not leave. The rows become free at
// the Sweep. Flags are published before anybody leaves: from here on nobody sets any, and
// the next step writes the slots of who leaves.
func (s *Shard) Depart() {
	m := &s.moving
	s.PublishFlags()
	m.full = false
	for i := len(m.asked) - 1; i >= 0; i-- {
		a := &m.asked[i]
		l := a.slot.loc // it is alive, as it was when it was asked
		c, row := s.space.chunk(l), l.Row()
		if isVacant(c.handles[row]) || c.marked(row) { // moved again, or destroyed, by a later request
			s.decideMove(a, Applied)
			continue
		}
		c.handles[row] = vacant(int(a.to))
		m.leavers = append(m.leavers, leaver{a.handle, l, int32(i)})
		m.to = append(m.to, a.to)
	}
	slices.Reverse(m.leavers)
	slices.Reverse(m.to)
	s.shed()
	for i, x := range m.leavers {
		c, row := s.space.chunk(x.from), x.from.Row()
		if int(m.to[i]) == s.id {
			c.handles[row] = x.handle
			continue
		}
		c.mark(row)
		m.left = true
	}
}

// Leaves returns for which shard an atom leaves that was here before Depart.
func (s *Shard) Leaves(h handle.Handle) (to int, ok bool) {
	if l := s.space.Locate(h); l != 0 {
		if at := s.space.chunk(l).handles[l.Row()]; isVacant(at) {
			return int(at.Shard()), true
		}
	}
	return 0, false
}

// Comers are the atoms that move in a refresh, by the shard they come to: each group in
// the order of the shards they leave, of each of those in the order in which they leave.
//
// Ownership: as of Groups.
type Comers struct{ groups Groups[comer] }

// comer is a leaver of a shard, at a position in its list. Who takes it in looks
// at the other shard's lists only to refuse it.
type comer struct {
	leaver
	shard, at int32
}

// Gather finds all who move. All shards have departed.
func (c *Comers) Gather(shards []*Shard) {
	g := &c.groups
	g.Reset(len(shards))
	for _, s := range shards {
		for _, to := range s.moving.to {
			if int(to) != s.id {
				g.Count(int(to))
			}
		}
	}
	g.Counted()
	for from, s := range shards {
		for i, to := range s.moving.to {
			if int(to) != s.id {
				g.Add(int(to), comer{s.moving.leavers[i], int32(from), int32(i)})
			}
		}
	}
}

// Arrive takes in the atoms that come to this shard.
func (s *Shard) Arrive(c *Comers, shards []*Shard) {
	var source, target *Table
	s.moves = s.moves[:0]
	for _, x := range c.groups.Of(s.id) {
		if t := s.space.chunk(x.from).table; t != source {
			if target == nil || target.set != t.set {
				s.copyIn(target)
				target = s.Table(t.set)
			}
			source = t
		}
		if err := s.takeIn(target, x.leaver); err != nil {
			shards[x.shard].moving.to[x.at] |= refused
			s.moving.full = true
		}
	}
	s.copyIn(target)
}

// Full reports whether some who were to come in this refresh were refused.
func (s *Shard) Full() bool { return s.moving.full }

// copyIn copies the components of those who were taken in to table t, which may be nil, column
// by column: what has to be read is anywhere in memory, and none waits for the one before.
func (s *Shard) copyIn(t *Table) {
	if len(s.moves) == 0 {
		return
	}
	for _, col := range t.columns {
		col.move(s.moves)
	}
	s.moves = s.moves[:0]
}

// takeIn takes a row for an atom in this shard, whose table t has its components. Its old
// row is read and not written: its shard is taking in others.
func (s *Shard) takeIn(t *Table, x leaver) error {
	if !t.settled() {
		if err := t.settle(); err != nil {
			return err
		}
	}
	c, row := s.space.chunk(x.from), x.from.Row()
	to, at := t.cur, t.cur.n
	to.handles[at] = x.handle
	to.n++
	to.changed = s.space.now
	s.moves = append(s.moves, relocation{to: to.base + Loc(at), from: x.from})
	if f := c.flagsAt(row); f != 0 { // set later: the words are shared with rows that others read
		s.moving.flagged = append(s.moving.flagged, flaggedAtom{to.base + Loc(at), f})
	}
	s.space.slot(x.handle).loc = to.base + Loc(at)
	s.moving.arrived++
	return nil
}

// land ends the moves: rows of who was refused are taken back.
func (s *Shard) land() {
	m := &s.moving
	for i, x := range m.leavers {
		o := Applied
		switch to := m.to[i]; {
		case to&refused != 0:
			c, row := s.space.chunk(x.from), x.from.Row()
			c.handles[row] = x.handle
			c.unmark(row)
			o = Refused
		case int(to) != s.id:
			m.departed++
		}
		if x.asked >= 0 {
			s.decideMove(&m.asked[x.asked], o)
		}
	}
	clear(m.asked)
	m.asked, m.leavers, m.to = m.asked[:0], m.leavers[:0], m.to[:0]
	s.flagArrived()
}

// flagArrived gives the atoms that have come the flags that they had.
func (s *Shard) flagArrived() {
	for _, x := range s.moving.flagged {
		s.space.chunk(x.at).setFlags(x.at.Row(), x.flags)
	}
	s.moving.flagged = s.moving.flagged[:0]
}

// dead returns the handles of marked rows without those of leavers.
func (s *Shard) dead(marked []handle.Handle) []handle.Handle {
	if !s.moving.left {
		return marked
	}
	s.doomed = append(s.doomed[:0], marked...)
	s.doomed = slices.DeleteFunc(s.doomed, isVacant)
	return s.doomed
}

// Take moves the atom at l, which must be in another shard and not marked, to this
// one, at once. The world must be idle.
func (s *Shard) Take(l Loc) error {
	c, row := s.space.chunk(l), l.Row()
	from, t := c.table.shard, s.Table(c.table.set)
	s.moves = s.moves[:0]
	if err := s.takeIn(t, leaver{handle: c.handles[row], from: l}); err != nil {
		return err
	}
	s.copyIn(t)
	s.flagArrived()
	c.table.vacate(c, row)
	from.moving.departed++
	s.space.Moved()
	return nil
}

// Moved says that atoms have moved to other shards, so that notes on them have to be
// gathered. The world must be idle, or in a step that the coordinator does.
func (s *Space) Moved() { s.moves++ }

// Arrived returns how many atoms ever came from other shards.
func (s *Shard) Arrived() uint64 { return s.moving.arrived }
