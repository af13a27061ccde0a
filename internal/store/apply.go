package store

import (
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
)

// applying is what a shard knows of the requests that it applies in a refresh.
type applying struct {
	begun  int    // how many ApplyRequests has begun, while it runs
	order  uint64 // of the one that is being applied
	staged uint32 // slots.StagedBit if the refresh stages what it stores, or 0
	held   []held // destroys with outcomes that are put off
}

// ApplyCreates stores the atoms of pending handles. They are alive at once or, if staged, for
// the time being alive only to this refresh.
func (s *Shard) ApplyCreates(creates []queue.PendingRequest, staged bool) {
	s.applying.staged = 0
	if staged {
		s.applying.staged = slots.StagedBit
	}
	for len(creates) > 0 {
		n := 1 // of one kind
		for n < len(creates) && creates[n].Kind() == creates[0].Kind() {
			n++
		}
		s.space.handlers[creates[0].Kind()].(Creator).CreateAll(s, creates[:n])
		creates = creates[n:]
	}
}

// DecideCreate decides the outcome of a create. The slot of a create that was not applied
// goes back to its home.
func (s *Shard) DecideCreate(r queue.PendingRequest, o queue.Outcome) {
	if o != queue.Applied {
		s.FreeForeign(r.Handle)
	}
	s.Decide(r.Request, o)
}

// Commit makes the staged atoms of the creates alive, except those that the same refresh has
// marked.
func (s *Shard) Commit(creates []queue.PendingRequest) {
	for _, r := range creates {
		slot := s.space.Slot(r.Handle)
		if slot.Load() == uint32(r.Handle)^slots.StagedBit && !s.space.Marked(slot.Loc) {
			slot.Store(uint32(r.Handle)) // publishes loc and the row
		}
	}
}

// Apply does what a request of a joint kind asks for.
func (s *Space) Apply(r queue.PendingRequest) queue.Outcome {
	return s.handlers[r.Kind()].Apply(nil, r.Handle, s.Locate(r.Handle), r.Payload())
}

// ApplyRequests does what some of the requests of a partition ask for, which are given by
// their indexes. The first request to destroy an entity marks it; later requests find it
// gone. share is the number of the partition. If a function ended the goroutine in the middle
// of ApplyRequests, the next call goes on behind that function's request.
func (s *Shard) ApplyRequests(requests []queue.PendingRequest, indexes []uint32, share int) {
	if s.applying.begun > 0 {
		s.Decide(requests[indexes[s.applying.begun-1]].Request, queue.Failed)
	}
	for s.applying.begun < len(indexes) {
		i := indexes[s.applying.begun]
		r := requests[i]
		s.applying.begun++
		if r.Kind() == queue.MoveKind {
			s.ask(r)
			continue
		}
		s.applying.order = uint64(share)<<32 | uint64(i)
		o := s.apply(r)
		if r.Kind() == queue.DestroyKind && s.HoldDestroys {
			s.applying.held = append(s.applying.held, held{r, o == queue.Applied})
			continue
		}
		s.Decide(r.Request, o)
	}
	s.applying.begun = 0
}

// Order returns the place of the request that is being applied among all requests of its
// refresh.
func (s *Shard) Order() uint64 { return s.applying.order }

func (s *Shard) apply(r queue.PendingRequest) queue.Outcome {
	l := r.Loc()
	if l == 0 {
		if r.For() >= 0 {
			return s.space.handlers[r.Kind()].Apply(s, r.Handle, 0, r.Payload())
		}
		return queue.Gone
	}
	switch c := s.space.chunk(l); {
	case c.isMarked(l.Row()):
		return queue.Gone
	case r.Kind() == queue.DestroyKind:
		c.mark(l.Row())
		return queue.Applied
	}
	return s.space.handlers[r.Kind()].Apply(s, r.Handle, l, r.Payload())
}
