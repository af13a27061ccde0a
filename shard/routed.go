package shard

import "github.com/atoll-sim/atoll/handle"

// Routed is a request that was read from its lane, on its way to the shard it
// concerns.
type Routed struct {
	Handle  handle.Handle
	Stream  Stream // nil: destroy, or move
	Payload any
	Done    Finisher
	Move    bool
	To      uint16 // of a move: where to
}

// ApplyCreates stores the atoms of pending handles.
func (s *Shard) ApplyCreates(creates []Routed) {
	for i := range creates {
		r := &creates[i]
		o := r.Stream.Apply(s, r.Handle, 0, r.Payload)
		if o != Applied {
			s.exiled = append(s.exiled, r.Handle)
		}
		s.Decide(r.Done, o)
	}
}

// ApplyRequests does what some of the other requests, which are given by their
// indexes, ask for. The first to destroy an entity does; whoever comes later finds
// it gone. share is the number of the share of the sources that they are of.
func (s *Shard) ApplyRequests(requests []Routed, indexes []uint32, share int) {
	for _, i := range indexes {
		r := &requests[i]
		if r.Move {
			s.ask(r)
			continue
		}
		s.order = uint64(share)<<32 | uint64(i)
		o := s.apply(r)
		if r.Stream == nil && s.HoldDestroys {
			s.held = append(s.held, held{r.Handle, r.Done, o == Applied})
			continue
		}
		s.Decide(r.Done, o)
	}
}

// Order returns the place of the request that is being applied among all of its
// refresh.
func (s *Shard) Order() uint64 { return s.order }

func (s *Shard) apply(r *Routed) Outcome {
	l := s.space.Locate(r.Handle)
	if l == 0 || s.space.Marked(l) {
		return Gone
	}
	if r.Stream == nil {
		s.space.Mark(l)
		return Applied
	}
	return r.Stream.Apply(s, r.Handle, l, r.Payload)
}
