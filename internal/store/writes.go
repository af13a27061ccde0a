package store

import "github.com/atoll-sim/atoll/internal/slots"

// The first time in a tick that a view hands out rows of a chunk for writing, it stamps the chunk's
// column with the tick, and notes that in the Run: Written becomes the owner. From then on one
// comparison with Written is both the check that the rows are in view and the proof that they are
// stamped. SetTick forgets the notes, and so does Handed for the idle world, so that the next
// hand-out is noticed again.

// write is a chunk's column that a view has handed out for writing.
type write struct {
	column *Column
	number int
}

// writes are what one owner has written since it was last forgotten.
//
// Ownership: the owner of the views; the coordinator between ticks.
type writes struct {
	all []write
	any bool     // rows were handed out; for the idle world
	_   [32]byte // other owners write their own
}

// Note stamps and notes the chunk that l is in, whose rows are handed out for writing.
func (v *View) Note(l slots.Loc) { v.note(int(l >> slots.RowBits)) }

// NoteRows is Note for the chunk of some rows.
func (v *View) NoteRows(r Rows) { v.note(r.chunk.number()) }

func (v *View) note(number int) {
	d := v.column.dir.Load()
	r := &d.own[number]
	if v.all() {
		r = &d.all[number]
	}
	*r.Stamp = *v.Now
	if r.Written == v.Owner || r.Owner != v.Owner {
		return
	}
	r.Written = v.Owner
	w := &v.column.space.writes[v.Owner-1]
	w.all, w.any = append(w.all, write{v.column, number}), true
}

// Handed reports whether views of the idle world, or of a global system, have handed out rows for
// writing since the last call or the beginning of the tick, and forgets it.
func (s *Space) Handed() bool {
	w := &s.writes[len(s.writes)-1]
	any := w.any
	w.forget(len(s.writes))
	return any
}

// forget makes the owner's next hand-outs stamp again.
func (w *writes) forget(owner int) {
	for _, x := range w.all {
		d := x.column.dir.Load()
		if x.number >= len(d.own) {
			continue // the world has given up its memory
		}
		if owner == int(x.column.world)+1 {
			d.all[x.number].Written = 0
		} else {
			d.own[x.number].Written = 0
		}
	}
	w.all, w.any = w.all[:0], false
}
