package engine

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
)

// sender is the sending side of a queue, of a port or of a shard's systems.
//
// Ownership: one goroutine at a time sends. The queue is made at the first
// request, so an idle sender is small.
type sender struct {
	w           *World
	out         *queue.Queue
	maxRequests int
	maxBytes    int
	rejected    atomic.Uint64
}

// open returns the queue, made on the first call. The sender calls it, or a load of the idle world.
func (s *sender) open() *queue.Queue {
	if s.out == nil {
		s.out = queue.New(s.w.space.Registry, s.maxRequests, s.maxBytes)
	}
	return s.out
}

// reject counts requests that were not accepted, for the sender and the world.
func (s *sender) reject(requests int) {
	s.rejected.Add(uint64(requests))
	s.w.rejected.Add(uint64(requests))
}

// refuse counts requests for which there is no room in q, and returns ErrFull or, if there can
// never be room for them, ErrTooLarge.
func (s *sender) refuse(q *queue.Queue, n int, size uint32) error {
	s.reject(n)
	err := ErrFull
	if !q.Fits(n, size) {
		err = tooLarge(uint64(n), 0, queue.BytesOf(n, size), "OutboxRequests", s.maxRequests, "OutboxBytes", s.maxBytes)
	}
	return err
}

// tooLarge returns the ErrTooLarge of requests, with the limits that they exceed. The bytes of the
// batch under way, staged, are added to the bytes of the requests.
func tooLarge(requests, staged, bytes uint64, count string, mostRequests int, size string, mostBytes int) error {
	if bytes += staged; bytes < staged {
		bytes = math.MaxUint64
	}
	return fmt.Errorf("%w: requests: %d, with %s = %d; bytes: %d, with %s = %d", ErrTooLarge, requests, count, mostRequests, bytes, size, mostBytes)
}

// Sending is a place for the caller to fill in before Done: the payload of a request that was
// accepted, or a row.
type Sending struct {
	To    mem.Pointer
	port  *Port        // the port that sends it
	queue *queue.Queue // the queue of the system that sends it, if it goes to shards
	times *mem.Type    // of a row whose times drop their clocks, as the times in a request do; or nil
}

// Done hands over what the caller has filled in: it publishes the request of a port. The refresh
// publishes the requests of systems.
func (s Sending) Done() {
	if s.port != nil {
		s.port.Send()
	}
	if s.times != nil {
		s.times.DropClocks(s.To.Address, 1)
	}
}

// timed returns the type if it has times, for the Sending of a row, whose Done drops their clocks;
// or nil.
func timed(t *mem.Type) *mem.Type {
	if t.HasTimes() {
		return t
	}
	return nil
}

// send pushes a request with a payload, for the caller to fill in. After an error nothing was
// pushed.
func (s *sender) send(k *queue.Kind, h handle.Handle) (Sending, error) {
	q := s.open()
	if !q.Room(1, k.Size()) {
		return Sending{}, s.refuse(q, 1, k.Size())
	}
	_, at := k.Push(q, h, s.w.engine.Epoch.Load(), 0, nil)
	return Sending{To: at}, nil
}

// sendBare pushes a request without a payload. After an error nothing was pushed.
func (s *sender) sendBare(b queue.Bare, h handle.Handle) error {
	q := s.open()
	if !q.Room(1, queue.BareSize) {
		return s.refuse(q, 1, queue.BareSize)
	}
	q.PushBare(b, h, s.w.engine.Epoch.Load(), nil)
	return nil
}

// Request accepts a request of an actor that can only request, for the caller to fill in; an idle
// world panics. After an error nothing was sent.
func Request(by Self, call string, k *queue.Kind, h handle.Handle) (Sending, error) {
	switch by := by.(type) {
	case *Port:
		return by.request(k, h)
	case *Context:
		by.mustRun(call)
		if !by.Alive(h) {
			return Sending{}, ErrStale
		}
		return by.out.send(k, h)
	case *EntityContext:
		by.mustRun(call)
		if !by.Alive(h) {
			return Sending{}, ErrStale
		}
		return by.c.out.send(k, h)
	}
	panic(notFor(by, call))
}

// RequestOfNone is Request for one that is about no entity.
func RequestOfNone(by Self, call string, k *queue.Kind) (Sending, error) {
	if p, ok := by.(*Port); ok {
		return p.request(k, handle.None)
	}
	return outboxOf(by, call).send(k, handle.None)
}

// outboxOf returns where a running system or function sends requests. It panics for other actors.
func outboxOf(by Self, call string) *sender {
	switch by := by.(type) {
	case *Context:
		by.mustRun(call)
		return &by.out
	case *EntityContext:
		by.mustRun(call)
		return &by.c.out
	}
	panic(notFor(by, call))
}

// RoomFor makes sure that there is room for a request to each of n shards, for Direct. After an
// error nothing may be sent, and a port's batch is refused.
func RoomFor(by Self, call string, k *queue.Kind, n int) (Sending, error) {
	p, ok := by.(*Port)
	if !ok {
		s := outboxOf(by, call)
		q := s.open()
		if !q.Room(n, k.Size()) {
			return Sending{}, s.refuse(q, n, k.Size())
		}
		return Sending{queue: q}, nil
	}
	if check.Enabled {
		p.enter()
		defer p.leave()
	}
	if err := p.refusedNow(k, n); err != nil {
		return Sending{}, err
	}
	if p.unusual() || !p.out.Room(n, k.Size()) {
		if err := p.ready(n, k.Size()); err != nil {
			return Sending{}, err
		}
	}
	return Sending{port: p}, nil
}

// Direct pushes a request to a shard, for which RoomFor has found room, and returns the address of
// its payload.
func (s *Sending) Direct(w *World, k *queue.Kind, shard int) mem.Pointer {
	q, done := s.queue, queue.Finisher(nil)
	if s.port != nil {
		q, done = s.port.out, s.port.finisher()
	}
	_, at := k.Push(q, handle.None, w.engine.Epoch.Load(), queue.To(shard), done)
	return at
}

// notFor is the panic's text for an actor that cannot do what it is asked to.
func notFor(by Self, call string) string {
	return fmt.Sprintf("world: %s by a %s, which cannot do that", call, nameOf(by))
}
