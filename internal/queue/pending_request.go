package queue

import (
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
)

// PendingRequest is a request that was taken out of its queue, on its way to the shard it
// concerns. It is good until the queue is released.
//
// It has four fields because the compiler keeps no more than that in registers: with a fifth, a
// refresh of single requests took two thirds longer.
type PendingRequest struct {
	*Request
	payload mem.Pointer // of many, that of the first in the record
	slot    *slots.Slot // the one that the handle names, or nil; not set for a create, nor for many
	of      span        // of many: which requests of the record; zero for a single one
}

// Payload returns where the payload of a single request is.
func (r PendingRequest) Payload() mem.Pointer { return r.payload }

// Loc returns the location of the atom that the request is for, if it is alive or staged, or 0. For
// a refresh, before atoms migrate.
func (r PendingRequest) Loc() slots.Loc {
	if r.slot != nil {
		return r.slot.LocStaged(r.Handle)
	}
	return 0
}

// toCome reports whether the request is for an entity that this refresh may still create.
func (r PendingRequest) toCome() bool { return r.slot != nil && r.slot.ToCome(r.Handle) }

// Drained are requests that were taken out of queues, in order.
//
// Ownership: the worker that drains; then the worker of each shard has the creates of that
// shard, and all may read the others.
type Drained struct {
	Creates [][]PendingRequest // by the shard they go to
	Others  []PendingRequest
	Count   int              // of Others, counting each of many
	Moves   int              // how many of Others are requests to migrate
	Joint   []PendingRequest // those of joint kinds; see Registry.SetJoint
	Failed  int              // how many failed before: see Request.Fail
	Keep    bool             // Drain also appends to Kept
	Kept    []PendingRequest // in the order in which they were sent; a record of many is one
	// Transacts says that some of Joint are transactions.
	Transacts bool
	// Lasts says that some of Joint are of kinds that are applied last; see Registry.SetLast.
	Lasts bool
	// Cancels says that the refresh may destroy an entity that it creates. Calls says that
	// functions of the user will run.
	Cancels, Calls bool
}

// add adds a request that is not a create, and notes what it means for the refresh.
func (d *Drained) add(r PendingRequest, k *kindInfo) {
	switch {
	case k.joint:
		d.Joint = append(d.Joint, r)
		d.Transacts, d.Lasts = d.Transacts || k.call, d.Lasts || k.last
		return
	case k.call:
		d.Calls = true
	case r.kind == MoveKind:
		d.Moves++
	case r.kind == DestroyKind && r.toCome():
		d.Cancels = true
	}
	d.Others = append(d.Others, r)
	d.Count++
}

// Forget drops the requests, in the step release: their queues are about to be released.
func (d *Drained) Forget() {
	for i, all := range d.Creates {
		clear(all)
		d.Creates[i] = all[:0]
	}
	clear(d.Others)
	clear(d.Joint)
	clear(d.Kept)
	d.Joint, d.Kept = d.Joint[:0], d.Kept[:0]
	d.Others, d.Count, d.Moves, d.Failed, d.Cancels, d.Calls, d.Transacts, d.Lasts = d.Others[:0], 0, 0, 0, false, false, false, false
}
