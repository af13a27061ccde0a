package store

import (
	"math/bits"

	"github.com/atoll-sim/atoll/handle"
)

// notedRun are rows of a chunk whose atoms were created, or had other components before. A batch is
// noted as one run. The rows of a run do not move: whatever moves rows of a noted chunk calls settle
// first, which notes the handles instead.
//
//	created  fresh [h h h …]      runs [chunk 3, rows 0 to 4096][chunk 4, rows 0 to 17]
//	         └── settled ───┘           └──────────────── later ────────────────────┘
type notedRun struct {
	chunk    *Chunk
	from, to uint32
	moves    uint32 // as in changeEntry
	had      *Table // where the atoms were before; nil if they were created
}

// handles returns the atoms of the run.
func (n *notedRun) handles() []handle.Handle { return n.chunk.handles[n.from:n.to] }

// addRun adds rows to a list of runs: to the last, if they follow it.
func addRun(runs []notedRun, x notedRun) []notedRun {
	if n := len(runs); n > 0 {
		if l := &runs[n-1]; l.chunk == x.chunk && l.to == x.from && l.had == x.had && l.moves == x.moves {
			l.to = x.to
			return runs
		}
	}
	x.chunk.noted = true
	return append(runs, x)
}

// noteCreated records n rows of a chunk from a row on, whose atoms were created.
func (t *tally) noteCreated(c *Chunk, row, n int) {
	t.runs = addRun(t.runs, notedRun{chunk: c, from: uint32(row), to: uint32(row + n)})
}

// noteChanges records n rows of a chunk from a row on, whose atoms were in a table with other
// components.
func (s *Shard) noteChanges(c *Chunk, row, n int, had *Table) {
	s.changes.runs = addRun(s.changes.runs, notedRun{c, uint32(row), uint32(row + n), s.space.moves, had})
}

// settle notes handles instead of runs, because rows are about to move.
func (s *Shard) settle() {
	if len(s.tally.runs) > 0 {
		s.tally.fresh = s.appendCreated(s.tally.fresh)
		s.tally.runs = dropRuns(s.tally.runs)
	}
	if len(s.changes.runs) > 0 {
		s.changes.changes = s.appendChanges(s.changes.changes)
		s.changes.runs = dropRuns(s.changes.runs)
	}
}

// settleRows is settle if one of the last n rows of the table is in a noted chunk.
func (t *Table) settleRows(n int) {
	for order := t.cur.order; order >= 0 && n > 0; order-- {
		c := t.chunks[order]
		if c.noted {
			t.shard.settle()
			return
		}
		n -= c.n
	}
}

// appendCreated appends the created atoms that are noted in runs.
func (s *Shard) appendCreated(to []handle.Handle) []handle.Handle {
	for i := range s.tally.runs {
		to = append(to, s.tally.runs[i].handles()...)
	}
	return to
}

// appendChanges appends an entry for each atom that runs say has changed.
func (s *Shard) appendChanges(to []changeEntry) []changeEntry {
	for i := range s.changes.runs {
		x := &s.changes.runs[i]
		for _, h := range x.handles() {
			to = append(to, changeEntry{h, x.had, x.moves})
		}
	}
	return to
}

// dropRuns empties a list of runs, whose chunks are then no longer noted.
func dropRuns(runs []notedRun) []notedRun {
	for i := range runs {
		runs[i].chunk.noted = false
	}
	clear(runs)
	return runs[:0]
}

// rowsOf returns how many rows are in runs.
func rowsOf(runs []notedRun) (n int) {
	for i := range runs {
		n += int(runs[i].to - runs[i].from)
	}
	return n
}

// setBits sets the bits from one row up to another in a set of words words.
func setBits(set *[]uint64, from, to, words int) {
	if *set == nil {
		*set = make([]uint64, words)
	}
	for from < to {
		n := min(to-from, 64-from%64)
		(*set)[from/64] |= ^uint64(0) >> (64 - n) << (from % 64)
		from += n
	}
}

// unsetBits undoes setBits.
func unsetBits(set []uint64, from, to int) {
	for from < to {
		n := min(to-from, 64-from%64)
		set[from/64] &^= ^uint64(0) >> (64 - n) << (from % 64)
		from += n
	}
}

// stretch returns how many rows from one on, before another, are in one of the sets, or in none if
// in is false. A set may be nil.
func (n *notifySets) stretch(from, to int, in bool) int {
	row := from
	for row < to {
		w := uint64(0)
		if n.created != nil {
			w = n.created[row/64]
		}
		if n.once != nil {
			w |= n.once[row/64]
		}
		if in {
			w = ^w
		}
		if w >>= row % 64; w != 0 {
			return min(to, row+bits.TrailingZeros64(w)) - from
		}
		row += 64 - row%64
	}
	return to - from
}
