package engine

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Requests is the right to send requests of one kind to an extension. Those of NewRequests may
// concern any entities of any shards: the coordinator applies them, one after the other. Those of
// NewOwned and NewDirect are applied by the worker of the shard that they are for.
//
// Ownership: the extension's. Any goroutine that may use the actor may call Send.
type Requests[T any] struct {
	kind queue.Kind
	w    *World
	name string
}

// NewRequests makes a kind of request, for an extension that is being added to the idle world. The
// coordinator calls do in the step extend, for the entity that the request was sent with, if that
// entity is alive and not marked. The result of do is the outcome of the request. name is for
// panics.
func NewRequests[T any](w *World, name string, do func(h handle.Handle, v *T) queue.Outcome) *Requests[T] {
	return &Requests[T]{store.NewJoint(w.space, mem.TypeOf[T](), jointly[T]{w, name, do}), w, name}
}

// NewOwned is NewRequests for requests that concern the extension's data in an entity's shard. do
// is called with the shard that has the entity, on the goroutine of that shard, in the step apply.
func NewOwned[T any](w *World, name string, do func(shard int, h handle.Handle, v *T) queue.Outcome) *Requests[T] {
	return &Requests[T]{store.NewKind(w.space, mem.TypeOf[T](), owned[T]{name, do}), w, name}
}

// NewDirect is NewOwned for requests that concern a shard itself; see SendShard. do is called on
// the goroutine of the shard, in the step apply.
func NewDirect[T any](w *World, name string, do func(shard int, v *T) queue.Outcome) *Requests[T] {
	return &Requests[T]{store.NewKind(w.space, mem.TypeOf[T](), direct[T]{name, do}), w, name}
}

// Bytes returns how many bytes a request counts for in a queue.
func (r *Requests[T]) Bytes() uint64 { return queue.BytesOf(1, r.kind.Size()) }

// Check returns what an Actor is in this package, as Is does. It panics unless it acts on the world
// of the extension.
func (r *Requests[T]) Check(by Actor) Self { return r.w.own(by, r.name) }

// Size is Bytes in the units of a queue.
func (r *Requests[T]) Size() uint32 { return r.kind.Size() }

// Refuse ends a call that sends nothing, and returns err, the reason; err is nil if there is
// nothing to do. Each call by an actor ends in Send or Refuse. With an error the batch of a port is
// refused.
func (r *Requests[T]) Refuse(by Actor, err error) error {
	if p, ok := r.w.own(by, r.name).(*Port); ok {
		return p.turnDown(err)
	}
	return err
}

// Send sends a request of a *world.Context, *world.EntityContext or *world.Port about an entity. It
// returns world.ErrStale if a system knows that the entity is not alive, and world.ErrFull if the
// request was not accepted: then nothing was sent.
func (r *Requests[T]) Send(by Actor, h handle.Handle, v T) error { return r.send(by, h, 0, v) }

// SendN is Send of the same value about several entities: all requests are accepted, or none. A
// Completion of Port.Notify learns the outcome of the first.
func (r *Requests[T]) SendN(by Actor, hs []handle.Handle, v T) error {
	if len(hs) == 0 {
		return r.Refuse(by, nil)
	}
	self := r.w.own(by, r.name)
	q, epoch, done, err := r.w.openFor(self, r.name, hs[0], hs[1:], r.kind.Size())
	if err != nil {
		return err
	}
	for _, h := range hs {
		_, at := r.kind.Push(q, h, epoch, 0, done)
		*mem.As[T](at) = v
		done = nil
	}
	publish(self)
	return nil
}

// SendShard sends a request of NewDirect to a shard, by a *world.Port. It returns world.ErrFull if
// it was not accepted.
func (r *Requests[T]) SendShard(by Actor, shard int, v T) error {
	return r.send(by, handle.None, queue.To(shard), v)
}

// send sends a request, with the flags that say which shard it is for. After an error nothing was
// sent.
func (r *Requests[T]) send(by Actor, h handle.Handle, flags queue.Flags, v T) error {
	self := r.w.own(by, r.name)
	q, epoch, done, err := r.w.openFor(self, r.name, h, nil, r.kind.Size())
	if err != nil {
		return err
	}
	_, at := r.kind.Push(q, h, epoch, flags, done)
	*mem.As[T](at) = v
	publish(self)
	return nil
}

// jointly applies a request of NewRequests.
type jointly[T any] struct {
	w    *World
	name string
	do   func(h handle.Handle, v *T) queue.Outcome
}

// Apply calls do for an entity that is alive and not marked. The coordinator calls it in the step
// extend; a panic of do breaks the world.
func (j jointly[T]) Apply(_ *store.Shard, h handle.Handle, l slots.Loc, v mem.Pointer) queue.Outcome {
	if l == 0 || j.w.space.Marked(l) {
		return queue.Gone
	}
	j.w.engine.Extensions.Requesting(j.name)
	return j.do(h, mem.As[T](v))
}

// Describe implements store.Handler.
func (j jointly[T]) Describe() store.Description { return Describe("extension", j.name) }

// owned applies a request of NewOwned.
type owned[T any] struct {
	name string
	do   func(shard int, h handle.Handle, v *T) queue.Outcome
}

// Apply calls do, on the worker of the shard in the step apply.
func (o owned[T]) Apply(s *store.Shard, h handle.Handle, _ slots.Loc, v mem.Pointer) queue.Outcome {
	return o.do(s.ID(), h, mem.As[T](v))
}

// Describe implements store.Handler.
func (o owned[T]) Describe() store.Description { return Describe("extension", o.name) }

// direct applies a request of NewDirect.
type direct[T any] struct {
	name string
	do   func(shard int, v *T) queue.Outcome
}

// Apply calls do, on the worker of the shard in the step apply.
func (d direct[T]) Apply(s *store.Shard, _ handle.Handle, _ slots.Loc, v mem.Pointer) queue.Outcome {
	return d.do(s.ID(), mem.As[T](v))
}

// Describe implements store.Handler.
func (d direct[T]) Describe() store.Description {
	x := Describe("extension", d.name)
	x.Direct = true
	return x
}
