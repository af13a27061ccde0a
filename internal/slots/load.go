package slots

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
)

// Errors of a Load.
var (
	// ErrImage is wrapped by errors about an image that no world can have.
	ErrImage = errors.New("world: impossible state")
	// ErrUsed is returned for a world that has given a handle.
	ErrUsed = errors.New("world: handles were given before")
)

// PortImage is the state of the slots of the entities that ports create.
type PortImage struct {
	// Slots has state and version of each slot that was drawn, in order. Those that were drawn since
	// the last refresh, and no others at the end, are 0: see settled.
	Slots    []uint32
	Pool     []uint32        // the free indexes; the last is taken first, and those in the hands of ports last
	Recalled []handle.Handle // to be freed by the next refresh
}

// Image returns a copy of the state. The world must be idle; ports may draw meanwhile. What they
// have in hand counts as free.
func (p *PortAllocator) Image() (x PortImage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	x.Slots = make([]uint32, p.mu.drawn)
	for i := range x.Slots {
		x.Slots[i] = p.ref.slot(uint32(i)).Load()
	}
	x.settle(p)
	known := newIndexes(len(x.Slots))
	for _, h := range p.mu.pool {
		known.set(h.Index())
	}
	for _, h := range p.mu.recalled {
		known.set(h.Index())
	}
	for n := len(x.Slots); n > 0; n-- { // the lowest is given first
		if _, state := p.at(uint32(n - 1)); state == StateUnused && !known.has(uint32(n-1)) {
			x.Pool = append(x.Pool, uint32(n-1))
		}
	}
	for _, h := range p.mu.pool {
		x.Pool = append(x.Pool, h.Index())
	}
	x.Recalled = append(x.Recalled, p.mu.recalled...)
	return x
}

// settle writes into the slots of a new image how many of them were drawn at the last refresh: the
// last of these says that it is free, if it was never used, and those behind it are 0.
func (p *PortImage) settle(of *PortAllocator) {
	n := of.Settled()
	clear(p.Slots[n:])
	if n > 0 && p.Slots[n-1] == 0 {
		p.Slots[n-1] = word(Compose(of.id, n-1, of.dir.versions.first), StateUnused)
	}
}

// settled returns how many slots were drawn at the last refresh before the image.
func (p *PortImage) settled() int {
	n := len(p.Slots)
	for n > 0 && p.Slots[n-1] == 0 {
		n--
	}
	return n
}

// HomeImage is the state of the slots of a shard's home, as Allocator.AppendSlots and FreeList return
// it.
type HomeImage struct{ Slots, Free []uint32 }

// Load gives the slots of a new world the state of another's: first those of each home, then, by
// Place, the row of each living atom.
//
// Ownership: one goroutine, of an idle world, while ports draw nothing. Several may call Place, and
// several may call Home, for a home each.
type Load struct {
	dir    *Directory
	out    *PortAllocator
	alive  atomic.Int64
	placed atomic.Int64
	// trusted leaves out an atomic swap for each row, which takes as long as copying 40 bytes.
	trusted bool
	before  Layout   // of the new world
	window  versions // too; arrange may lower the last of all
}

// NewLoad begins a load into a new world. Until Finish, ports get no handle. It returns ErrUsed,
// and begins nothing, if a handle was given before.
func NewLoad(out *PortAllocator) (*Load, error) {
	out.mu.Lock()
	defer out.mu.Unlock()
	if out.used() {
		return nil, ErrUsed
	}
	out.mu.closed = true
	return &Load{dir: out.dir, out: out, before: out.dir.Layout(), window: out.dir.versions}, nil
}

// Homes gives the world the homes of another, and more if it has more shards. It comes first. After
// an error it has changed nothing.
func (l *Load) Homes(of Layout) error {
	if err := l.dir.MayHave(of); err != nil {
		return err
	}
	l.arrange(of.For(len(l.dir.shards)))
	return nil
}

// arrange gives the new world its homes.
func (l *Load) arrange(x Layout) {
	p := l.out
	p.mu.Lock()
	defer p.mu.Unlock()
	l.dir.arrange(x)
	p.home = newHome(l.dir, uint32(x.Ports))
}

// MayLoad returns the error that NewLoad would, and begins nothing.
func MayLoad(out *PortAllocator) error {
	out.mu.Lock()
	defer out.mu.Unlock()
	if out.used() {
		return ErrUsed
	}
	return nil
}

// used reports whether a handle was given, or a load has begun. mu is held.
func (p *PortAllocator) used() bool {
	return p.mu.closed || p.mu.drawn > 0 || slices.ContainsFunc(p.dir.shards, func(a *Allocator) bool { return a.given > 0 })
}

// Incarnation sets the window of versions, before any slot is loaded. After an error it is as
// before.
func (l *Load) Incarnation(n uint32) error {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	window, err := l.dir.versions.of(n)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrImage, err)
	}
	l.dir.versions = window
	if n > 1 {
		for id := range l.dir.Homes() {
			l.dir.beginHome(uint32(id))
		}
	}
	return nil
}

// Home loads the slots of a home of a shard. After an error some are loaded, which Undo takes back.
func (l *Load) Home(home int, x HomeImage) error {
	if home < 0 || home >= l.dir.Homes() || home == int(l.dir.ports()) {
		return fmt.Errorf("%w: %d is the home of no shard", ErrImage, home)
	}
	h := l.dir.shards[l.dir.OwnerOfHome(home)].of(Compose(uint32(home), 0, 1))
	unused, err := l.slots(h, x.Slots, StateUnused)
	if err != nil {
		return err
	}
	if unused != len(x.Free) {
		return fmt.Errorf("%w: home %d has %d free slots, and %d in its list", ErrImage, home, unused, len(x.Free))
	}
	if err := l.list(h, x.Free, len(x.Slots), newIndexes(len(x.Slots))); err != nil {
		return err
	}
	h.given = uint32(len(x.Slots))
	h.free = append(h.free[:0], x.Free...)
	return nil
}

// Draw makes a shard draw from one of its homes, the n-th after the first. Its homes are loaded.
func (l *Load) Draw(shard, n int) error {
	a := l.dir.shards[shard]
	if more, at := a.Drawing(); n < 0 || n > more {
		return fmt.Errorf("%w: shard %d draws from home %d, of %d", ErrImage, shard, n, more+1)
	} else if n != at {
		a.draw(n)
	}
	return nil
}

// Ports loads the slots of the entities that ports create. After an error some are loaded, which
// Undo takes back.
func (l *Load) Ports(x PortImage) error {
	p := l.out
	unused, err := l.slots(&p.home, x.Slots, StatePending)
	if err != nil {
		return err
	}
	if n := len(x.Pool) + len(x.Recalled); n != unused {
		return fmt.Errorf("%w: ports have %d free slots, and %d in lists", ErrImage, unused, n)
	}
	seen := newIndexes(len(x.Slots))
	if err := l.list(&p.home, x.Pool, len(x.Slots), seen); err != nil {
		return err
	}
	for _, h := range x.Recalled {
		if h.Home() != p.id || int(h.Index()) >= len(x.Slots) || seen.set(h.Index()) {
			return fmt.Errorf("%w: %v is recalled, and is none of ports, or is free", ErrImage, h)
		}
		if at, state := p.at(h.Index()); at != h || state != StateUnused {
			return fmt.Errorf("%w: %v is recalled, and its slot has %v", ErrImage, h, at)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.drawn, p.mu.pool = uint64(len(x.Slots)), p.mu.pool[:0]
	p.settled.Store(uint64(x.settled()))
	p.drew.Store(true)
	for _, i := range x.Pool {
		h, _ := p.at(i)
		p.mu.pool = append(p.mu.pool, h)
	}
	p.mu.recalled = append(p.mu.recalled[:0], x.Recalled...)
	p.recalled.Store(len(x.Recalled) > 0)
	return nil
}

// slots loads the words of a home and returns how many are free. Slots that were never used are
// allowed only if free is StatePending. After an error some are loaded.
func (l *Load) slots(h *home, words []uint32, free State) (unused int, err error) {
	if uint64(len(words)) > uint64(l.dir.indexMax)+1 {
		return 0, fmt.Errorf("%w: home %d has %d slots, with IndexMax = %d", ErrImage, h.id, len(words), l.dir.indexMax)
	}
	least, last, alive := l.dir.versions.first, l.dir.versions.last, 0
	for first := 0; first < len(words); first += pageSize {
		if first>>pageBits == h.pages() {
			if err := h.grow(); err != nil {
				return 0, err
			}
		}
		page := h.ref.page(uint32(first))
		for k, word := range words[first:min(first+pageSize, len(words))] {
			version, state := unpackAt(word, uint32(first+k))
			switch {
			case word == 0 && free == StatePending:
				unused++
				continue
			case version == 0 || version > last || state == StateUnused && version < least:
				return 0, fmt.Errorf("%w: slot %d of home %d has version %d, of %d to %d", ErrImage, first+k, h.id, version, least, last)
			case state == StateAlive:
				alive++
			case state == StateUnused:
				unused++
			case state == StateRetired:
				h.retired++
			default:
				return 0, fmt.Errorf("%w: slot %d of home %d has state %d", ErrImage, first+k, h.id, state)
			}
			page[k].StoreBatched(word)
		}
	}
	l.alive.Add(int64(alive))
	return unused, nil
}

// list checks that the slots of a free list are among the first n, are free, and are in the list
// only once. It changes nothing but seen.
func (l *Load) list(h *home, list []uint32, n int, seen indexes) error {
	for _, i := range list {
		if int64(i) >= int64(n) || seen.set(i) {
			return fmt.Errorf("%w: slot %d of home %d is free, and was not given or is free twice", ErrImage, i, h.id)
		}
		if _, state := unpack(h.ref.slot(i).Load(), Compose(h.id, i, 0)); state != StateUnused {
			return fmt.Errorf("%w: slot %d of home %d is free, and has state %d", ErrImage, i, h.id, state)
		}
	}
	return nil
}

// Trust says that the rows that are placed from now on come from a world: no two have the same
// handle.
func (l *Load) Trust() { l.trusted = true }

// Place says that atoms are in adjacent rows. The slot of each must say that it is alive. After an
// error some are placed, which Undo takes back.
func (l *Load) Place(hs []handle.Handle, at Loc) error {
	for i, h := range hs {
		slot := l.dir.Slot(h)
		if slot == nil || h.Version() == 0 || slot.Load() != uint32(h) {
			return fmt.Errorf("%w: %v has a row, and its slot does not say that it lives", ErrImage, h)
		}
		if l.trusted {
			slot.Loc = at + Loc(i)
		} else if !atomic.CompareAndSwapUint32((*uint32)(&slot.Loc), 0, uint32(at)+uint32(i)) {
			return fmt.Errorf("%w: %v has two rows", ErrImage, h)
		}
	}
	l.placed.Add(int64(len(hs)))
	return nil
}

// Finish lets ports take handles. It returns an error, and does not let them, if a living atom has
// no row.
func (l *Load) Finish() error {
	if n, alive := l.placed.Load(), l.alive.Load(); n != alive {
		return fmt.Errorf("%w: %d entities live, and %d have a row", ErrImage, alive, n)
	}
	l.out.open()
	return nil
}

// open lets ports take handles, at the end of a load.
func (p *PortAllocator) open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.closed = false
}

// indexes is a set of the indexes of a home.
type indexes []uint64

// newIndexes makes an empty set of indexes below n.
func newIndexes(n int) indexes { return make(indexes, (n+63)/64) }

func (i indexes) has(n uint32) bool { return i[n/64]>>(n%64)&1 != 0 }

// set adds a number and reports whether it was in the set before.
func (i indexes) set(n uint32) (had bool) {
	had = i.has(n)
	i[n/64] |= 1 << (n % 64)
	return had
}

// Undo takes back what was loaded, also after an error. The Load can be used again, from its
// beginning.
func (l *Load) Undo() {
	l.trusted = false
	l.alive.Store(0)
	l.placed.Store(0)
	for id := range uint32(l.dir.Homes()) {
		for n := range uint32(l.dir.Pages(id) * pageSize) {
			slot := l.dir.Slot(Compose(id, n, 0))
			slot.Store(0)
			slot.Loc = 0
		}
	}
	l.dir.flags.Clear()
	l.dir.versions = l.window
	l.arrange(l.before)
	p := l.out
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.drawn, p.mu.pool, p.mu.recalled = 0, nil, nil
	p.settled.Store(0)
	p.recalled.Store(false)
}
