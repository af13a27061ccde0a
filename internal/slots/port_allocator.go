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
// in the shards. In a new world its number is the number of shards; see Layout. The
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
	settled  atomic.Uint64 // the value of mu.drawn at the last Cut or load, or at the Seal before it
	sealed   bool          // between Seal and Cut
	sealing  uint64        // the value of mu.drawn at Seal
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

// NewPortAllocator makes the home of ports in a new world.
func NewPortAllocator(d *Directory) *PortAllocator {
	return &PortAllocator{home: newHome(d, d.ports())}
}

// Join adds a port: from now on Take leaves a share for it. Safe from any goroutine.
func (p *PortAllocator) Join() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.ports++
}

// Leave undoes Join, and puts the handles in the port's hand back. Safe from any goroutine.
func (p *PortAllocator) Leave(hand *Hand) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.ports--
	p.putBack(hand, hand.Len())
	if int(hand.number) < len(p.mu.hands) {
		p.mu.hands[hand.number] = nil
	}
	hand.all = nil
}

// Take puts handles into the hand of the port with a number: n of them or, if there are plenty
// more, up to most. Ports may take more than they need only from half of the handles that are left,
// each up to its share. So ports that are then idle leave the other half to those that are not. If
// there are fewer than n, Take returns an error and takes none. Safe from any goroutine.
func (p *PortAllocator) Take(hand *Hand, port, n, most int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.left()
	if p.mu.closed {
		return fmt.Errorf("%w for ports while the world is loaded; create when snapshot.Load has returned", ErrIndexes)
	}
	if n > left {
		return p.errIndexes()
	}
	n = max(n, min(most, p.share(left)))
	used := min(n, len(p.mu.pool))
	fresh := n - used
	if err := p.reach(fresh); err != nil {
		return err
	}
	p.enter(hand, port)
	all := hand.all[:hand.left]
	for k := fresh; k > 0; k-- { // the port takes the last first
		all = append(all, Compose(p.id, uint32(p.mu.drawn)+uint32(k)-1, p.dir.versions.first))
	}
	p.mu.drawn += uint64(fresh)
	p.drew.Store(true)
	rest := len(p.mu.pool) - used
	hand.all = append(all, p.mu.pool[rest:]...)
	p.mu.pool = p.mu.pool[:rest]
	p.mu.takers.grow(p.mu.drawn)
	for _, h := range hand.all[hand.left:] {
		p.mu.takers.set(h, hand.number)
	}
	publish.Store32(&hand.left, uint32(len(hand.all)))
	return nil
}

// enter gives a hand to a port. The lock is held.
func (p *PortAllocator) enter(hand *Hand, port int) {
	if port >= len(p.mu.hands) {
		p.mu.hands = append(p.mu.hands, make([]*Hand, port+1-len(p.mu.hands))...)
	}
	hand.number, p.mu.hands[port] = uint32(port), hand
}

// putBack puts the first n handles of a hand back into the pool, for Leave and Put. The lock is
// held.
func (p *PortAllocator) putBack(hand *Hand, n int) {
	some := hand.all[:n]
	p.mu.takers.clear(some)
	p.mu.pool = append(p.mu.pool, some...)
	hand.all = append([]handle.Handle(nil), hand.all[n:hand.left]...)
	publish.Store32(&hand.left, uint32(len(hand.all)))
}

// left returns how many handles are in the pool or were never drawn. The lock is held.
func (p *PortAllocator) left() int { return len(p.mu.pool) + int(p.indexes()-p.mu.drawn) }

// share returns how many of the handles that are left a port may take beyond its need. The
// lock is held.
func (p *PortAllocator) share(left int) int { return left / (2 * max(p.mu.ports, 1)) }

// indexes returns how many indexes the home can have at most.
func (p *PortAllocator) indexes() uint64 { return uint64(p.dir.indexMax) + 1 }

// reach makes the slots of the next n indexes. The lock is held. After an error no index is drawn.
func (p *PortAllocator) reach(n int) error {
	for i := p.mu.drawn; i < p.mu.drawn+uint64(n); i = (i>>pageBits + 1) << pageBits {
		h := Compose(p.id, uint32(i), 1)
		for p.dir.Slot(h) == nil {
			if err := p.dir.grow(p.id, int(i>>pageBits)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Put puts the handles in a port's hand beyond most, or beyond its share, back into the pool. Safe
// from any goroutine.
func (p *PortAllocator) Put(hand *Hand, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if rest := hand.Len() - min(most, p.share(p.left()+hand.Len())); rest > 0 {
		p.putBack(hand, rest)
	}
}

// Recall takes back handles that a port has given out and for which no create will be sent: the
// next refresh makes them stale. Until then their slots give no other handle. So the answers that a
// system gets about a handle change only in a refresh. Safe from any goroutine.
func (p *PortAllocator) Recall(handles ...handle.Handle) {
	if len(handles) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.recalled = append(p.mu.recalled, handles...)
	p.recalled.Store(true)
}

// Cut settles what was drawn until now, and makes the next Restock free what was recalled. A
// refresh calls it when its epoch is over: what it creates was drawn before.
func (p *PortAllocator) Cut() {
	if !p.sealed {
		if !p.drew.Load() && !p.recalled.Load() {
			return // in most refreshes of a world whose ports do nothing
		}
		p.Seal()
	}
	p.sealed = false
	if p.settled.Load() != p.sealing { // to store costs much more than to load
		p.settled.Store(p.sealing)
	}
}

// Seal does what Cut does, except that systems do not see it until Cut. It returns how many indexes
// ports have drawn by now. Coordinator only.
func (p *PortAllocator) Seal() (drawn uint32) {
	p.sealed = true
	if !p.drew.Load() && !p.recalled.Load() {
		p.sealing = p.settled.Load()
		return uint32(p.sealing)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sealing = p.mu.drawn
	p.drew.Store(false)
	if p.recalled.Load() {
		p.due, p.mu.recalled = p.mu.recalled, p.due[:0]
		p.recalled.Store(false)
	}
	return uint32(p.sealing)
}

// Due returns the handles that Restock will free. Between Seal and Restock, coordinator only.
func (p *PortAllocator) Due() []handle.Handle { return p.due }

// Fail makes Restock free the handle of a create that was sealed, and that fails. Between Seal and
// Cut, coordinator only.
func (p *PortAllocator) Fail(h handle.Handle) { p.due = append(p.due, h) }

// Restock frees what was recalled before Cut. Refresh only.
func (p *PortAllocator) Restock() {
	if len(p.due) == 0 {
		return
	}
	if p.noting {
		p.recalls = append(p.recalls, p.due...)
	}
	p.Recycle(p.due)
	p.due = p.due[:0]
}

// Recycle frees the slots of dead handles. Refresh only.
func (p *PortAllocator) Recycle(dead []handle.Handle) {
	if len(dead) == 0 {
		return
	}
	freed := slices.Grow(p.freed[:0], len(dead))
	of := p.dir.versions
	for _, h := range dead {
		if of.hasNext(h) { // Slot.free, for many slots
			p.dir.Slot(h).StoreBatched(word(h+1, StateUnused))
			freed = append(freed, h+1)
		} else if next, ok := p.dir.Slot(h).free(h, of); ok {
			freed = append(freed, next)
		}
	}
	p.freed = freed
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retired += len(dead) - len(freed)
	p.mu.pool = append(p.mu.pool, freed...)
}

// Given reports whether a port has given h, the handle of a free slot, to a caller: its entity may
// still come. Otherwise h is in the pool, in the hand of a port, or was never drawn. Safe from any
// goroutine.
func (p *PortAllocator) Given(h handle.Handle) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := p.mu.takers.of(h)
	if x == 0 {
		return false
	}
	hand := p.mu.hands[x>>11-1]
	return hand == nil || !hand.has(h)
}

// Size measures the slots of the entities that ports create. Nobody may free slots meanwhile; ports
// may draw.
func (p *PortAllocator) Size() Size {
	pages := p.pages()
	p.mu.Lock()
	defer p.mu.Unlock()
	return Size{
		Taken:    int(p.mu.drawn) - len(p.mu.pool),
		Used:     slotBytes * uint64(int(p.mu.drawn)-len(p.mu.pool)-p.retired),
		Reserved: slotBytes*pageSize*uint64(pages) + takerBytes*pageSize*uint64(len(p.mu.takers)) + handleBytes*uint64(cap(p.mu.pool)+cap(p.freed)),
	}
}

// What follows is what a log of inputs records of the port allocator, and how another world follows
// that. No slot says which handles ports have in their hands, and the log does not either: the
// creates say which of them were used.

// Note begins or ends recording the handles that are recalled. The world must be idle.
func (p *PortAllocator) Note(on bool) { p.noting, p.recalls = on, nil }

// TakeRecalls appends to dst the handles that the last Restock took back. Refresh
// only.
func (p *PortAllocator) TakeRecalls(dst []handle.Handle) []handle.Handle {
	dst = append(dst, p.recalls...)
	p.recalls = p.recalls[:0]
	return dst
}

// Drawn returns how many indexes ports have ever taken. Safe from any goroutine.
func (p *PortAllocator) Drawn() uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return uint32(p.mu.drawn)
}

// Settled returns how many indexes had been drawn at the cut of the newest refresh. What systems see
// may depend on this number. No state of the idle world that is saved since has fewer. Safe from
// any goroutine; it never blocks.
func (p *PortAllocator) Settled() uint32 { return uint32(p.settled.Load()) }

// Follow sets the state in which so many indexes were drawn, all of them by ports of another world,
// for a replay on an idle world. Handles that were recalled before, and are not freed yet, must be
// recalled again. No port may take any until Reopen. It returns an error if more were drawn before,
// or if there are fewer indexes than that: then the replay cannot go on.
func (p *PortAllocator) Follow(drawn uint32) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.mu.drawn
	if uint64(drawn) < before || uint64(drawn) > p.indexes() {
		return fmt.Errorf("world: %d handles were drawn, of %d at most; now it would be %d", before, p.indexes(), drawn)
	}
	p.mu.pool = p.mu.pool[:0]         // Reopen fills it again
	p.mu.recalled = p.mu.recalled[:0] // the log also has those of an image
	if err := p.reach(int(uint64(drawn) - before)); err != nil {
		return err
	}
	p.mu.drawn = uint64(drawn)
	p.drew.Store(true)
	return nil
}

// Pending reports whether h is a handle that a port may have in its hand, or may have given out,
// and for which no atom is stored. Safe from any goroutine.
func (p *PortAllocator) Pending(h handle.Handle) bool {
	slot := p.dir.Slot(h)
	return slot != nil && p.dir.IsPorts(h) && slot.ToCome(h)
}

// Reopen fills the pool from the slots, at the end of a replay, in which no port drew. Each free
// slot gets its next version, because the recorded world may have given out the handle with the
// present one. The world is idle.
func (p *PortAllocator) Reopen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.pool, p.mu.recalled, p.due = p.mu.pool[:0], p.mu.recalled[:0], p.due[:0] // rebuilt below
	p.recalled.Store(false)
	p.settled.Store(p.mu.drawn)
	for n := p.mu.drawn; n > 0; n-- {
		h, state := p.at(uint32(n - 1))
		if state != StateUnused {
			continue
		}
		if next, ok := p.dir.Slot(h).free(h, p.dir.versions); ok {
			p.mu.pool = append(p.mu.pool, next)
		} else {
			p.retired++
		}
	}
}

// at returns the n-th handle that was drawn, according to its slot, which must exist.
func (p *PortAllocator) at(n uint32) (handle.Handle, State) {
	h := Compose(p.id, n, 0)
	version, state := unpack(p.dir.Slot(h).Load(), h)
	return h | handle.Handle(max(version, 1)), state
}

// AppendUses appends for each slot how often it has been used: its version while the entity lives,
// the number of its uses while it is free or in the hand of a port. Slots are in the order in which
// they are first drawn. Slots at the end that were never used are left out. So the result depends
// only on what refreshes have done, and not on what ports draw meanwhile. The world must be idle.
func (p *PortAllocator) AppendUses(dst []uint32) []uint32 {
	last := len(dst)
	for n := range p.Drawn() {
		dst = append(dst, p.uses(n))
		if dst[len(dst)-1] > 0 {
			last = len(dst)
		}
	}
	return dst[:last]
}

// uses returns how often the n-th slot has been used, as AppendUses counts.
func (p *PortAllocator) uses(n uint32) uint32 {
	h, state := p.at(n)
	if state == StateUnused {
		return h.Version() - p.dir.versions.first
	}
	return h.Version()
}
