package queue

import (
	"reflect"
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
// A full segment gets a successor of twice the size; an emptied one is dropped.
//
// Invariants: segments are emptied in the order in which they were filled.
//
// Ownership: put, tail and saved belong to the producer, got, front and held to the
// consumer. A segment's head is written by the consumer in Release; its end and
// next by the producer, and again only while nothing behind end is published.
type Ring[T any] struct {
	tail *segment[T]
	put  uint32

	front *segment[T]
	got   uint32

	saved struct { // between Begin and Commit or Rollback
		tail *segment[T]
		put  uint32
	}
	held struct { // between Hold and Rewind
		front *segment[T]
		got   uint32
	}
	pointers bool
}

type segment[T any] struct {
	buf  []T
	head atomic.Uint32
	end  atomic.Uint32 // put when the segment was closed; written before next
	next atomic.Pointer[segment[T]]
}

// NewRing makes an empty ring.
func NewRing[T any]() *Ring[T] {
	q := new(Ring[T])
	q.init(firstSegment)
	return q
}

func (q *Ring[T]) init(first int) {
	q.pointers = mem.HasPointers(reflect.TypeFor[T]())
	q.tail = &segment[T]{buf: make([]T, first)}
	q.front = q.tail
}

func (r *segment[T]) at(i uint32) *T { return &r.buf[i&uint32(len(r.buf)-1)] }

// Push returns the place of the next element, to be filled before it is
// published. Producer only.
func (q *Ring[T]) Push() *T {
	r := q.tail
	if q.put-r.head.Load() == uint32(len(r.buf)) {
		r = q.grow(1)
	}
	p := r.at(q.put)
	q.put++
	return p
}

// PushRun returns the places of the next n elements, side by side, and how many places it passed
// over for that. Producer only.
func (q *Ring[T]) PushRun(n int) (run []T, skip uint32) {
	r := q.tail
	at, skip := r.place(q.put, n)
	if used := q.put - r.head.Load(); uint64(used)+uint64(skip)+uint64(n) > uint64(len(r.buf)) {
		r = q.grow(2 * uint32(n))
		at, skip = r.place(q.put, n)
	}
	q.put += skip + uint32(n)
	return r.buf[at : at+n], skip
}

// place returns where n elements in a row begin, from element i on, and how many are passed over.
func (r *segment[T]) place(i uint32, n int) (at int, skip uint32) {
	at = int(i & uint32(len(r.buf)-1))
	if at+n > len(r.buf) {
		return 0, uint32(len(r.buf) - at)
	}
	return at, 0
}

// grow closes the segment and returns its successor, which has room for at least least
// elements.
func (q *Ring[T]) grow(least uint32) *segment[T] {
	r := q.tail
	size := 2 * uint32(len(r.buf))
	for size < least {
		size *= 2
	}
	next := &segment[T]{buf: make([]T, size)}
	next.head.Store(q.put)
	r.end.Store(q.put)
	r.next.Store(next) // publishes end
	q.tail = next
	return next
}

// Begin remembers the present end of the queue, for Rollback. Producer only.
func (q *Ring[T]) Begin() { q.saved.tail, q.saved.put = q.tail, q.put }

// Commit forgets what Begin remembered. Producer only.
func (q *Ring[T]) Commit() { q.saved.tail = nil }

// Rollback takes back what was pushed since Begin, none of which may have been
// published. Producer only.
func (q *Ring[T]) Rollback() {
	r, put := q.saved.tail, q.saved.put
	q.saved.tail = nil
	if q.pointers {
		end := q.put
		if r != q.tail {
			end = r.end.Load()
			clear(q.tail.buf)
		}
		for i := put; i != end; i++ {
			clear(r.buf[i&uint32(len(r.buf)-1):][:1])
		}
	}
	if r != q.tail { // the consumer is not beyond put, so it has not left r
		q.tail.head.Store(put)
		r.end.Store(put)
		r.next.Store(q.tail)
	}
	q.put = put
}

// Peek returns the next element without taking it. Something must be there.
// Consumer only.
func (q *Ring[T]) Peek() *T {
	r := q.front
	for n := r.next.Load(); n != nil && r.end.Load() == q.got; n = r.next.Load() {
		q.front, r = n, n // elements popped from the old segment stay good
	}
	return r.at(q.got)
}

// Pop takes the next element. Something must be there. The element stays good
// until Release. Consumer only.
func (q *Ring[T]) Pop() *T {
	p := q.Peek()
	q.got++
	return p
}

// PopRun passes over skip elements and takes the next n, which PushRun made. It returns the first.
// Consumer only.
func (q *Ring[T]) PopRun(skip, n uint32) *T {
	q.Peek() // goes to their segment
	p := q.front.at(q.got + skip)
	q.got += skip + n
	return p
}

// Hold remembers the present beginning of the queue, for Rewind. Consumer only.
func (q *Ring[T]) Hold() { q.held.front, q.held.got = q.front, q.got }

// Rewind undoes what was popped since Hold. Consumer only.
func (q *Ring[T]) Rewind() {
	q.front, q.got = q.held.front, q.held.got
	q.held.front = nil
}

// Release gives the room of all popped elements back to the producer. Consumer
// only.
func (q *Ring[T]) Release() {
	r := q.front
	head := r.head.Load()
	if head == q.got {
		return
	}
	if q.pointers {
		for i := head; i != q.got; i++ {
			clear(r.buf[i&uint32(len(r.buf)-1):][:1])
		}
	}
	r.head.Store(q.got) // the producer may overwrite
}
