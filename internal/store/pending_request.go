package store

// PendingRequest is a request that was taken out of its queue, on its way to the shard it
// concerns. It is good until the queue is released.
type PendingRequest struct {
	*Request
	payload Payload
	slot    *Slot // that the handle names, or nil; not of a create
}

// Payload returns where the request's payload is.
func (r PendingRequest) Payload() Payload { return r.payload }

// For returns the number of the shard a request is for if that is for no entity,
// or -1.
func (r PendingRequest) For() int {
	if r.flags&direct != 0 {
		return int(r.flags & shards)
	}
	return -1
}

// Loc returns where the atom is that the request is for, alive or staged, or 0.
func (r PendingRequest) Loc() Loc {
	if r.slot != nil && (r.slot.load()^uint32(r.Handle))&^stagedBit == 0 {
		return r.slot.loc
	}
	return 0
}

// toCome reports whether the request is for an entity that may be stored by the refresh.
func (r PendingRequest) toCome() bool {
	if r.slot == nil {
		return false
	}
	version, state := unpack(r.slot.load(), r.Handle)
	return state == StateUnused && max(version, 1) == r.Handle.Version()
}

// Drained are requests that were taken out of queues, in order.
//
// Ownership: whoever drains; then each shard's worker has its creates, and all
// may look at the others.
type Drained struct {
	Creates [][]PendingRequest // by the shard they go to
	Others  []PendingRequest
	Moves   int              // how many of the others are to move
	Joint   []PendingRequest // those for no shard
	// Cancels says that an entity may be destroyed by the refresh that creates it,
	// Calls that functions of the user's are to run.
	Cancels, Calls bool
}

// add adds a request that is not a create.
func (d *Drained) add(r PendingRequest, k *kindInfo) {
	switch {
	case k.joint:
		d.Joint = append(d.Joint, r)
		return
	case k.call:
		d.Calls = true
	case r.kind == moveKind:
		d.Moves++
	case r.kind == destroyKind && r.toCome():
		d.Cancels = true
	}
	d.Others = append(d.Others, r)
}

// Forget lets go of the requests, whose queues are about to be released.
func (d *Drained) Forget() {
	for i, all := range d.Creates {
		clear(all)
		d.Creates[i] = all[:0]
	}
	clear(d.Others)
	clear(d.Joint)
	d.Joint = d.Joint[:0]
	d.Others, d.Moves, d.Cancels, d.Calls = d.Others[:0], 0, false, false
}

// ApplyCreates stores the atoms of pending handles: staged, that is not alive yet
// to anyone but this refresh, or alive at once.
func (s *Shard) ApplyCreates(creates []PendingRequest, staged bool) {
	s.staging = 0
	if staged {
		s.staging = stagedBit
	}
	for len(creates) > 0 {
		n := 1 // of one kind
		for n < len(creates) && creates[n].kind == creates[0].kind {
			n++
		}
		s.space.kinds[creates[0].kind].handler.(Creator).CreateAll(s, creates[:n])
		creates = creates[n:]
	}
}

// DecideCreate decides the outcome of a create. The slot of one that met a limit
// goes home.
func (s *Shard) DecideCreate(r PendingRequest, o Outcome) {
	if o != Applied {
		s.freeRemote(r.Handle)
	}
	s.Decide(r, o)
}

// Commit makes the staged among the created alive that the same refresh has not
// marked.
func (s *Shard) Commit(creates []PendingRequest) {
	for _, r := range creates {
		slot := s.space.slot(r.Handle)
		if slot.load() == word(r.Handle, StateStaged) && !s.space.Marked(slot.loc) {
			slot.store(uint32(r.Handle)) // publishes loc and the row
		}
	}
}

// Apply does what a request of a joint kind asks for.
func (s *Space) Apply(r PendingRequest) Outcome {
	return s.kinds[r.kind].handler.Apply(nil, r.Handle, s.Locate(r.Handle), r.payload)
}

// ApplyRequests does what some of the other requests, which are given by their
// indexes, ask for. The first to destroy an entity does; whoever comes later finds
// it gone. partition is the number of the partition that they are of. If it
// was left in the middle, by a function that ended its goroutine, it goes on behind
// that.
func (s *Shard) ApplyRequests(requests []PendingRequest, indexes []uint32, share int) {
	if s.applying > 0 {
		s.Decide(requests[indexes[s.applying-1]], Failed)
	}
	for s.applying < len(indexes) {
		i := indexes[s.applying]
		r := requests[i]
		s.applying++
		if r.kind == moveKind {
			s.ask(r)
			continue
		}
		s.order = uint64(share)<<32 | uint64(i)
		o := s.apply(r)
		if r.kind == destroyKind && s.HoldDestroys {
			s.held = append(s.held, held{r, o == Applied})
			continue
		}
		s.Decide(r, o)
	}
	s.applying = 0
}

// Order returns the place of the request that is being applied among all of its
// refresh.
func (s *Shard) Order() uint64 { return s.order }

func (s *Shard) apply(r PendingRequest) Outcome {
	l := r.Loc()
	if l == 0 {
		if r.flags&direct != 0 {
			return s.space.kinds[r.kind].handler.Apply(s, r.Handle, 0, r.payload)
		}
		return Gone
	}
	switch c := s.space.chunk(l); {
	case c.isMarked(l.Row()):
		return Gone
	case r.kind == destroyKind:
		c.mark(l.Row())
		return Applied
	}
	return s.space.kinds[r.kind].handler.Apply(s, r.Handle, l, r.payload)
}
