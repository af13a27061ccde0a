package interest

import (
	"bytes"

	"github.com/atoll-sim/atoll/internal/slots"
)

const (
	rowsEach = 128 // how many rows are encoded at a time
	endsEach = rowsEach + 1
	// valuesFirst is longer than what encode returns if it fails to append. So that mistake is
	// detected.
	valuesFirst = 4000
)

// batch is a worker's memory for encoding rows column by column. That waits for memory less often
// than row by row.
type batch struct {
	at     [rowsEach]slots.Loc
	values []byte
	ends   []end // by column: where its values begin, and where that of each row ends
}

// encode encodes what the worker has claimed.
func (w *worker) encode() {
	for from := 0; from < len(w.claims); from += rowsEach {
		w.encodeRows(w.claims[from:min(from+rowsEach, len(w.claims))])
	}
	w.claims = w.claims[:0]
}

// encodeRows encodes some rows.
func (w *worker) encodeRows(claims []uint32) {
	b, rows := &w.batch, w.rows()
	for i, number := range claims {
		b.at[i] = w.found.Locate(rows.at(number).handle)
	}
	if len(b.ends) == 0 {
		b.ends = make([]end, endsEach*len(w.columns))
		b.values = make([]byte, 0, valuesFirst)
	}
	b.values = b.values[:0]
	for c := range w.columns {
		w.ahead += w.columns[c].of.touch(w.opened[c], b.at[:len(claims)])
	}
	for c := range w.columns {
		ends := b.ends[c*endsEach:]
		ends[0].at = uint32(len(b.values))
		b.values = w.columns[c].of.append(b.values, w.opened[c], b.at[:len(claims)], ends[1:])
	}
	for i, number := range claims {
		w.finish(number, i)
	}
}

// finish joins the columns of a row, and finds out what has changed since the last Update. If no
// view has seen the entity in that Update, everything counts as changed.
func (w *worker) finish(number uint32, i int) {
	r, values := w.rows().at(number), w.rows().valuesOf(number, len(w.columns))
	var was *row
	var before []value
	if r.before != none {
		if x := w.last().at(r.before); x.handle == r.handle && x.done.Load() {
			was, before = x, w.last().valuesOf(r.before, len(w.columns))
		}
	}
	b, size := &w.batch, uint32(0)
	for k := range w.columns {
		size += b.ends[k*endsEach+i+1].at - b.ends[k*endsEach+i].at
	}
	block := w.bytes[w.now%2].room(2 * int(size))
	to := (*block)[len(*block):]
	r.newest, r.present, r.news = w.now, 0, 0
	if was != nil {
		r.newest = was.newest
	}
	old := uint32(0)
	for k := range w.columns {
		begin, e := b.ends[k*endsEach+i].at, b.ends[k*endsEach+i+1]
		is, v, bit := b.values[begin:e.at], &values[k], uint32(1)<<k
		if !e.absent {
			r.present |= bit
		}
		if was != nil && (was.present^r.present)&bit == 0 && bytes.Equal(was.bytes[old:before[k].end], is) {
			v.changed = before[k].changed
		} else {
			v.changed, r.newest = w.now, w.now
			r.news |= bit
		}
		if was != nil {
			old = before[k].end
		}
		to = append(to, is...)
		v.end = uint32(len(to))
	}
	r.all, r.bytes = size, to
	whole := false
	if r.from, r.to, whole = r.span(values, r.news&r.present); !whole {
		r.bytes = r.join(to, values, r.news&r.present)
		r.from, r.to = size, uint32(len(r.bytes))
	}
	*block = (*block)[:len(*block)+len(r.bytes)]
	r.weight = 1
	if w.value != nil {
		r.weight = uint8(min(max(w.value(r.handle), 1), 255))
	}
	r.done.Store(true) // publishes the row
}
