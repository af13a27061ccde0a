package queue

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/mem"
)

const (
	firstSegment = 2 // elements of a new ring: most senders send little
	firstRecords = 4 // units of a new queue
)

// Ring is a first-in first-out buffer between one producer and one consumer.
// It does not notify the consumer of new elements. The code that uses it publishes them, with
// an atomic store after Push and an atomic load before Pop. Elements are handed out in place,
// so a warm queue copies once and allocates nothing.
//
//	front ──▶ [segment 2] ──next──▶ [segment 4] ◀── tail
//	          being emptied      being filled
//
// Ring is not generic: it knows its elements by their mem.Type, and returns the addresses of their
// places. A full segment is followed by one of at least twice the size; an emptied one is dropped.
//
// Invariants: segments are emptied in the order in which they were filled.
//
// Ownership: put, tail and saved belong to the producer, got, front and held to the consumer. of,
// and a segment's buf and size, never change. A segment's head is written by the consumer in
// Release; its end and next by the producer, and again only while nothing behind end is published.
type Ring struct {
	of   *mem.Type
	tail *segment
	put  uint32

	front *segment
	got   uint32

	saved struct { // between Begin and Commit or Rollback
		tail *segment
		put  uint32
	}
	held struct { // between Hold and Rewind
		front *segment
		got   uint32
	}
}

type segment struct {
	buf  mem.Address // of size elements, a power of two
	size uint32
	head atomic.Uint32
	end  atomic.Uint32 // put when the segment was closed; written before next
	next atomic.Pointer[segment]
}

// NewRing makes an empty ring for elements of a type. The producer calls it.
func NewRing(of *mem.Type) *Ring {
	q := new(Ring)
	q.init(of, firstSegment)
	return q
}

// init makes the first segment, of so many elements.
func (q *Ring) init(of *mem.Type, first uint32) {
	q.of = of
	q.tail = q.newSegment(first)
	q.front = q.tail
}

// newSegment makes an empty segment, of so many elements.
func (q *Ring) newSegment(size uint32) *segment {
	return &segment{buf: q.of.New(int(size)), size: size}
}

// at returns the place of the i-th element that was ever pushed, which r holds. For the producer
// and the consumer.
func (q *Ring) at(r *segment, i uint32) mem.Address { return q.of.At(r.buf, int(i&(r.size-1))) }

// clear sets the elements from number from on, and before number to, to zero, if they have
// pointers. The caller is the one that may write them.
func (q *Ring) clear(r *segment, from, to uint32) {
	if q.of.Plain || from == to {
		return
	}
	first := from & (r.size - 1)
	n := min(to-from, r.size-first)
	q.of.Clear(q.of.At(r.buf, int(first)), int(n))
	q.of.Clear(r.buf, int(to-from-n)) // the part that wraps around the end
}

// Push returns the place of the next element, to be filled before it is
// published. Producer only.
func (q *Ring) Push() mem.Address {
	r := q.tail
	if q.put-r.head.Load() == r.size {
		r = q.grow(1)
	}
	p := q.at(r, q.put)
	q.put++
	return p
}

// PushRun returns the first of the places of the next n elements, which are adjacent, and how many
// places it skipped for that. Producer only.
func (q *Ring) PushRun(n int) (run mem.Address, skip uint32) {
	r := q.tail
	at, skip := r.place(q.put, n)
	if used := q.put - r.head.Load(); uint64(used)+uint64(skip)+uint64(n) > uint64(r.size) {
		r = q.grow(2 * uint32(n))
		at, skip = r.place(q.put, n)
	}
	q.put += skip + uint32(n)
	return q.of.At(r.buf, at), skip
}

// place returns where n adjacent elements begin, from element i on, and how many places are skipped
// so that they do not cross the end.
func (r *segment) place(i uint32, n int) (at int, skip uint32) {
	at = int(i & (r.size - 1))
	if at+n > int(r.size) {
		return 0, r.size - uint32(at)
	}
	return at, 0
}

// grow closes the segment and returns its successor, which has room for at least so many elements.
// Producer only.
func (q *Ring) grow(least uint32) *segment {
	r := q.tail
	size := 2 * r.size
	for size < least {
		size *= 2
	}
	next := q.newSegment(size)
	next.head.Store(q.put)
	r.end.Store(q.put)
	r.next.Store(next) // publishes end
	q.tail = next
	return next
}

// Begin remembers the present end of the queue, for Rollback. Producer only.
func (q *Ring) Begin() { q.saved.tail, q.saved.put = q.tail, q.put }

// Commit forgets what Begin remembered. Producer only.
func (q *Ring) Commit() { q.saved.tail = nil }

// Rollback takes back what was pushed since Begin, none of which may have been
// published. Producer only.
func (q *Ring) Rollback() {
	r, put := q.saved.tail, q.saved.put
	q.saved.tail = nil
	end := q.put
	if r != q.tail {
		end = r.end.Load()
		q.clear(q.tail, 0, q.tail.size)
	}
	q.clear(r, put, end)
	if r != q.tail { // the consumer is not beyond put, so it has not left r
		q.tail.head.Store(put)
		r.end.Store(put)
		r.next.Store(q.tail)
	}
	q.put = put
}

// Peek returns the next element without taking it. The ring must not be empty. Consumer only.
func (q *Ring) Peek() mem.Address {
	r := q.front
	for n := r.next.Load(); n != nil && r.end.Load() == q.got; n = r.next.Load() {
		q.front, r = n, n // elements popped from the old segment stay good
	}
	return q.at(r, q.got)
}

// Pop takes the next element. The ring must not be empty. The element stays good until Release.
// Consumer only.
func (q *Ring) Pop() mem.Address {
	p := q.Peek()
	q.got++
	return p
}

// PopRun skips skip elements and takes the next n, which PushRun made. It returns the first.
// Consumer only.
func (q *Ring) PopRun(skip, n uint32) mem.Address {
	q.Peek() // moves to their segment
	p := q.at(q.front, q.got+skip)
	q.got += skip + n
	return p
}

// Hold remembers the present beginning of the queue, for Rewind. Consumer only.
func (q *Ring) Hold() { q.held.front, q.held.got = q.front, q.got }

// Rewind undoes what was popped since Hold. Consumer only.
func (q *Ring) Rewind() {
	q.front, q.got = q.held.front, q.held.got
	q.held.front = nil
}

// Release gives the room of all popped elements back to the producer. Consumer
// only.
func (q *Ring) Release() {
	r := q.front
	head := r.head.Load()
	if head == q.got {
		return
	}
	q.clear(r, head, q.got)
	r.head.Store(q.got) // the producer may overwrite
}
