package shard

import (
	"reflect"
	"sync/atomic"
)

const (
	firstRing    = 2 // elements of a new queue: most senders send little
	firstRecords = 4 // units of a new lane
)

// Queue is a first-in first-out buffer between one producer and one consumer.
// It does not tell the consumer when something is there: whoever embeds it
// publishes that, with an atomic store after Push and an atomic load before
// Pop. Elements are handed out in place, so a warm queue copies once and
// allocates nothing.
//
//	front ──▶ [ring 2] ──next──▶ [ring 4] ◀── tail
//	          being emptied      being filled
//
// A full ring gets a successor of twice the size; an emptied one is dropped.
//
// Invariants: rings are emptied in the order in which they were filled.
//
// Ownership: put, tail and saved belong to the producer, got, front and held to the
// consumer. A ring's head is written by the consumer in Release; its end and
// next by the producer, and again only while nothing behind end is published.
type Queue[T any] struct {
	tail *ring[T]
	put  uint32

	front *ring[T]
	got   uint32

	saved struct { // between Begin and Commit or Rollback
		tail *ring[T]
		put  uint32
	}
	held struct { // between Hold and Rewind
		front *ring[T]
		got   uint32
	}
	pointers bool
}

type ring[T any] struct {
	buf  []T
	head atomic.Uint32
	end  atomic.Uint32 // put when the ring was closed; written before next
	next atomic.Pointer[ring[T]]
}

// NewQueue makes an empty queue.
func NewQueue[T any]() *Queue[T] {
	q := new(Queue[T])
	q.init(firstRing)
	return q
}

func (q *Queue[T]) init(first int) {
	q.pointers = HasPointers(reflect.TypeFor[T]())
	q.tail = &ring[T]{buf: make([]T, first)}
	q.front = q.tail
}

func (r *ring[T]) at(i uint32) *T { return &r.buf[i&uint32(len(r.buf)-1)] }

// Push returns the place of the next element, to be filled before it is
// published. Producer only.
func (q *Queue[T]) Push() *T {
	r := q.tail
	if q.put-r.head.Load() == uint32(len(r.buf)) {
		r = q.grow(1)
	}
	p := r.at(q.put)
	q.put++
	return p
}

// grow closes the ring and returns its successor, which has room for so many
// elements at least.
func (q *Queue[T]) grow(least uint32) *ring[T] {
	r := q.tail
	size := 2 * uint32(len(r.buf))
	for size < least {
		size *= 2
	}
	next := &ring[T]{buf: make([]T, size)}
	next.head.Store(q.put)
	r.end.Store(q.put)
	r.next.Store(next) // publishes end
	q.tail = next
	return next
}

// Begin remembers the present end of the queue, for Rollback. Producer only.
func (q *Queue[T]) Begin() { q.saved.tail, q.saved.put = q.tail, q.put }

// Commit forgets what Begin remembered. Producer only.
func (q *Queue[T]) Commit() { q.saved.tail = nil }

// Rollback takes back what was pushed since Begin, none of which may have been
// published. Producer only.
func (q *Queue[T]) Rollback() {
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
func (q *Queue[T]) Peek() *T {
	r := q.front
	for n := r.next.Load(); n != nil && r.end.Load() == q.got; n = r.next.Load() {
		q.front, r = n, n // what was popped from the old ring stays good
	}
	return r.at(q.got)
}

// Pop takes the next element. Something must be there. The element stays good
// until Release. Consumer only.
func (q *Queue[T]) Pop() *T {
	p := q.Peek()
	q.got++
	return p
}

// Hold remembers the present beginning of the queue, for Rewind. Consumer only.
func (q *Queue[T]) Hold() { q.held.front, q.held.got = q.front, q.got }

// Rewind undoes what was popped since Hold. Consumer only.
func (q *Queue[T]) Rewind() {
	q.front, q.got = q.held.front, q.held.got
	q.held.front = nil
}

// Release gives the room of all popped elements back to the producer. Consumer
// only.
func (q *Queue[T]) Release() {
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
