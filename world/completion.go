package world

import (
	"context"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/queue"
)

// Outcome is what became of a request.
type Outcome uint32

// The outcomes of a request.
const (
	Undecided = Outcome(queue.Undecided) // not applied yet
	Applied   = Outcome(queue.Applied)   // done, by this request
	Gone      = Outcome(queue.Gone)      // too late: the entity was dead, or never was
	Missing   = Outcome(queue.Missing)   // the entity has no such component, name or parent
	Refused   = Outcome(queue.Refused)   // a limit was reached, or a name, place or child is taken
	Failed    = Outcome(queue.Failed)    // the function panicked
	Closed    = Outcome(queue.Closed)    // the world was closed before it was done: it never will be
	Broken    = Outcome(queue.Broken)    // the world broke, and it is not known whether the request was done; see ErrBroken
	Unknown   = Outcome(queue.Unknown)   // the world was closed because its log could not be written, and it is not known whether the log has the request; see ErrUnknown
)

// String returns the outcome as a lower-case word.
func (o Outcome) String() string { return queue.Outcome(o).String() }

// Completion gets the outcome of one request of a port:
//
//	var done world.Completion
//	if err := p.Notify(&done).Destroy(h); err == nil {
//		outcome, err := done.Wait(ctx)
//	}
//
// The zero value is ready. A Completion may be used again once its outcome is known. Asking
// only for the Outcome needs no memory; the first Wait or Done allocates, later ones do not.
// Outcomes are notified at the end of the refresh: when a goroutine learns that an entity was
// destroyed, its handle is stale. A Completion must not be copied after its first use.
//
// Ownership: the sender arms it; one goroutine may wait; any goroutine may call Outcome.
type Completion engine.Completion

// Outcome returns the outcome, or Undecided. Safe from any goroutine.
func (c *Completion) Outcome() Outcome { return Outcome((*engine.Completion)(c).Outcome()) }

// Done returns a channel that gets one value when the outcome of the request under way is
// known, for use in a select. The request must have been sent. The channel is the same for all
// requests of the Completion.
func (c *Completion) Done() <-chan struct{} { return (*engine.Completion)(c).Done() }

// Wait waits for the outcome. If no request is under way, it returns at once with Undecided or
// the outcome of the last request. If the context ends first, it returns Undecided and the
// context's error: the request is still under way, the next refresh applies it, and the
// Completion must not be used for another until then.
//
// Outcomes come from refreshes. When no more ticks come, for example after Scheduler.Run has
// returned, a Wait with context.Background() lasts until World.Close is called.
func (c *Completion) Wait(ctx context.Context) (Outcome, error) {
	o, err := (*engine.Completion)(c).Wait(ctx)
	return Outcome(o), err
}
