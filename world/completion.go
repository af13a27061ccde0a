package world

import (
	"context"
	"sync/atomic"

	"github.com/atoll-sim/atoll/shard"
)

// Outcome is what became of a request.
type Outcome = shard.Outcome

// The outcomes of a request.
const (
	Undecided = shard.Undecided // not applied yet
	Applied   = shard.Applied   // done, by this request
	Gone      = shard.Gone      // too late: the entity was dead, or never was
	Missing   = shard.Missing   // the entity has no such component
	Refused   = shard.Refused   // a limit of the world was reached
	Closed    = shard.Closed    // the world was closed before it was done
)

// Completion learns the outcome of one request of a port:
//
//	var done world.Completion
//	if err := p.Notify(&done).Destroy(h); err == nil {
//		outcome, err := done.Wait(ctx)
//	}
//
// The zero value is ready. It may be used again once its outcome is known; the
// first use allocates, later ones do not. Outcomes are told at the end of the
// refresh, so who learns that an entity was destroyed finds it stale. A
// Completion must not be copied after its first use.
//
// Ownership: the sender arms it; one goroutine may wait; anyone may call
// Outcome.
type Completion struct {
	state  atomic.Uint32 // an Outcome, or armed
	signal chan struct{}
}

// armed is the state between sending and outcome.
const armed = ^uint32(0)

// arm prepares for the next request.
func (c *Completion) arm() {
	if c.state.Load() == armed {
		panic("world: Completion is still waiting for an earlier request; use one for each request under way")
	}
	if c.signal == nil {
		c.signal = make(chan struct{}, 1)
	}
	select { // a signal nobody waited for
	case <-c.signal:
	default:
	}
	c.state.Store(armed)
}

// disarm is for a request that was not accepted. Who waits is woken.
func (c *Completion) disarm() { c.Finish(Undecided) }

// Finish is called by the refresh, once for each request.
func (c *Completion) Finish(o Outcome) {
	signal := c.signal
	c.state.Store(uint32(o)) // from here on the sender may use c again
	select {
	case signal <- struct{}{}:
	default:
	}
}

// Outcome returns the outcome, or Undecided. Safe from any goroutine.
func (c *Completion) Outcome() Outcome {
	if s := c.state.Load(); s != armed {
		return Outcome(s)
	}
	return Undecided
}

// Wait waits for the outcome. It returns the context's error if that ends
// first, or at once Undecided if no request is under way.
func (c *Completion) Wait(ctx context.Context) (Outcome, error) {
	for c.state.Load() == armed {
		select {
		case <-c.signal: // may be an old one: look again
		case <-ctx.Done():
			return c.Outcome(), ctx.Err()
		}
	}
	return c.Outcome(), nil
}
