package interest

import (
	"math/bits"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/nearby"
)

// row is an entity that is seen in an Update. Rows are about in the order in which they were first
// seen, so entities near each other have rows near each other. It has the size of a cache line.
//
// Ownership: the worker's that has claimed it. Nothing writes it once done is set.
type row struct {
	handle  handle.Handle
	bytes   []byte // of all columns, then of news unless those are a part of them
	all     uint32 // how many bytes all columns take
	from    uint32 // where the bytes of news begin and end
	to      uint32
	newest  uint32 // the last Update in which one of the columns had changed
	present uint32 // which columns the entity has
	news    uint32 // which have changed since the last Update
	before  uint32 // the number of the entity's row in the last Update, or none
	weight  uint8
	done    atomic.Bool
}

// value is a column of a row.
type value struct {
	changed uint32 // the last Update in which it differed from the one before
	end     uint32 // of its bytes, from the beginning of the row's
}

// chunk is some rows, and their values.
type chunk struct {
	rows   [chunkRows]row
	values []value
}

const (
	chunkBits = 9
	chunkRows = 1 << chunkBits
)

// rows are those of an Update. Each has a number.
//
// Ownership: a chunk is the worker's that has taken its number from used.
type rows struct {
	chunks []*chunk
	used   atomic.Int64
}

// fit forgets all rows, and makes room for n.
func (r *rows) fit(n int) {
	if keep := 4 * (int(r.used.Swap(0)) + 2); keep < len(r.chunks) { // there were far more before
		clear(r.chunks[keep:])
	}
	for len(r.chunks) < n/chunkRows+1 {
		r.chunks = append(r.chunks, nil)
	}
}

// at returns a row by its number.
func (r *rows) at(number uint32) *row {
	return &r.chunks[number>>chunkBits].rows[number%chunkRows]
}

// valuesOf returns the values of a row, by its number.
func (r *rows) valuesOf(number uint32, columns int) []value {
	return r.chunks[number>>chunkBits].values[int(number%chunkRows)*columns:][:columns]
}

// rows returns the rows of this Update, and last returns those of the one before.
func (s *Set) rows() *rows { return &s.both[s.now%2] }
func (s *Set) last() *rows { return &s.both[(s.now+1)%2] }

const none = 1<<32 - 1

// What is known of an entity is a number: in the upper half 1 + that of its row, or 0 if no view
// has seen it in this Update; in the lower half that of its row in the last one, or none.

// knownAt finds what is known of a hit by its handle.
func (w *worker) knownAt(hit *nearby.Hit) uint64 {
	known := w.known(hit.Handle)
	if known>>32 != 0 {
		w.publish(hit.Place, known)
	}
	return known
}

// known returns what is known of an entity.
func (w *worker) known(h handle.Handle) uint64 {
	was := w.marks.of(h).Load()
	switch uint32(was >> 32) {
	case w.now:
		return (was&none+1)<<32 | uint64(w.rows().at(uint32(was)).before)
	case w.now - 1:
		return was & none
	}
	return none
}

// publish notes what is known of the entity at a place, so that others need not look for its mark.
func (w *worker) publish(place uint32, known uint64) {
	if w.use == 1 {
		w.places[place] = known
		return
	}
	atomic.StoreUint64(&w.places[place], known)
}

// rowOf returns the number of an entity's row. If no view has seen the entity in this Update the
// worker gets the row, to encode it.
func (w *worker) rowOf(h handle.Handle, place uint32, known uint64) uint32 {
	if known>>32 != 0 {
		return uint32(known>>32) - 1
	}
	return w.claim(h, place, uint32(known))
}

func (w *worker) claim(h handle.Handle, place, before uint32) uint32 {
	rows := w.rows()
	if w.chunk == nil || w.chunkUsed == chunkRows {
		w.chunkNumber, w.chunkUsed = uint32(rows.used.Add(1)-1), 0
		at := &rows.chunks[w.chunkNumber]
		if *at == nil {
			*at = &chunk{values: make([]value, chunkRows*len(w.columns))}
		}
		w.chunk = *at
	}
	number := w.chunkNumber<<chunkBits | w.chunkUsed
	r := &w.chunk.rows[w.chunkUsed]
	r.handle, r.before = h, before
	r.done.Store(false)
	mark := w.marks.of(h)
	was := mark.Load()
	if uint32(was>>32) == w.now || !mark.CompareAndSwap(was, uint64(w.now)<<32|uint64(number)) {
		return uint32(mark.Load())
	}
	w.chunkUsed++
	w.claims = append(w.claims, number)
	if place != none {
		w.publish(place, uint64(number+1)<<32|uint64(before))
	}
	return number
}

// span returns where some of a row's columns are in its bytes, and whether no others lie between
// them.
func (r *row) span(values []value, columns uint32) (from, to uint32, whole bool) {
	if columns == 0 {
		return 0, 0, true
	}
	first, last := bits.TrailingZeros32(columns), bits.Len32(columns)-1
	if first > 0 {
		from = values[first-1].end
	}
	return from, values[last].end, r.present>>first<<first&(2<<last-1) == columns
}

// join appends some of a row's columns.
func (r *row) join(dst []byte, values []value, columns uint32) []byte {
	from := uint32(0)
	for i, v := range values {
		if columns>>i&1 != 0 {
			dst = append(dst, r.bytes[from:v.end]...)
		}
		from = v.end
	}
	return dst
}

// arena has the bytes of rows of an Update. What it has given stays where it is until it is
// emptied. Blocks of one size are behind each other, so that those for long rows are found again.
type arena [35 - blockBits]blocks

const (
	blockBits  = 16
	blockBytes = 1 << blockBits // the smallest
)

// blocks are those of a size, a power of two.
type blocks struct {
	all  [][]byte
	used int // how many are
}

// empty forgets all bytes.
func (a *arena) empty() {
	for i := range a {
		b := &a[i]
		if i > 0 || len(b.all) > 8*(b.used+4) { // long rows are few, or there were far more
			clear(b.all[b.used:])
			b.all = b.all[:b.used]
		}
		for i := range b.all[:b.used] {
			b.all[i] = b.all[i][:0]
		}
		b.used = 0
	}
}

// room returns a block with room for n bytes more.
func (a *arena) room(n int) *[]byte {
	size := max(bits.Len(uint(max(n, 1)-1)), blockBits)
	b := &a[size-blockBits]
	if b.used > 0 {
		if x := &b.all[b.used-1]; cap(*x)-len(*x) >= n {
			return x
		}
	}
	if b.used == len(b.all) {
		b.all = append(b.all, make([]byte, 0, 1<<size))
	}
	b.used++
	return &b.all[b.used-1]
}

// sized returns a slice of a length, whose elements may be any, with room for some more if it must
// be made.
func sized[T any](s []T, n int) []T {
	if cap(s) < n || cap(s) > 8*n+1<<14 {
		s = make([]T, n+n/8)
	}
	return s[:n]
}
