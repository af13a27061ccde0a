package world

import (
	"fmt"
	"slices"
	"sync"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/shard"
)

// Reservation is handles that a port holds for creates to come, so that entities
// can name each other before any of them is sent. A reserved handle is Pending;
// a request on it finds nobody until a refresh has stored its entity, with
// Bundle.CreateReserved.
//
// What is not used goes back, and is stale from the next refresh on: when it is
// released, when the port is closed, or after Options.ReserveTicks.
//
// Ownership: the port's goroutine. mu is for the refresh, which revokes.
type Reservation struct {
	port    *Port
	handles []handle.Handle
	until   uint64 // the tick after which it is revoked

	mu struct {
		sync.Mutex
		used  []bool
		nUsed int
		over  bool // what was not used went back
	}
}

// Reserve reserves n handles. It returns ErrIndexes if the world has not as many
// left, and then reserves none, or ErrClosed. It is no request and waits for
// nothing.
func (p *Port) Reserve(n int) (*Reservation, error) {
	if check.Enabled {
		p.enter()
		defer p.leave()
	}
	switch {
	case n < 0:
		panic(fmt.Sprintf("world: port %d: cannot reserve %d handles", p.number, n))
	case p.unusable():
		return nil, ErrClosed
	}
	if most := int(p.w.options.IndexMax) + 1; n > most {
		return nil, fmt.Errorf("%w: %d are reserved at once, of a world that has %d", ErrIndexes, n, most)
	}
	if err := p.fill(p.w.outside, n); err != nil {
		p.activate() // so that the refresh gives used ones
		return nil, err
	}
	rest := len(p.hand) - n
	r := &Reservation{port: p, handles: append([]handle.Handle(nil), p.hand[rest:]...), until: p.w.Tick() + uint64(p.w.options.ReserveTicks)}
	p.hand = p.hand[:rest]
	r.mu.used = make([]bool, n)
	p.w.ports.reserve(r)
	if p.w.closed.Load() { // by now
		r.void()
		return nil, ErrClosed
	}
	return r, nil
}

// Len returns the number of handles, used ones included.
func (r *Reservation) Len() int { return len(r.handles) }

// Handle returns the handle of number i.
func (r *Reservation) Handle(i int) handle.Handle { return r.handles[i] }

// Handles returns all handles. They must not be written.
func (r *Reservation) Handles() []handle.Handle { return r.handles }

// Release gives back the handles that were not used. Releasing twice is no error.
func (r *Reservation) Release() {
	if check.Enabled {
		r.port.enter()
		defer r.port.leave()
	}
	r.giveBack()
}

// giveBack ends the reservation. By the port, or the refresh.
func (r *Reservation) giveBack() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.over {
		return
	}
	r.mu.over = true
	for i, used := range r.mu.used {
		if !used {
			r.port.w.outside.Recall(r.handles[i])
		}
	}
}

// claim takes handle i for a create. It returns ErrRevoked if it went back.
func (r *Reservation) claim(i int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.mu.used[i]:
		panic(fmt.Sprintf("world: handle %d of a reservation, %v, is used already; each is for one create", i, r.handles[i]))
	case r.mu.over:
		return ErrRevoked
	}
	r.mu.used[i] = true
	r.mu.nUsed++
	return nil
}

// unclaim undoes claim, for a create that was taken back.
func (r *Reservation) unclaim(i int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.used[i] = false
	r.mu.nUsed--
	if r.mu.over {
		r.port.w.outside.Recall(r.handles[i])
	}
}

// settle ends a reservation of which every handle was used, for good.
func (r *Reservation) settle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.over = r.mu.over || r.mu.nUsed == len(r.handles)
}

func (r *Reservation) isOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.over
}

// CreateReserved is Create by the reservation's port, with handle i of the
// reservation, which must not have been used. It returns ErrRevoked if the handle
// went back, ErrFull if the request was not accepted; then it may be tried again.
func (b *Bundle[T]) CreateReserved(r *Reservation, i int, v T) error {
	p := r.port
	if p.w != b.w {
		b.w.refuse(p, "bundle", b.name)
	}
	if check.Enabled {
		p.enter()
		defer p.leave()
	}
	if i < 0 || i >= len(r.handles) {
		panic(fmt.Sprintf("world: a reservation of port %d has no handle %d, only 0 to %d", p.number, i, len(r.handles)-1))
	}
	at := -1
	if b.place != nil {
		at = b.placed(v)
	}
	if err := p.ready(1, b.creating.Weight()); err != nil {
		return err
	}
	if err := r.claim(i); err != nil {
		p.refuse(err)
		return err
	}
	if p.batch != nil {
		p.batch.claims = append(p.batch.claims, claim{r, i})
	}
	if at < 0 {
		at = p.next()
	}
	q, to := b.creating.Push(p.lane, r.handles[i], p.w.epoch.Load(), shard.Create, p.finisher())
	*to = v
	q.Place(at)
	p.send()
	if p.batch == nil {
		r.settle()
	}
	return nil
}

// reserve remembers a reservation, to revoke it.
func (t *ports) reserve(r *Reservation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.reserved = append(t.mu.reserved, r)
	t.lent.Store(true)
}

// revokeEach is how many ticks lie between two looks at the reservations.
const revokeEach = 16

// revoke ends the reservations that are too old, and those of closed ports.
func (t *ports) revoke(tick uint64) {
	if t.lent.Load() && (tick%revokeEach == 0 || t.closed.Load()) {
		t.revokeOld(tick)
	}
}

func (t *ports) revokeOld(tick uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.mu.reserved[:0]
	for _, r := range t.mu.reserved {
		if tick >= r.until || slices.Contains(t.mu.closed, r.port) {
			r.giveBack()
		}
		if !r.isOver() {
			kept = append(kept, r)
		}
	}
	clear(t.mu.reserved[len(kept):])
	t.mu.reserved = kept
	t.lent.Store(len(kept) > 0)
}
