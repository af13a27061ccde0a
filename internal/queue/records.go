package queue

import "github.com/atoll-sim/atoll/internal/mem"

// unitBytes is the size of a unit: that of a request's head.
const unitBytes = 16

const (
	unitsPerLine = 64 / unitBytes
	unitsAhead   = 3 * unitsPerLine // how far ahead of the sender cache lines are prefetched
)

// unit is what records are made of: a request's head, or part of its payload.
type unit [2]uint64

var unitType = mem.TypeOf[unit]()

// records is a queue of requests. Each is a record of some units: its head and, if that has no
// pointers, its payload.
//
//	… [head][payload][payload][head][head][payload][skip]
//
// A record does not cross the end of a segment's memory: a skip says that the next record is at the
// beginning of it.
//
// Ownership: as for Queue.
type records struct {
	Ring
	stop uint32 // where the consumer goes to the next segment
}

// turn finds a place with room for a record of so many units: the beginning of the segment,
// or a larger segment. Producer only.
func (q *records) turn(units uint32) (r *segment, at uint32) {
	r = q.tail
	n, used := r.size, q.put-r.head.Load()
	if left := n - q.put&(n-1); used+left+units > n {
		r = q.grow(2 * units)
		n = r.size
	}
	if at = q.put & (n - 1); at+units > n {
		r.record(at).kind = skipKind
		q.put += n - at
		at = 0
	}
	return r, at
}

// look notes where the segment ends, as far as that is published. Consumer only.
func (q *records) look() {
	q.stop = q.got - 1 // a value that is not reached
	if r := q.front; r.next.Load() != nil {
		q.stop = r.end.Load()
	}
}

// peek returns the next request, which must have been published before look, or the end mark in its
// place: see passed. Consumer only.
func (q *records) peek() *Request { return q.front.record(q.got & (q.front.size - 1)) }

// passed reports whether r, which peek returned, is no request but the end of the segment, or a
// skip. Consumer only.
func (q *records) passed(r *Request) bool { return q.got == q.stop || r.kind == skipKind }

// seek goes to the next request, across skips and the ends of segments. Consumer only.
func (q *records) seek() *Request {
	for r := q.peek(); ; r = q.peek() {
		switch n := q.front.size; {
		case q.got == q.stop:
			q.front = q.front.next.Load() // requests taken from the old segment stay good
			q.look()
		case r.kind == skipKind:
			q.got += n - q.got&(n-1)
		default:
			return r
		}
	}
}
