package slots

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
)

// PortAllocator is the home of the entities that ports create. It has slots but no atoms: those are
// in the shards. Its number is the number of shards, so its indexes are separate from theirs. The
// handles that systems get never depend on what ports draw, or when.
//
// Free handles are in a pool. A port takes some at a time into its cache. When the pool is empty,
// indexes are drawn that were never used.
//
//	dead ──▶ pool ──▶ a port's cache ──▶ an entity
//	fresh ────────────▶┘
//
// A free slot does not say whether its next handle is in the pool or in a cache: look-ups report
// all of these handles as pending.
//
// Invariants: each index below drawn is in the pool, in one cache, of an entity or of a create
// under way, recalled, or retired. A handle in the pool or in a cache has the version of its slot,
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
	recalled atomic.Bool // mu.recalled has some
	mu       struct {
		sync.Mutex
		pool     []handle.Handle // the last is taken first
		drawn    uint64          // how many indexes were ever taken
		settled  uint64          // the value of drawn during the last refresh or load
		ports    int             // how many ports have a cache
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

// Leave undoes Join, and puts the handles in the port's cache back. Safe from any goroutine.
func (o *PortAllocator) Leave(cache []handle.Handle) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.ports--
	o.mu.pool = append(o.mu.pool, cache...)
}

// Take appends handles to dst, which is the cache of a port: n of them or, if there are plenty
// more, up to most. Ports may take more than they need only from half of the handles that are left,
// each up to its share. So ports that are then idle leave the other half to those that are not. If
// there are fewer than n, Take returns an error and takes none. Safe from any goroutine.
func (o *PortAllocator) Take(dst []handle.Handle, n, most int) ([]handle.Handle, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	left := o.left()
	if o.mu.closed {
		return dst, fmt.Errorf("%w for ports while the world is loaded; create when snapshot.Load has returned", ErrIndexes)
	}
	if n > left {
		return dst, o.errIndexes()
	}
	n = max(n, min(most, o.share(left)))
	used := min(n, len(o.mu.pool))
	fresh := n - used
	if err := o.reach(fresh); err != nil {
		return dst, err
	}
	for k := fresh; k > 0; k-- { // the port takes the last first
		dst = append(dst, Compose(o.id, uint32(o.mu.drawn)+uint32(k)-1, o.dir.versions.first))
	}
	o.mu.drawn += uint64(fresh)
	rest := len(o.mu.pool) - used
	dst = append(dst, o.mu.pool[rest:]...)
	o.mu.pool = o.mu.pool[:rest]
	return dst, nil
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

// Put puts the handles in a port's cache beyond most, or beyond its share, back into the pool. It
// returns those that the port keeps. Safe from any goroutine.
func (o *PortAllocator) Put(cache []handle.Handle, most int) []handle.Handle {
	o.mu.Lock()
	defer o.mu.Unlock()
	rest := len(cache) - min(most, o.share(o.left()+len(cache)))
	if rest <= 0 {
		return cache
	}
	o.mu.pool = append(o.mu.pool, cache[:rest]...)
	return append([]handle.Handle(nil), cache[rest:]...)
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

// Cut makes the next Restock free what was recalled until now. Refresh only.
func (o *PortAllocator) Cut() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.settled = o.mu.drawn
	if !o.recalled.Load() {
		return
	}
	o.due, o.mu.recalled = o.mu.recalled, o.due[:0]
	o.recalled.Store(false)
}

// Restock frees what was recalled before Cut. Refresh only.
func (o *PortAllocator) Restock() {
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
