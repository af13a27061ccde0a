package slots

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/publish"
)

// PortAllocator is the home of the entities that ports create. It has slots but no atoms: those are
// in the shards. Its number is the number of shards, so its indexes are separate from theirs. The
// handles that systems get never depend on what ports draw, or when.
//
// Free handles are in a pool. A port takes some at a time into its Hand. When the pool is empty,
// indexes are drawn that were never used.
//
//	dead ──▶ pool ──▶ the hand of a port ──▶ an entity
//	fresh ────────────▶┘
//
// A free slot does not say where its next handle is, because ports draw at any time. What systems
// see must not depend on when they draw. So to systems the next handle of each free slot is pending,
// and a handle whose index was first drawn since the last refresh is forged. Given tells others
// whether somebody has the handle.
//
// Invariants: each index below drawn is in the pool, in one hand, of an entity or of a create
// under way, recalled, or retired. A handle in the pool or in a hand has the version of its slot,
// and was not given out yet.
//
// Ownership: mu guards what is nested with it; retired is also written under it. Slots are written
// by the refresh, and while the world is idle by a load and by Reopen. A port that draws writes
// those of a new page, before the page is published.
type PortAllocator struct {
	home
	freed    []handle.Handle // by Recycle, on their way into the pool
	due      []handle.Handle // recalled before Cut
	recalls  []handle.Handle // that Restock took back, while that is noted
	noting   bool
	recalled atomic.Bool   // mu.recalled has some
	settled  atomic.Uint64 // the value of mu.drawn at the last Cut or load
	drew     atomic.Bool   // mu.drawn may be above settled; written under mu
	mu       struct {
		sync.Mutex
		pool     []handle.Handle // the last is taken first
		drawn    uint64          // how many indexes were ever taken
		ports    int             // how many ports have joined
		hands    []*Hand         // by port; nil for a port that has left, or that has drawn nothing
		takers   takers
		recalled []handle.Handle // given out, and taken back
		closed   bool            // the world is being loaded
	}
}

// NewPortAllocator makes the home of ports.
func NewPortAllocator(d *Directory) *PortAllocator {
	return &PortAllocator{home: newHome(d, d.ports())}
}

// Join adds a port: from now on Take leaves a share for it. Safe from any goroutine.
func (o *PortAllocator) Join() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.ports++
}

// Leave undoes Join, and puts the handles in the port's hand back. Safe from any goroutine.
func (o *PortAllocator) Leave(d *Hand) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.ports--
	o.putBack(d, d.Len())
	if int(d.number) < len(o.mu.hands) {
		o.mu.hands[d.number] = nil
	}
	d.all = nil
}

// Take puts handles into the hand of the port with a number: n of them or, if there are plenty
// more, up to most. Ports may take more than they need only from half of the handles that are left,
// each up to its share. So ports that are then idle leave the other half to those that are not. If
// there are fewer than n, Take returns an error and takes none. Safe from any goroutine.
func (o *PortAllocator) Take(d *Hand, port, n, most int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	left := o.left()
	if o.mu.closed {
		return fmt.Errorf("%w for ports while the world is loaded; create when snapshot.Load has returned", ErrIndexes)
	}
	if n > left {
		return o.errIndexes()
	}
	n = max(n, min(most, o.share(left)))
	used := min(n, len(o.mu.pool))
	fresh := n - used
	if err := o.reach(fresh); err != nil {
		return err
	}
	o.enter(d, port)
	all := d.all[:d.left]
	for k := fresh; k > 0; k-- { // the port takes the last first
		all = append(all, Compose(o.id, uint32(o.mu.drawn)+uint32(k)-1, o.dir.versions.first))
	}
	o.mu.drawn += uint64(fresh)
	o.drew.Store(true)
	rest := len(o.mu.pool) - used
	d.all = append(all, o.mu.pool[rest:]...)
	o.mu.pool = o.mu.pool[:rest]
	o.mu.takers.grow(o.mu.drawn)
	for _, h := range d.all[d.left:] {
		o.mu.takers.set(h, d.number)
	}
	publish.Store32(&d.left, uint32(len(d.all)))
	return nil
}

// enter gives a hand to a port. The lock is held.
func (o *PortAllocator) enter(d *Hand, port int) {
	if port >= len(o.mu.hands) {
		o.mu.hands = append(o.mu.hands, make([]*Hand, port+1-len(o.mu.hands))...)
	}
	d.number, o.mu.hands[port] = uint32(port), d
}

// putBack puts the first n handles of a hand back into the pool. The lock is held.
func (o *PortAllocator) putBack(d *Hand, n int) {
	some := d.all[:n]
	o.mu.takers.clear(some)
	o.mu.pool = append(o.mu.pool, some...)
	d.all = append([]handle.Handle(nil), d.all[n:d.left]...)
	publish.Store32(&d.left, uint32(len(d.all)))
}

// left returns how many handles are in the pool or were never drawn. The lock is held.
func (o *PortAllocator) left() int { return len(o.mu.pool) + int(o.indexes()-o.mu.drawn) }

// share returns how many of the handles that are left a port may take beyond its need. The
// lock is held.
func (o *PortAllocator) share(left int) int { return left / (2 * max(o.mu.ports, 1)) }

// indexes returns how many indexes there are.
func (o *PortAllocator) indexes() uint64 { return uint64(o.dir.indexMax) + 1 }

// reach makes the slots of the next n indexes. The lock is held.
func (o *PortAllocator) reach(n int) error {
	for i := o.mu.drawn; i < o.mu.drawn+uint64(n); i = (i>>pageBits + 1) << pageBits {
		h := Compose(o.id, uint32(i), 1)
		for o.dir.Slot(h) == nil {
			if err := o.dir.grow(o.id, int(i>>pageBits)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Put puts the handles in a port's hand beyond most, or beyond its share, back into the pool. Safe
// from any goroutine.
func (o *PortAllocator) Put(d *Hand, most int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if rest := d.Len() - min(most, o.share(o.left()+d.Len())); rest > 0 {
		o.putBack(d, rest)
	}
}

// Recall takes back handles that a port has given out and for which no create will be sent: the
// next refresh makes them stale. Until then their slots give no other handle. So the answers that a
// system gets about a handle change only in a refresh. Safe from any goroutine.
func (o *PortAllocator) Recall(handles ...handle.Handle) {
	if len(handles) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.recalled = append(o.mu.recalled, handles...)
	o.recalled.Store(true)
}

// Cut settles what was drawn until now, and makes the next Restock free what was recalled. A
// refresh calls it when its epoch is over: what it creates was drawn before.
func (o *PortAllocator) Cut() {
	if !o.drew.Load() && !o.recalled.Load() {
		return // in most refreshes of a world whose ports do nothing
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.settled.Store(o.mu.drawn)
	o.drew.Store(false)
	if !o.recalled.Load() {
		return
	}
	o.due, o.mu.recalled = o.mu.recalled, o.due[:0]
	o.recalled.Store(false)
}

// Restock frees what was recalled before Cut. Refresh only.
func (o *PortAllocator) Restock() {
	if len(o.due) == 0 {
		return
	}
	if o.noting {
		o.recalls = append(o.recalls, o.due...)
	}
	o.Recycle(o.due)
	o.due = o.due[:0]
}

// Recycle frees the slots of dead handles. Refresh only.
func (o *PortAllocator) Recycle(dead []handle.Handle) {
	if len(dead) == 0 {
		return
	}
	freed := slices.Grow(o.freed[:0], len(dead))
	of := o.dir.versions
	for _, h := range dead {
		if of.hasNext(h) { // Slot.free, for many slots
			o.dir.Slot(h).StoreBatched(word(h+1, StateUnused))
			freed = append(freed, h+1)
		} else if next, ok := o.dir.Slot(h).free(h, of); ok {
			freed = append(freed, next)
		}
	}
	o.freed = freed
	o.mu.Lock()
	defer o.mu.Unlock()
	o.retired += len(dead) - len(freed)
	o.mu.pool = append(o.mu.pool, freed...)
}
