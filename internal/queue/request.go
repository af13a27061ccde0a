package queue

import (
	"fmt"
	"math"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Request asks for one thing to be done to one entity. In a queue it is a head of 16 bytes,
// followed by the payload.
//
//	handle  8 bytes
//	mark    4 bytes   the epoch in which it was sent; when taken, the outcome
//	kind    2 bytes   0: destroy, 1: move; a bit says that there are many
//	flags   2 bytes   four flags, and a shard's number in 12 bits
//
// Ownership: the sender's until it is published, then the refresh's: first that of the
// worker that reads its partition, then that of the shard it is for.
type Request struct {
	Handle handle.Handle
	mark   uint32
	kind   uint16
	flags  Flags
}

// Flags are the properties of a request besides its kind.
type Flags uint16

// The flags of a request.
const (
	Create   Flags = 1 << (12 + iota) // the payload is the atom of a pending handle; see Place
	notify                            // its sender waits for the outcome
	together                          // taken together with the one before it
	Direct                            // it is for a shard itself, not for an entity
	Shards   Flags = 1<<12 - 1        // of a create or move: the shard that the atom goes to; of a direct one: the shard it is for
)

// To returns the flags of a request for a shard itself.
func To(shard int) Flags { return Direct | Flags(shard) }

// Place says which shard a create goes to, by number. Sender only.
func (r *Request) Place(shard int) { r.flags |= Flags(shard) }

// Kind returns the number of the request's kind.
func (r *Request) Kind() int { return int(r.kind &^ many) }

// Flags returns the properties of the request besides its kind, without those that concern only its
// sender and its queue.
func (r *Request) Flags() Flags { return r.flags &^ (notify | together) }

// IsCreate reports whether the request is to store the atom of a pending handle.
func (r *Request) IsCreate() bool { return r.flags&Create != 0 }

// Shard returns the number of the shard that the atom of a create or a move goes to.
func (r *Request) Shard() int { return int(r.flags & Shards) }

// For returns the number of the shard that a request is for, or -1 if it is for an entity.
func (r *Request) For() int {
	if r.flags&Direct != 0 {
		return int(r.flags & Shards)
	}
	return -1
}

// Awaited reports whether the sender waits for the outcome.
func (r *Request) Awaited() bool { return r.flags&notify != 0 }

// Decide sets the outcome, if the sender waits for it; the queue notifies the sender.
func (r *Request) Decide(o Outcome) {
	if r.flags&notify != 0 { // otherwise do not write: the sender's cache line stays valid
		r.mark = uint32(o)
	}
}

// Kind is a kind of request with a value of some type as payload: the right to send such requests.
// Immutable, but for Refused.
type Kind struct {
	// Refused is the number of reasons for which ports may not send such requests now. Any
	// goroutine, by atomic operations.
	Refused int32

	number uint16
	plain  bool   // payloads have no pointers: they are in the record
	units  uint32 // of a record in the queue
	size   uint32 // units that count against the queue's limit
	of     *mem.Type
}

// Number returns the kind's number.
func (k *Kind) Number() int { return int(k.number) }

// Type returns the type of the payloads.
func (k *Kind) Type() *mem.Type { return k.of }

// Registry numbers the kinds of requests of a world, and says how their requests are stored in a
// queue.
//
// Ownership: changed while the world is idle; read by refreshes.
type Registry struct {
	slots slots.Lookup
	kinds []kindInfo
}

// kindInfo is what a queue needs to know about a kind.
type kindInfo struct {
	units uint32
	size  uint32
	bytes uintptr // of a payload
	plain bool
	times bool  // payloads have a time.Time; see mem.Type.DropClocks
	call  bool  // runs a function of the user
	joint bool  // may concern entities of several shards
	last  bool  // joint, and applied after those that are not
	kind  *Kind // nil if the kind has no payload
}

// The kinds without a payload, which every Registry has.
const (
	DestroyKind = 0
	MoveKind    = 1
	ownKinds    = 2
	skipKind    = math.MaxUint16 // no request: the next record is at the beginning of the ring
	doneKind    = skipKind       // of the stream of Finishers
)

// NewRegistry returns a Registry with the kinds that have no payload, for requests about the
// entities that l finds.
func NewRegistry(l slots.Lookup) *Registry {
	return &Registry{slots: l, kinds: []kindInfo{
		DestroyKind: {units: 1, size: BareSize, plain: true},
		MoveKind:    {units: 1, size: BareSize, plain: true},
	}}
}

// Len returns the number of kinds.
func (x *Registry) Len() int { return len(x.kinds) }

// Size returns how many units a request of a kind counts for in a queue.
func (x *Registry) Size(kind int) uint32 { return x.kinds[kind].size }

// TypeOf returns the type of the payloads of a kind, or nil if it has none.
func (x *Registry) TypeOf(kind int) *mem.Type {
	if k := x.kinds[kind].kind; k != nil {
		return k.of
	}
	return nil
}

// Push pushes a request of the kind with a number. It returns the payload, to be filled in.
// Producer only.
func (x *Registry) Push(q *Queue, kind int, flags Flags, h handle.Handle, epoch uint32) mem.Pointer {
	if k := x.kinds[kind].kind; k != nil {
		_, at := k.Push(q, h, epoch, flags, nil)
		return at
	}
	q.PushBare(Bare{uint16(kind), flags}, h, epoch, nil)
	return mem.Pointer{}
}

// Left returns how many more kinds there may be.
func (x *Registry) Left() int { return many - 1 - len(x.kinds) }

// NewKind makes a kind of request with payloads of a type. The world must be idle. It panics, and
// makes none, if there are too many.
func NewKind(x *Registry, of *mem.Type) Kind {
	n := len(x.kinds)
	if x.Left() == 0 {
		panic(fmt.Sprintf("world: a kind of request is one more than the %d that a world can have besides its own; register fewer components, bundles, messages and functions", many-1-ownKinds))
	}
	k := Kind{number: uint16(n), units: 1, size: unitsOf(of.Size), plain: of.Plain, of: of}
	if k.plain {
		k.units = k.size
	}
	x.kinds = append(x.kinds, kindInfo{units: k.units, size: k.size, bytes: of.Size, plain: k.plain, times: of.HasTimes(), kind: &k})
	return k
}

// SetCall says that requests of a kind run a function of the user, which may end its goroutine. The
// world must be idle.
func (x *Registry) SetCall(kind int) { x.kinds[kind].call = true }

// SetJoint says that requests of a kind may concern any entities, of any shards: the coordinator
// applies them. The world must be idle.
func (x *Registry) SetJoint(kind int) { x.kinds[kind].joint = true }

// SetLast says that requests of a joint kind are applied when all others are. The world must be idle.
func (x *Registry) SetLast(kind int) { x.kinds[kind].last = true }

// IsLast reports whether requests of a kind are applied when all others are.
func (x *Registry) IsLast(kind int) bool { return x.kinds[kind].last }

// SizeOf returns how many units a request with a payload of a type counts for in a queue.
func SizeOf(payload *mem.Type) uint32 { return unitsOf(payload.Size) }

// unitsOf returns the number of units of a record with a payload of that size.
func unitsOf(payload uintptr) uint32 {
	return 1 + uint32((payload+unitBytes-1)/unitBytes)
}
