package shard

import "github.com/atoll-sim/atoll/handle"

// Routed is a request that has found the shard it concerns.
type Routed struct {
	Handle  handle.Handle
	Stream  Stream // nil: destroy
	Payload any
	Done    Finisher
}

// Inbox holds the requests that a refresh brought to a shard, in the order in
// which they apply: ports by number, then source shards; each in the order sent.
//
// Ownership: filled by the coordinator of the refresh, emptied by the shard's
// worker, with a barrier between.
type Inbox struct {
	creates []Routed
	others  []Routed
	counts  [outcomes]uint64
	decided []decision
	held    []held
	// HoldDestroys puts off the outcomes of requests to destroy, to DecideHeld.
	HoldDestroys bool
}

type decision struct {
	done Finisher
	what Outcome
}

// PutCreate adds the create of a pending handle.
func (b *Inbox) PutCreate(r Routed) { b.creates = append(b.creates, r) }

// Put adds any other request.
func (b *Inbox) Put(r Routed) { b.others = append(b.others, r) }

// Count returns how many requests ended with the outcome.
func (b *Inbox) Count(o Outcome) uint64 { return b.counts[o] }

// Decide counts the outcome of a request; who waits is told by Tell.
func (b *Inbox) Decide(done Finisher, o Outcome) {
	b.counts[o]++
	if done != nil {
		b.decided = append(b.decided, decision{done, o})
	}
}

// Tell tells the outcomes to those who wait, when all of the refresh is done:
// who hears "destroyed" finds the entity dead.
func (b *Inbox) Tell() {
	for _, d := range b.decided {
		d.done.Finish(d.what)
	}
	clear(b.decided)
	b.decided = b.decided[:0]
}

// Creates returns how many creates wait here.
func (b *Inbox) Creates() int { return len(b.creates) }

// Others returns how many other requests wait here.
func (b *Inbox) Others() int { return len(b.others) }

// ApplyCreates stores the atoms of the pending handles that were routed here.
func (s *Shard) ApplyCreates() {
	b := &s.Inbox
	for i := range b.creates {
		r := &b.creates[i]
		o := r.Stream.Apply(s, r.Handle, 0, r.Payload)
		if o != Applied {
			s.exiled = append(s.exiled, r.Handle)
		}
		b.Decide(r.Done, o)
	}
	clear(b.creates)
	b.creates = b.creates[:0]
}

// ApplyRequests does what the requests that were routed here ask for. The first
// to destroy an entity does; whoever comes later finds it gone.
func (s *Shard) ApplyRequests() {
	b := &s.Inbox
	for i := range b.others {
		r := &b.others[i]
		o := s.apply(r)
		if r.Stream == nil && b.HoldDestroys {
			b.held = append(b.held, held{r.Handle, r.Done, o == Applied})
			continue
		}
		b.Decide(r.Done, o)
	}
	clear(b.others)
	b.others = b.others[:0]
}

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
