package world

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
)

// sender is the sending side of a lane, of a port or of a shard's systems.
//
// Ownership: one goroutine at a time sends. The lane is made at the first
// request, so an idle sender is small.
type sender struct {
	w           *World
	lane        *shard.Lane
	maxRequests int
	maxBytes    int
	rejected    uint64
}

// open returns the lane, made when first asked for.
func (s *sender) open() *shard.Lane {
	if s.lane == nil {
		s.lane = shard.NewLane(s.w.space, s.maxRequests, s.maxBytes)
	}
	return s.lane
}

// full counts requests that were not accepted.
func (s *sender) full(requests int) error {
	s.rejected += uint64(requests)
	s.w.rejected.Add(uint64(requests))
	return ErrFull
}

// refuse counts a request for which there is no room, and says whether there ever
// is.
func (s *sender) refuse(l *shard.Lane, weight uint32) error {
	err := s.full(1)
	if !l.Fits(1, weight) {
		err = ErrTooLarge
	}
	return err
}

// send hands over a request with a payload.
func send[T any](s *sender, k *shard.Kind[T], h handle.Handle, done shard.Finisher, v T) error {
	l := s.open()
	if !l.Room(1, k.Weight()) {
		return s.refuse(l, k.Weight())
	}
	_, at := k.Push(l, h, s.w.epoch.Load(), 0, done)
	*at = v
	l.Publish()
	return nil
}

// sendDestroy hands over a request to destroy.
func (s *sender) sendDestroy(h handle.Handle, done shard.Finisher) error {
	l := s.open()
	if !l.Room(1, shard.DestroyWeight) {
		return s.refuse(l, shard.DestroyWeight)
	}
	l.PushDestroy(h, s.w.epoch.Load(), done)
	l.Publish()
	return nil
}
