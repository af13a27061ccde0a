package interest

import (
	"math/bits"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
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

const none = 1<<32 - 1

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
