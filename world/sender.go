package world

import (
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
)

// sender is the sending side of a lane, of a port or of a shard's systems: one
// lane for the order, and beside it one typed stream of payloads for each kind
// of request that was ever sent.
//
// Ownership: one goroutine at a time sends. The lane is made at the first
// request, so an idle sender is small.
type sender struct {
	w           *World
	lane        *shard.Lane
	streams     []shard.Stream // by kind; nil until used
	maxRequests int
	maxBytes    int
	rejected    uint64
}

// kind is one kind of request that has a payload: its number and the bytes that
// a payload counts for.
type kind struct {
	number int
	bytes  int
	joint  bool // of an extension, which the coordinator applies
}

func newKind[T any](w *World) kind {
	w.kinds++
	return kind{number: w.kinds - 1, bytes: int(reflect.TypeFor[T]().Size())}
}

// applier is what a kind of request does at the refresh: a component is set, a
// bundle stored, a message delivered.
type applier[T any] interface {
	apply(s *shard.Shard, h handle.Handle, l shard.Loc, v *T) shard.Outcome
}

// stream is the payloads of one kind of one sender.
type stream[T any] struct {
	queue  *shard.Queue[T]
	target applier[T]
	bytes  int
}

func (s *stream[T]) Next() any { return s.queue.Pop() }
func (s *stream[T]) Size() int { return s.bytes }
func (s *stream[T]) Release()  { s.queue.Release() }

func (s *stream[T]) Apply(sh *shard.Shard, h handle.Handle, l shard.Loc, payload any) shard.Outcome {
	return s.target.apply(sh, h, l, payload.(*T))
}

// room makes sure that a request with so many bytes of payload can be sent.
func (s *sender) room(payload int) error {
	if s.lane == nil {
		s.lane = shard.NewLane(s.maxRequests, s.maxBytes)
	}
	if !s.lane.Room(payload) {
		s.rejected++
		s.w.rejected.Inc()
		if !s.lane.Fits(payload) {
			return fmt.Errorf("%w, and will be: a request of %d bytes is more than a lane of %d ever takes; raise LaneBytes, or for systems OutboxBytes", ErrFull, payload, s.maxBytes)
		}
		return ErrFull
	}
	return nil
}

// send hands over a request with a payload of the given kind.
func send[T any](s *sender, k kind, target applier[T], r shard.Request, v T) error {
	if err := s.room(k.bytes); err != nil {
		return err
	}
	push(s, k, target, r, v)
	return nil
}

// push is send when there is known to be room.
func push[T any](s *sender, k kind, target applier[T], r shard.Request, v T) {
	for len(s.streams) <= k.number {
		s.streams = append(s.streams, nil)
	}
	st, ok := s.streams[k.number].(*stream[T])
	if !ok {
		st = &stream[T]{queue: shard.NewQueue[T](), target: target, bytes: k.bytes}
		s.streams[k.number] = st
	}
	*st.queue.Push() = v
	r.Stream, r.Epoch, r.Joint = st, s.w.epoch.Load(), k.joint
	s.lane.Send(r, k.bytes)
}

// sendBare hands over a request without a payload.
func (s *sender) sendBare(r shard.Request) error {
	if err := s.room(0); err != nil {
		return err
	}
	r.Epoch = s.w.epoch.Load()
	s.lane.Send(r, 0)
	return nil
}
