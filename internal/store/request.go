package store

import (
	"fmt"
	"math"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Request is what a sender wants done to one entity. In a queue it is a head of 16 bytes,
// and the payload behind it.
//
//	handle  8 bytes
//	mark    4 bytes   the epoch in which it was sent; when taken, the outcome
//	kind    2 bytes   0: destroy, 1: move
//	flags   2 bytes   four flags, and a shard's number in 12 bits
//
// Ownership: the sender's until it is published, then the refresh's: first that of the
// worker that reads its partition, then that of the shard it is for.
type Request struct {
	Handle handle.Handle
	mark   uint32
	kind   uint16
	flags  RequestFlags
}

// RequestFlags says what a request is in addition to its kind.
type RequestFlags uint16

// What a request may be.
const (
	Create RequestFlags = 1 << (12 + iota) // the payload is the atom of a pending handle; see Place
	notify                                 // somebody waits for the outcome
	joined                                 // taken together with the one before it
	direct                                 // for a shard itself, not for an entity
	shards RequestFlags = 1<<12 - 1        // of a create or move: where the atom goes; of a direct one: the shard it is for
)

// To returns the flags of a request for a shard itself.
func To(shard int) RequestFlags { return direct | RequestFlags(shard) }

// Place says which shard a create goes to, by number. Sender only.
func (r *Request) Place(shard int) { r.flags |= RequestFlags(shard) }

// Handler does what a kind of request asks for, to the living atom at l. For a create l is 0,
// and it stores the atom of h.
type Handler interface {
	Apply(s *Shard, h handle.Handle, l slots.Loc, p mem.Pointer) Outcome
}

// Creator is the Handler of creates.
type Creator interface {
	// CreateAll stores the atoms of creates of its kind, and decides their
	// outcomes.
	CreateAll(s *Shard, creates []PendingRequest)
}

// Kind is a kind of request with a T as payload: the right to send such requests.
// Immutable.
type Kind[T any] struct {
	number uint16
	plain  bool   // T has no pointers: it is in the record
	units  uint32 // of a record in the queue
	size   uint32 // units that count against the queue's limit
}

// Number returns the kind's number.
func (k Kind[T]) Number() uint16 { return k.number }

// kindInfo is what the refresh knows of a kind.
type kindInfo struct {
	handler Handler
	units   uint32
	size    uint32
	plain   bool
	call    bool // runs a function of the user's
	joint   bool // may concern entities of several shards
	any     anyKind
}

const (
	destroyKind = 0              // has no payload
	moveKind    = 1              // nor has this
	ownKinds    = 2              // those two, which every space has
	skipKind    = math.MaxUint16 // no request: the record is in the ring's next round
	doneKind    = skipKind       // of the stream of Finishers
)

// NewKind makes a kind of request in a space. The world must be idle.
func NewKind[T any](s *Space, a Handler) Kind[T] {
	n := len(s.kinds)
	if n == skipKind {
		panic(fmt.Sprintf("world: a kind of request is one more than the %d a world can have beside its own", skipKind-ownKinds))
	}
	t := reflect.TypeFor[T]()
	k := Kind[T]{number: uint16(n), units: 1, size: unitsOf(t.Size()), plain: !mem.HasPointers(t)}
	if k.plain {
		k.units = k.size
	}
	s.kinds = append(s.kinds, kindInfo{handler: a, units: k.units, size: k.size, plain: k.plain, any: k})
	return k
}

// NewCall is NewKind for requests that run a function of the user's, which may end
// its goroutine.
func NewCall[T any](s *Space, a Handler) Kind[T] {
	k := NewKind[T](s, a)
	s.kinds[k.number].call = true
	return k
}

// NewJoint is NewKind for requests that may concern any entities, of any shards. Space.Apply
// applies them one by one, with a nil shard.
func NewJoint[T any](s *Space, a Handler) Kind[T] {
	k := NewKind[T](s, a)
	s.kinds[k.number].joint = true
	return k
}

// unitsOf returns the number of units of a record with a payload of that size.
func unitsOf(payload uintptr) uint32 {
	return 1 + uint32((payload+unitBytes-1)/unitBytes)
}
