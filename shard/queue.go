package shard

import (
	"reflect"
	"sync/atomic"
)

const firstRing = 8

// Queue is a first-in first-out buffer between one producer and one consumer.
// It does not tell the consumer when something is there: whoever embeds it
// publishes that, with an atomic store after Push and an atomic load before
// Pop. Elements are handed out in place, so a warm queue copies once and
// allocates nothing.
//
//	front ──▶ [ring 8] ──next──▶ [ring 16] ◀── tail
//	          being emptied      being filled
//
// A full ring gets a successor of twice the size; an emptied one is dropped.
//
// Invariants: rings are emptied in the order in which they were filled.
//
// Ownership: put and tail belong to the producer, got and front to the
// consumer. A ring's head is written by the consumer in Release, its next by
// the producer once.
type Queue[T any] struct {
	tail *ring[T]
	put  uint32

	front *ring[T]
	got   uint32

	pointers bool
}

type ring[T any] struct {
	buf  []T
	end  uint32 // put when the ring was closed; written before next
	head atomic.Uint32
	next atomic.Pointer[ring[T]]
}

// NewQueue makes an empty queue.
func NewQueue[T any]() *Queue[T] {
	q := &Queue[T]{pointers: HasPointers(reflect.TypeFor[T]())}
	q.tail = &ring[T]{buf: make([]T, firstRing)}
	q.front = q.tail
	return q
}

// Push returns the place of the next element, to be filled before it is
// published. Producer only.
func (q *Queue[T]) Push() *T {
	r := q.tail
	if q.put-r.head.Load() == uint32(len(r.buf)) {
		next := &ring[T]{buf: make([]T, 2*len(r.buf))}
		next.head.Store(q.put)
		r.end = q.put
		r.next.Store(next) // publishes end
		q.tail, r = next, next
	}
	p := &r.buf[q.put&uint32(len(r.buf)-1)]
	q.put++
	return p
}

// Peek returns the next element without taking it. Something must be there.
// Consumer only.
func (q *Queue[T]) Peek() *T {
	r := q.front
	for n := r.next.Load(); n != nil && r.end == q.got; n = r.next.Load() {
		q.front, r = n, n // what was popped from the old ring stays good
	}
	return &r.buf[q.got&uint32(len(r.buf)-1)]
}

// Pop takes the next element. Something must be there. The element stays good
// until Release. Consumer only.
func (q *Queue[T]) Pop() *T {
	p := q.Peek()
	q.got++
	return p
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
