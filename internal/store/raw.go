package store

import (
	"sync/atomic"
	"unsafe"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
)

// RunBytes is the size of a Run.
const RunBytes = slots.Loc(unsafe.Sizeof(Run{}))

// At returns the row, or nil if the chunk lacks the component or the row, or is out of view. For
// any l, a result other than nil is a row of the column. It is small enough to be inlined.
//
// One comparison shows whether l is in the run: the RowsMax locations from Low on end with that of
// the last row. Those among them that are not in this chunk belong to the chunk before, which has
// another entry: the numbers of two chunks that share an entry differ by at least firstChunks.
//
// Safety: a list has a power of two of entries and Low of the first, which has no owner, is the
// number of the last. So the entry is within. First is the address of the rows up to the last.
func At[T any](v *View, l slots.Loc) (row *T) {
	if check.Enabled {
		v.borrowAt(l)
	}
	p := atomic.LoadPointer(v.Runs)
	p = unsafe.Add(p, l>>slots.RowBits&(*Run)(p).Low*RunBytes)
	if l-(*Run)(p).Low < slots.RowsMax && (*Run)(p).Owner == v.Owner {
		return (*T)(unsafe.Add((*Run)(p).First, uintptr(l&slots.RowMask)*unsafe.Sizeof(*row)))
	}
	return
}

// Touch reads a byte of each row that At would return, so that the processor waits for all of them
// at the same time. It returns their sum, which the caller must keep: otherwise the compiler drops
// the reads.
//
// Safety: as for At; a row that takes no bytes is not read.
func Touch[T any](v *View, at []slots.Loc) (sum uint64) {
	if unsafe.Sizeof(*new(T)) == 0 {
		return 0
	}
	for _, l := range at {
		if row := At[T](v, l); row != nil {
			sum += uint64(*(*byte)(unsafe.Pointer(row)))
		}
	}
	return sum
}

// AtWrite is At for writing: it notes the chunk. What a program calls does so inline.
//
// Safety: as for At.
func AtWrite[T any](v *View, l slots.Loc) (row *T) {
	if row = At[T](v, l); row != nil {
		v.Note(l)
	}
	return
}

// Slice returns the component of the rows, or nil if they lack it. It is small
// enough to be inlined.
//
// Safety: a rowList is laid out like a []T; its rows have the T of the column.
func Slice[T any](v *View, r Rows) []T {
	if check.Enabled {
		r.number = v.borrow(r)
	}
	if rows := v.column.dir.Load().rows; uint(r.number) < uint(len(rows)) {
		if data := *(*[]T)(unsafe.Pointer(&rows[r.number])); r.to <= len(data) {
			return data[r.from:r.to]
		}
	}
	return nil
}

const pointerBytes = unsafe.Sizeof(mem.Address(nil))

var _ = [1]struct{}{}[unsafe.Sizeof(rowList{})-unsafe.Sizeof([]int{})]

// SliceWrite is Slice for writing, as AtWrite is.
//
// Safety: as for Slice.
func SliceWrite[T any](v *View, r Rows) (rows []T) {
	if rows = Slice[T](v, r); len(rows) > 0 {
		v.NoteRows(r)
	}
	return
}

// Noted reports whether the chunk of some rows is stamped and noted.
//
// Safety: a list has a power of two of entries, and Low of the first is the number of the last.
func (v *View) Noted(r Rows) bool {
	p := atomic.LoadPointer(v.Runs)
	return (*Run)(unsafe.Add(p, slots.Loc(r.number)&(*Run)(p).Low*RunBytes)).Written == v.Owner
}

// FirstWrite returns the address of a row for writing, whose chunk may not be noted. It returns nil
// for an l that At would.
//
// Safety: as for At.
func (v *View) FirstWrite(l slots.Loc) mem.Address {
	p := atomic.LoadPointer(v.Runs)
	p = unsafe.Add(p, l>>slots.RowBits&(*Run)(p).Low*RunBytes)
	if l-(*Run)(p).Low >= slots.RowsMax || (*Run)(p).Owner != v.Owner {
		return nil
	}
	v.Note(l)
	return v.column.of.At((*Run)(p).First, l.Row())
}

// Store stores the fields of a bundle at v in the atom's row, by the types of the columns. v
// must be on the heap.
//
// Safety: each field's offset and component are those that reflection found in
// the bundle; as for storePlain for the columns without pointers.
func Store(a Atom, fields []Field, v mem.Address) {
	for i := range fields {
		f := &fields[i]
		to, from := unsafe.Add(a.Chunk.bases[f.column], uintptr(a.Row)*f.size), unsafe.Add(v, f.Offset)
		if f.of == nil {
			copyPlain(to, from, f.size)
		} else {
			f.of.Assign(to, from)
			if f.of.HasTimes() {
				f.of.DropClocks(to, 1)
			}
		}
	}
}

// StorePlain is Store for a bundle without pointers. v may be on the stack.
//
// Safety: as for Store.
func StorePlain(a Atom, fields []Field, v mem.Address) { a.Chunk.storePlain(fields, a.Row, v) }

// StorePlainRows stores n values of a bundle without pointers, each of size bytes, in as many rows,
// from row at on, column by column.
//
// Safety: as for StorePlain; there are that many rows.
func StorePlainRows(r Rows, at int, fields []Field, values mem.Address, size uintptr, n int) {
	if n > 0 {
		_ = r.Handles()[at+n-1]
		r.chunk.storePlainRows(fields, r.from+at, values, size, n)
	}
}

// storePlainRows is storePlain for n values, which are stride bytes apart.
//
// Safety: as for storePlain.
func (c *Chunk) storePlainRows(fields []Field, row int, src unsafe.Pointer, stride uintptr, n int) {
	for i := range fields {
		f := &fields[i]
		copyEach(unsafe.Add(c.bases[f.column], uintptr(row)*f.size), unsafe.Add(src, f.Offset), f.size, int(stride), n)
	}
}

// copyEach copies n values without pointers to adjacent places, from places that are stride bytes
// apart.
//
// Safety: both addresses, and those that follow, have size bytes.
func copyEach(to, from unsafe.Pointer, size uintptr, stride, n int) {
	switch size {
	case 16: // the commonest: two numbers
		for k := range n {
			*(*[16]byte)(unsafe.Add(to, k*16)) = *(*[16]byte)(unsafe.Add(from, k*stride))
		}
	case 8:
		for k := range n {
			*(*[8]byte)(unsafe.Add(to, k*8)) = *(*[8]byte)(unsafe.Add(from, k*stride))
		}
	default:
		for k := range n {
			copyPlain(unsafe.Add(to, k*int(size)), unsafe.Add(from, k*stride), size)
		}
	}
}

// Value returns the address of a component of the atom, where the caller stores it. The atom must
// have the component.
//
// Safety: a column's base is the address of its rows.
func Value(a Atom, component int) mem.Address {
	t := a.Chunk.table
	at := t.position(component)
	return unsafe.Add(a.Chunk.bases[at], uintptr(a.Row)*t.sizes[at])
}

// storePlain copies the fields of a bundle at src into a row.
//
// Safety: the columns hold no pointers, so copying bytes hides nothing from the
// collector; a column's base has room for all of the chunk's rows.
func (c *Chunk) storePlain(fields []Field, row int, src unsafe.Pointer) {
	for i := range fields {
		f := &fields[i]
		copyPlain(unsafe.Add(c.bases[f.column], uintptr(row)*f.size), unsafe.Add(src, f.Offset), f.size)
	}
}

// copyColumns copies a row of some columns without pointers.
//
// Safety: the columns' bases have room for all rows of their chunks, of the given sizes.
func copyColumns(to *Chunk, toRow int, from *Chunk, fromRow int, columns []columnPair) {
	for i := range columns {
		p := &columns[i]
		dst, src := unsafe.Add(to.bases[p.to], uintptr(toRow)*p.size), unsafe.Add(from.bases[p.from], uintptr(fromRow)*p.size)
		if p.size == 16 { // the commonest: two numbers
			*(*[16]byte)(dst) = *(*[16]byte)(src)
			continue
		}
		copyPlain(dst, src, p.size)
	}
}

// copyRows copies n rows of a column without pointers. Source and destination may overlap.
//
// Safety: both bases have rows of the given size, and more than the rows named.
func copyRows(to mem.Address, toRow int, from mem.Address, fromRow, n int, size uintptr) {
	length := uintptr(n) * size
	copy(unsafe.Slice((*byte)(unsafe.Add(to, uintptr(toRow)*size)), length), unsafe.Slice((*byte)(unsafe.Add(from, uintptr(fromRow)*size)), length))
}

// copyRowsBack copies n rows of a column without pointers, the row named and those before it, to
// the row named and those after it.
//
// Safety: both bases have these rows, of the given size.
func copyRowsBack(to mem.Address, toRow int, from mem.Address, fromRow, n int, size uintptr) {
	copyEach(unsafe.Add(to, uintptr(toRow)*size), unsafe.Add(from, uintptr(fromRow)*size), size, -int(size), n)
}

// putPlain stores a field without pointers of each payload.
//
// Safety: as for storePlain.
func (a Adjacent) putPlain(f Field) {
	first, step := unsafe.Add(a.chunk.bases[f.column], uintptr(a.row)*f.size), a.step*int(f.size)
	for i, r := range a.indexes {
		to, from := unsafe.Add(first, i*step), unsafe.Add(a.requests[r].Payload().Address, f.Offset)
		if f.size == 16 { // the commonest: two numbers
			*(*[16]byte)(to) = *(*[16]byte)(from)
			continue
		}
		copyPlain(to, from, f.size)
	}
}

// movePlain copies rows of a column without pointers, in order.
//
// Safety: both lists have the rows.
func movePlain(rows []rowList, moves []relocation, size uintptr) {
	for _, m := range moves {
		to := unsafe.Add(rows[m.to>>slots.RowBits].first, uintptr(m.to&slots.RowMask)*size)
		from := unsafe.Add(rows[m.from>>slots.RowBits].first, uintptr(m.from&slots.RowMask)*size)
		switch {
		case m.n > 1:
			copy(unsafe.Slice((*byte)(to), uintptr(m.n)*size), unsafe.Slice((*byte)(from), uintptr(m.n)*size))
		case size == 16: // the commonest: two numbers
			*(*[16]byte)(to) = *(*[16]byte)(from)
		default:
			copyPlain(to, from, size)
		}
	}
}

// copyPlain copies a value without pointers. It calls nothing, so a loop around it keeps registers.
//
// Safety: both addresses have size bytes.
func copyPlain(dst, src unsafe.Pointer, size uintptr) {
	at := uintptr(0)
	for ; at+16 <= size; at += 16 {
		*(*[16]byte)(unsafe.Add(dst, at)) = *(*[16]byte)(unsafe.Add(src, at))
	}
	if size&8 != 0 {
		*(*[8]byte)(unsafe.Add(dst, at)) = *(*[8]byte)(unsafe.Add(src, at))
		at += 8
	}
	if size&4 != 0 {
		*(*[4]byte)(unsafe.Add(dst, at)) = *(*[4]byte)(unsafe.Add(src, at))
		at += 4
	}
	for ; at < size; at++ {
		*(*byte)(unsafe.Add(dst, at)) = *(*byte)(unsafe.Add(src, at))
	}
}

// zeroPlain sets rows of a column without pointers to zero.
//
// Safety: the base has rows of the given size up to to, exclusive.
func zeroPlain(rows mem.Address, from, to int, size uintptr) {
	clear(unsafe.Slice((*byte)(unsafe.Add(rows, uintptr(from)*size)), uintptr(to-from)*size))
}

// storeNext copies the fields of a bundle without pointers at src into the next row. Zeroes are not
// copied into a row of zeroes: with many components they are most of the work of a create.
//
// Two numbers are copied one by one: a processor does not forward two stores, as of an argument, to
// one load, which waits until they are in the cache.
//
// Safety: as for storePlain; there is a next row.
func (c *Chunk) storeNext(fields *Fields, src unsafe.Pointer) {
	row, bases := uintptr(c.n), unsafe.Pointer(unsafe.SliceData(c.bases))
	if c.n >= c.used && mem.IsZero(src, fields.end) {
		return
	}
	for pairs, i := fields.pairs, 0; i < len(pairs); i++ {
		f := &pairs[i]
		to, from := unsafe.Add(*(*mem.Address)(unsafe.Add(bases, uintptr(f.column)*pointerBytes)), row*16), unsafe.Add(src, f.Offset)
		*(*[8]byte)(to) = *(*[8]byte)(from)
		*(*[8]byte)(unsafe.Add(to, 8)) = *(*[8]byte)(unsafe.Add(from, 8))
	}
	for others, i := fields.others, 0; i < len(others); i++ {
		f := &others[i]
		copyPlain(unsafe.Add(*(*mem.Address)(unsafe.Add(bases, uintptr(f.column)*pointerBytes)), row*f.size), unsafe.Add(src, f.Offset), f.size)
	}
}

// adoptMany stores atoms in the next rows of a chunk, which has room for them. Their bundles are at
// values, step bytes apart.
//
// Safety: as for StorePlain; a pending handle has a slot.
func (s *Shard) adoptMany(c *Chunk, fields []Field, creates []handle.Handle, values mem.Address, step uintptr) {
	from := c.n
	c.storePlainRows(fields, from, values, step, len(creates))
	copy(c.extend(len(creates)), creates)
	s.tally.createAll(creates, c, from)
	s.Outcomes.Add(queue.Applied, len(creates))
	l, hide := c.base+slots.Loc(from), s.applying.staged
	for k, h := range creates {
		slot := s.space.Slot(h)
		slot.Loc = l + slots.Loc(k)
		slot.StoreBatched(uint32(h) ^ hide) // publishes loc and the row
	}
}

// adopt stores atoms in the next rows of a chunk, which has room for them.
//
// Safety: as for StorePlain; a pending handle has a slot.
func (s *Shard) adopt(c *Chunk, fields []Field, creates []queue.PendingRequest) {
	from := c.n
	for i := range fields {
		f := &fields[i]
		to := unsafe.Add(c.bases[f.column], uintptr(from)*f.size)
		if f.size == 16 { // the commonest: two numbers
			for k := range creates {
				*(*[16]byte)(unsafe.Add(to, uintptr(k)*16)) = *(*[16]byte)(unsafe.Add(creates[k].Payload().Address, f.Offset))
			}
			continue
		}
		for k := range creates {
			copyPlain(unsafe.Add(to, uintptr(k)*f.size), unsafe.Add(creates[k].Payload().Address, f.Offset), f.size)
		}
	}
	handles := c.extend(len(creates))
	for k := range creates {
		handles[k] = creates[k].Handle
	}
	s.tally.createAll(handles, c, from)
	s.Outcomes.Add(queue.Applied, len(creates))
	for k := range creates {
		creates[k].Decide(queue.Applied)
	}
	l, hide := c.base+slots.Loc(from), s.applying.staged
	for k, h := range handles {
		slot := s.space.Slot(h)
		slot.Loc = l + slots.Loc(k)
		slot.Store(uint32(h) ^ hide) // publishes loc and the row
	}
}
