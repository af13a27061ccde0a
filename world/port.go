package world

import (
	"context"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
)

// Port is one outside sender: a goroutine outside of the tick holds it to act on the world at any
// time. Checks are answered at once; everything else is a request that the next refresh applies. It
// applies the requests of a port in the order sent, except that creates come first, requests to
// extensions such as names and relations after all others, and moves last. It applies those of
// several ports by the ports' numbers, whatever was sent first. One cut through all ports decides
// which requests were sent in time for a refresh: if one request can have caused another, the other
// is not applied by an earlier refresh. To have one request applied after another, send it when the
// outcome of the other is known, or by the same port.
//
// What a request points to, such as the elements of a slice, belongs to the world from then on: a
// sender that writes to it again changes the world outside of ticks, and a replay differs. A
// time.Time in a request, in fields and arrays, loses its reading of the monotonic clock, which a
// log has not; see time.Time.Round.
//
// Options.QueueRequests and QueueBytes limit the requests that a port has under way. A request
// beyond the limit is refused with ErrFull, and counted in Rejected, or waits for the refresh to
// make room; see Within.
//
// The handles of entities that a port creates have a home of their own, numbered after the
// shards: see World.Shards.
//
// Ownership: one goroutine at a time; several goroutines that share a port need a mutex. Open as
// many ports as there are senders: an idle port takes less than 1 KB, and costs the refresh
// nothing.
type Port engine.Port

// Number returns the port's number, by which refreshes order the ports.
func (p *Port) Number() int { return (*engine.Port)(p).Number() }

// Alive reports whether the entity is alive, at once. A dying one is alive until the refresh.
func (p *Port) Alive(h handle.Handle) bool { return (*engine.Port)(p).Alive(h) }

// Status returns what a handle stands for. It never returns Dying: only the entity's owner
// knows that the entity is marked.
func (p *Port) Status(h handle.Handle) Status { return Status((*engine.Port)(p).Status(h)) }

// Notify makes c get the outcome of the next request, and of no other; if that is a batch, of its
// first request. For a CreateN, AppendN, SetN or DestroyN, c gets Applied if everything was done,
// otherwise the first other outcome in order. If there is nothing to do, it gets Applied at once,
// or with its batch. A second Notify before that request replaces the first. If the request is
// refused there is no outcome, and c is free again. Component.Ask and Question.Ask panic after
// Notify: an Answer has a Completion of its own.
func (p *Port) Notify(c *Completion) *Port {
	return (*Port)((*engine.Port)(p).Notify((*engine.Completion)(c)))
}

// Within makes the next request, or batch, wait for room if the queue is full, until the
// context ends: then the request fails with the context's error, and was not sent. A request
// that is too large for any queue returns ErrTooLarge at once.
func (p *Port) Within(ctx context.Context) *Port { return (*Port)((*engine.Port)(p).Within(ctx)) }

// Waiting returns how many requests were sent and are not applied yet. Safe from any goroutine.
func (p *Port) Waiting() int { return (*engine.Port)(p).Waiting() }

// Rejected returns how many requests were not accepted: the queue was full (ErrFull), or ports may
// not send them now (ErrRefused). Requests that come before such a request in its batch count, too.
// Safe from any goroutine.
func (p *Port) Rejected() uint64 { return (*engine.Port)(p).Rejected() }

// Destroy requests that an entity be destroyed. It returns ErrFull if the request was not
// accepted. The outcome is Applied if this request destroyed the entity, and Gone if the entity
// was gone already.
func (p *Port) Destroy(h handle.Handle) error { return (*engine.Port)(p).Destroy(h) }

// Batch sends the requests of f in one step: either all are accepted, and applied by the same
// refresh, or nothing is sent. The batch is not sent if f returns an error, or if one of the
// requests was refused; every later request of the batch then returns the same error. The handles
// that f got are then never alive, and are stale from the next refresh on. The requests of f are
// published at once, which makes Batch the cheapest way to send many.
//
// Handles of batches that were not sent cannot be used again until the next refresh. If a port has
// as many of them as Options.QueueRequests allows, every Batch until then returns ErrFull without
// calling f.
//
// Batch undoes only requests, and nothing else that f does. Batches do not nest: a Batch within f
// panics.
func (p *Port) Batch(f func() error) error { return (*engine.Port)(p).Batch(f) }

// DestroyN requests that entities be destroyed, in the order of their handles: all requests are
// accepted, or none. A queue and its limits count a request for each handle. A Completion of Notify
// gets Applied if these requests destroyed all the entities, otherwise the first other outcome in
// their order. It returns ErrFull if the queue has no room for all, and ErrTooLarge if it can never
// have. DestroyN does not keep the slice.
func (p *Port) DestroyN(hs []handle.Handle) error { return (*engine.Port)(p).DestroyN(hs) }

// Close closes the port. Requests that were sent are still applied, and the handles in the port's
// hand go back. Closing twice is no error.
func (p *Port) Close() { (*engine.Port)(p).Close() }
