package transit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/atoll-sim/atoll/world"
)

// Cut calls read while nothing arrives in some worlds of this process, so that what read finds in one
// after the other belongs together: what others have sent is decided in none of them meanwhile. They go
// on with their ticks, and with what they send; only carriers to them wait, of this process and of
// others.
//
// A sum over all these worlds, of money say, is exact if read adds up, between two ticks of each
// (scheduler.Scheduler.Between): what entities have; what is in world.Message.Waiting of each
// message that carries some, Returned and Arrived among them; and what is in Mail.Unaccepted and
// Gate.Unaccepted of the world for each other. Each world is read once, whole, and in any order, or
// all at once. For what is on the way to worlds that are not among these, add Waiting.
//
// Cut waits for what arrives just now. So these worlds must make ticks, on other goroutines; if one
// does not, Cut waits until ctx ends. Cuts of the same worlds wait for each other, and so does a
// Cut in read, for ever. What Roads.Close and Roads.Resolve do meanwhile is found by read before or
// after it, as a whole.
//
// Cut returns the error of read, or of ctx if that ends before read is called. It panics for Roads
// that are nil, and for two of the same number.
func Cut(ctx context.Context, read func() error, all ...*Roads) error {
	if read == nil {
		panic("transit: Cut with a nil function; pass one that reads the worlds")
	}
	all = slices.Clone(all)
	for _, r := range all {
		if r == nil {
			panic("transit: Cut with nil Roads; pass what New returned")
		}
	}
	slices.SortFunc(all, func(a, b *Roads) int { return cmp.Compare(a.world, b.world) }) // each Cut in the same order
	for i, r := range all {
		if i > 0 && all[i-1].world == r.world {
			panic(fmt.Sprintf("transit: Cut of %q and %q, both of which are world %d; name each world once", all[i-1].name, r.name, r.world))
		}
	}
	for _, r := range all {
		if err := r.arrivals.hold(ctx); err != nil {
			return err
		}
		defer r.arrivals.open.Release(arrivalsMost)
	}
	return read()
}

// arrivals are the packets that carriers have sent to a world and that it has not decided yet.
//
// Ownership: safe for concurrent use. late belongs to who has some of open, and mu.
type arrivals struct {
	open *semaphore.Weighted // one for each packet, all for a Cut
	mu   sync.Mutex
	late []*world.Answer[answers] // of carriers that have ended
}

const arrivalsMost = math.MaxInt64

// take brings a packet by a port of the world, when no Cut holds it, and returns the answers when they
// are on disk.
func (r *Roads) take(ctx context.Context, port *world.Port, p packet) (answers, error) {
	a, err := r.bring(ctx, port, p)
	if err != nil {
		return answers{}, err
	}
	return await(ctx, r, a, answerEarly)
}

// bring returns when the packet was decided, or ctx has ended.
func (r *Roads) bring(ctx context.Context, port *world.Port, p packet) (*world.Answer[answers], error) {
	x := &r.arrivals
	if err := x.open.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer x.open.Release(1)
	a := new(world.Answer[answers])
	if err := r.arriving.Send(port.Within(ctx), p, a); err != nil {
		return nil, err
	}
	if _, err := a.Wait(ctx); err != nil { // it will be decided
		x.leave(a)
		return nil, err
	}
	return a, nil
}

// leave keeps an answer that nobody waits for any more, for the next Cut.
func (x *arrivals) leave(a *world.Answer[answers]) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.late = slices.DeleteFunc(x.late, func(a *world.Answer[answers]) bool { return a.Outcome() != world.Undecided })
	x.late = append(x.late, a)
}

// hold waits until all was decided that was sent, and lets nothing be sent until open is released.
func (x *arrivals) hold(ctx context.Context) error {
	if err := x.open.Acquire(ctx, arrivalsMost); err != nil {
		return err
	}
	for _, a := range x.late {
		if _, err := a.Wait(ctx); err != nil {
			x.open.Release(arrivalsMost)
			return err
		}
	}
	x.late = nil
	return nil
}
