package shard

import (
	"reflect"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
)

// Outcome is what became of a request.
type Outcome uint32

// The outcomes of a request. The zero value means that it is not decided yet.
const (
	Undecided Outcome = iota
	Applied           // done
	Gone              // too late: the entity was dead, or never was
	Missing           // the entity has no such component
	Refused           // a limit of the world was reached
	Closed            // the world was closed before
	outcomes
)

// String returns the outcome as a lower-case word.
func (o Outcome) String() string {
	if o >= outcomes {
		return "unknown"
	}
	return [...]string{"undecided", "applied", "gone", "missing", "refused", "closed"}[o]
}

// Finisher is told the outcome of a request, once.
type Finisher interface{ Finish(Outcome) }

// Stream holds the payloads of one kind of request of one sender, in the order
// in which they were sent.
type Stream interface {
	// Next takes the next payload, a pointer into the stream. It is good until
	// Release.
	Next() any
	// Size is the number of bytes that a payload counts for.
	Size() int
	// Apply does what the payload asks for: to the living atom at l, or for a
	// create, where l is 0, by storing the atom of h.
	Apply(s *Shard, h handle.Handle, l Loc, payload any) Outcome
	// Release gives the taken payloads' room back.
	Release()
}

// Request is what a sender wants done to one entity.
type Request struct {
	Handle handle.Handle
	Stream Stream   // where its payload is; nil: destroy, or move
	Done   Finisher // nil if nobody waits
	Epoch  uint32   // the world's epoch before it was sent
	Create bool     // the payload is the atom of a pending handle
	Move   bool     // to another shard
	Shard  uint16   // of a create or move: where the atom goes
}

var requestBytes = int(reflect.TypeFor[Request]().Size())

// Lane carries the requests of one sender to the refresh, in order, and no more
// of them than its limits allow.
//
// Invariants: sent minus applied is within the limits. Requests are taken in
// the order in which they were sent.
//
// Ownership: one producer calls Room and Send; one consumer, the refresh, calls
// Take and Release. published and the applied counters join the two.
type Lane struct {
	requests  *Queue[Request]
	sent      uint64
	sentBytes uint64
	maxCount  uint64
	maxBytes  uint64

	published    atomic.Uint64
	applied      atomic.Uint64
	appliedBytes atomic.Uint64

	taken   uint64
	streams []Stream // those that had a payload taken
	bytes   uint64   // of what was taken since Release
}

// NewLane makes a lane that holds at most the given number of requests and
// bytes, payloads included.
func NewLane(requests, bytes int) *Lane {
	return &Lane{requests: NewQueue[Request](), maxCount: uint64(requests), maxBytes: uint64(bytes)}
}

// Room reports whether a request with so many bytes of payload fits. Producer
// only.
func (l *Lane) Room(payload int) bool {
	return l.sent-l.applied.Load() < l.maxCount &&
		l.sentBytes-l.appliedBytes.Load()+uint64(payload+requestBytes) <= l.maxBytes
}

// Fits reports whether a request with so many bytes of payload would have room if
// nothing else were under way.
func (l *Lane) Fits(payload int) bool { return uint64(payload+requestBytes) <= l.maxBytes }

// Waiting returns how many requests are sent and not yet applied. Producer
// only.
func (l *Lane) Waiting() int { return int(l.sent - l.applied.Load()) }

// Send hands a request over. Its payload must already be in the stream, and
// Room must have been asked. Producer only.
func (l *Lane) Send(r Request, payload int) {
	*l.requests.Push() = r
	l.sent++
	l.sentBytes += uint64(payload + requestBytes)
	l.published.Store(l.sent) // publishes the request and its payload
}

// Take returns the next request that was sent in epoch cut or before, or nil.
// It is good until Release. Consumer only.
func (l *Lane) Take(cut uint32) *Request {
	if l.taken == l.published.Load() {
		return nil
	}
	r := l.requests.Peek()
	if int32(r.Epoch-cut) > 0 {
		return nil
	}
	l.taken++
	return l.requests.Pop()
}

// Empty reports whether everything sent so far was taken. Consumer only.
func (l *Lane) Empty() bool { return l.taken == l.published.Load() }

// Ready returns how many requests are there to be taken. Consumer only.
func (l *Lane) Ready() int { return int(l.published.Load() - l.taken) }

// Payload takes the payload of the request that was taken last. Consumer only.
func (l *Lane) Payload(s Stream) any {
	l.bytes += uint64(s.Size())
	for _, t := range l.streams {
		if t == s {
			return s.Next()
		}
	}
	l.streams = append(l.streams, s)
	return s.Next()
}

// Release ends a refresh: all that was taken is applied, and its room is given
// back. Consumer only.
func (l *Lane) Release() {
	count := l.taken - l.applied.Load()
	if count == 0 {
		return
	}
	for _, s := range l.streams {
		s.Release()
	}
	clear(l.streams)
	l.streams = l.streams[:0]
	l.requests.Release()
	l.appliedBytes.Store(l.appliedBytes.Load() + l.bytes + count*uint64(requestBytes))
	l.bytes = 0
	l.applied.Store(l.taken) // the sender may reuse the room
}
