package world

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/queue"
)

// Outcome is what became of a request.
type Outcome = queue.Outcome

// The outcomes of a request.
const (
	Undecided = queue.Undecided // not applied yet
	Applied   = queue.Applied   // done, by this request
	Gone      = queue.Gone      // too late: the entity was dead, or never was
	Missing   = queue.Missing   // the entity has no such component, name or parent
	Refused   = queue.Refused   // a limit was reached, or a name, place or child is taken
	Failed    = queue.Failed    // the function panicked
	Closed    = queue.Closed    // the world was closed before it was done
	Broken    = queue.Broken    // the world broke, and it is not known whether the request was done; see ErrBroken
)

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
type Completion struct {
	state  atomic.Uint32                 // an Outcome, or armed
	signal atomic.Pointer[chan struct{}] // nil until the first Wait or Done
}

// States of a Completion besides the outcomes.
const (
	armed      = ^uint32(0) // between sending and outcome
	signalling = 1 << 31    // the outcome is known and the signal is being sent
)

// outcome returns the state. While a signal is being sent it waits for the end of that.
func (c *Completion) outcome() uint32 {
	for {
		s := c.state.Load()
		if s < signalling || s == armed {
			return s
		}
		runtime.Gosched() // Finish is about to return
	}
}

// mustBeFree panics if an earlier request is under way.
func (c *Completion) mustBeFree() {
	if c.outcome() == armed {
		panic("world: Completion is still waiting for an earlier request; use one for each request under way")
	}
}

// arm prepares for the next request.
func (c *Completion) arm() {
	c.mustBeFree()
	if signal := c.signal.Load(); signal != nil {
		select { // remove a signal that was never received
		case <-*signal:
		default:
		}
	}
	c.state.Store(armed)
}

// forget resets the Completion of a request that was not accepted: there is no outcome.
func (c *Completion) forget() { c.state.Store(uint32(Undecided)) }

// disarm resets the Completion of a request that was taken back, and wakes a waiting goroutine.
func (c *Completion) disarm() { (*finisher)(c).Finish(Undecided) }

// finisher is a Completion as the refresh sees it. Its method Finish is not for users.
type finisher Completion

// Finish is called by the refresh, once for each request.
func (c *finisher) Finish(o Outcome) {
	c.state.Store(signalling | uint32(o)) // before looking for a signal, which Done stores before it looks at state
	if signal := c.signal.Load(); signal != nil {
		signalOnce(*signal)
	}
	c.state.Store(uint32(o)) // from here on the sender may use c again
}

// Outcome returns the outcome, or Undecided. Safe from any goroutine.
func (c *Completion) Outcome() Outcome {
	if s := c.state.Load(); s != armed {
		return Outcome(s &^ signalling)
	}
	return Undecided
}

// Done returns a channel that gets one value when the outcome of the request under way is
// known, for use in a select. The request must have been sent. The channel is the same for all
// requests of the Completion.
func (c *Completion) Done() <-chan struct{} {
	if signal := c.signal.Load(); signal != nil {
		return *signal
	}
	signal := make(chan struct{}, 1)
	c.signal.Store(&signal) // before looking for an outcome
	if c.outcome() != armed {
		signalOnce(signal) // Finish may have run before the signal was stored
	}
	return signal
}

// signalOnce sends a value unless one is there.
func signalOnce(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// Wait waits for the outcome. If no request is under way, it returns at once with Undecided or
// the outcome of the last request. If the context ends first, it returns Undecided and the
// context's error: the request is still under way, the next refresh applies it, and the
// Completion must not be used for another until then.
//
// Outcomes come from refreshes. When no more ticks come, for example after Scheduler.Run has
// returned, a Wait with context.Background() lasts until World.Close is called.
func (c *Completion) Wait(ctx context.Context) (Outcome, error) {
	for c.state.Load() == armed {
		select {
		case <-c.Done():
		case <-ctx.Done():
			return c.Outcome(), ctx.Err()
		}
	}
	return c.Outcome(), nil
}
