package world

import (
	"fmt"
	"math"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
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
	rejected    uint64
}

// open returns the queue, made when first asked for.
func (s *sender) open() *queue.Queue {
	if s.out == nil {
		s.out = queue.New(s.w.space.Registry, s.maxRequests, s.maxBytes)
	}
	return s.out
}

// full counts requests that were not accepted.
func (s *sender) full(requests int) error {
	s.rejected += uint64(requests)
	s.w.rejected.Add(uint64(requests))
	return ErrFull
}

// refuse counts requests for which there is no room, and returns whether there can ever be room
// for them.
func (s *sender) refuse(l *queue.Queue, n int, weight uint32) error {
	err := s.full(n)
	if !l.Fits(n, weight) {
		err = tooLarge(uint64(n), 0, queue.BytesOf(n, weight), "OutboxRequests", s.maxRequests, "OutboxBytes", s.maxBytes)
	}
	return err
}

// tooLarge returns the ErrTooLarge of requests, with the limits that they exceed. staged bytes of
// the batch under way come to theirs.
func tooLarge(requests, staged, bytes uint64, count string, mostRequests int, size string, mostBytes int) error {
	if bytes += staged; bytes < staged {
		bytes = math.MaxUint64
	}
	return fmt.Errorf("%w: requests: %d, with %s = %d; bytes: %d, with %s = %d", ErrTooLarge, requests, count, mostRequests, bytes, size, mostBytes)
}

// send hands over a request with a payload.
func send[T any](s *sender, k *queue.Kind[T], h handle.Handle, done queue.Finisher, v T) error {
	l := s.open()
	if !l.Room(1, k.Size()) {
		return s.refuse(l, 1, k.Size())
	}
	_, at := k.Push(l, h, s.w.epoch.Load(), 0, done)
	*at = v
	l.Publish()
	return nil
}

// sendBare hands over a request without a payload.
func (s *sender) sendBare(b queue.Bare, h handle.Handle) error {
	l := s.open()
	if !l.Room(1, queue.BareSize) {
		return s.refuse(l, 1, queue.BareSize)
	}
	l.PushBare(b, h, s.w.epoch.Load(), nil)
	l.Publish()
	return nil
}

// request sends a request of an actor that can only request.
func request[T any](by Actor, call string, k *queue.Kind[T], h handle.Handle, v T) error {
	switch by := by.(type) {
	case *Port:
		return portSend(by, k, h, v)
	case *Context:
		return contextSend(by, call, k, h, v)
	case *EntityContext:
		return selfSend(by, call, k, h, v)
	}
	panic(embedded(by, call))
}

// sendDirect sends a request to each of a run of shards: all are accepted, or none.
func sendDirect[T any](s *sender, k *queue.Kind[T], from, to int, v T) error {
	l := s.open()
	if !l.Room(to-from, k.Size()) {
		return s.refuse(l, to-from, k.Size())
	}
	epoch := s.w.epoch.Load()
	for i := from; i < to; i++ {
		_, at := k.Push(l, handle.None, epoch, queue.To(i), nil)
		*at = v
	}
	l.Publish()
	return nil
}

// portDirect is sendDirect by a port.
func portDirect[T any](p *Port, k *queue.Kind[T], from, to int, v T) error {
	if check.Enabled {
		p.enter()
		defer p.leave()
	}
	if p.unusual() || !p.out.Room(to-from, k.Size()) {
		if err := p.ready(to-from, k.Size()); err != nil {
			return err
		}
	}
	epoch := p.w.epoch.Load()
	for i := from; i < to; i++ {
		_, at := k.Push(p.out, handle.None, epoch, queue.To(i), p.finisher())
		*at = v
	}
	p.send()
	return nil
}
