package store

import (
	"math/bits"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Mark marks the atom at l and reports whether it was not marked yet. The next Compact of
// its shard removes it. The caller must own the shard.
func (s *Space) Mark(l slots.Loc) bool { return s.chunk(l).mark(l.Row()) }

// Marked reports whether the atom at l is marked. The caller must own its shard.
func (s *Space) Marked(l slots.Loc) bool { return s.chunk(l).isMarked(l.Row()) }

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

// AppendMarked appends the handles of the marked atoms, in the order of AppendDying.
func (s *Shard) AppendMarked(to []handle.Handle) []handle.Handle {
	for _, t := range s.dirty {
		to = t.appendMarked(to)
	}
	return to
}

// appendMarked appends the handles of the marked atoms in the order of their rows, so that the sizes
// of chunks make no difference.
func (t *Table) appendMarked(to []handle.Handle) []handle.Handle {
	t.sortDirty() // as Compact will
	for _, c := range slices.Backward(t.dirty) {
		to = c.appendMarked(to)
	}
	return to
}

func (c *Chunk) appendMarked(to []handle.Handle) []handle.Handle {
	if c.marked == c.n {
		return append(to, c.handles[:c.n]...)
	}
	for words := c.words; words != 0; words &= words - 1 {
		i := bits.TrailingZeros64(words)
		for word := c.marks[i]; word != 0; word &= word - 1 {
			to = append(to, c.handles[i*64+bits.TrailingZeros64(word)])
		}
	}
	return to
}

// MarkEach marks those atoms of the given handles that are alive. Unless marked is nil, it appends
// to it the handles of the atoms that were not marked before. The caller must own all shards: it is
// the coordinator in the step extend.
func (s *Space) MarkEach(hs []handle.Handle, marked *[]handle.Handle) {
	chunks := *s.chunks.Load()
	var run markRun
	for _, h := range hs {
		l := s.Locate(h)
		if l == 0 {
			continue
		}
		if l/64 != run.at {
			run.mark()
			run = markRun{at: l / 64, chunk: chunks[l>>slots.RowBits].chunk}
			run.before = run.chunk.marks[l.Row()/64]
		}
		bit := uint64(1) << (l % 64)
		if marked != nil && (run.before|run.rows)&bit == 0 {
			*marked = append(*marked, h)
		}
		run.rows |= bit
	}
	run.mark()
}

// markRun collects rows to be marked that share a word of a chunk's marks. So atoms that are
// created together and die together are marked up to 64 at a time.
type markRun struct {
	at     slots.Loc // of the first of the 64, divided by 64
	chunk  *Chunk
	rows   uint64
	before uint64 // the rows that were marked before
}

// mark marks the rows of the run.
func (m *markRun) mark() {
	if m.rows != 0 {
		m.chunk.markWord((m.at * 64).Row(), m.rows)
	}
}

// markWord marks rows, a set within the 64 rows around row, and returns which of the 64 were marked
// before.
func (c *Chunk) markWord(row int, rows uint64) (before uint64) {
	before = c.marks[row/64]
	if fresh := rows &^ before; fresh != 0 {
		c.marks[row/64] = before | fresh
		c.words |= 1 << (row / 64)
		c.table.touch(c)
		c.marked += bits.OnesCount64(fresh)
	}
	return before
}

// Spare removes the mark of the atom at l, if it has one. The caller must own its
// shard.
func (s *Space) Spare(l slots.Loc) {
	if c := s.chunk(l); c.isMarked(l.Row()) {
		c.unmark(l.Row())
	}
}

// held is a request to destroy whose outcome is put off: only after all requests are applied is it
// known whether the entity dies.
type held struct {
	request queue.PendingRequest
	at      uint32 // its number among many requests
	there   bool   // the entity was not gone
	first   bool   // it marked the entity
}

// DecideHeld decides the requests to destroy that were put off, in order. An atom that is no longer
// marked was spared.
func (s *Shard) DecideHeld() {
	for _, d := range s.applying.held {
		h := d.request.Handle
		if d.request.IsMany() {
			h = d.request.Handles()[d.at]
		}
		o := queue.Gone
		l := slots.Loc(0)
		if d.there {
			l = s.space.LocateStaged(h) // not its former location: other rows may have left the table since
		}
		switch {
		case l != 0 && !s.space.Marked(l):
			o = queue.Refused
		case d.first:
			o = queue.Applied
		}
		if d.request.IsMany() {
			s.DecideOne(d.request, int(d.at), o)
		} else {
			s.Decide(d.request.Request, o)
		}
	}
	clear(s.applying.held)
	s.applying.held = s.applying.held[:0]
}
