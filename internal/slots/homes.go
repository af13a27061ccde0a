package slots

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/paged"
)

// HomesSmall is how many homes a world with fewer shards can have; a world with as many shards can
// have handle.HomeMax + 1. Each costs 32 bytes from the beginning, because look-ups keep the address
// of the list.
const HomesSmall = 256

// ErrHomes is returned for a state with more homes than the new world can have.
var ErrHomes = errors.New("world: too many homes")

// homesMost returns how many homes a world can have that begins with some.
func homesMost(homes int) int {
	if homes <= HomesSmall {
		return min(HomesSmall, handle.HomeMax+1)
	}
	return handle.HomeMax + 1
}

// Layout says which homes a world has: numbers from 0 on, of which one is for ports. Leaving that
// out, home number k, counted from 0, belongs to shard k modulo the number of shards. A new
// world has a home for each shard, and then one for ports.
type Layout struct{ Homes, Ports int }

// Of returns the shard that a home belongs to, of so many.
func (l Layout) Of(home, shards int) int {
	if home > l.Ports {
		home--
	}
	return home % shards
}

// First returns the number of the first home of a shard.
func (l Layout) First(shard int) int {
	if shard >= l.Ports {
		shard++
	}
	return shard
}

// More returns how many homes besides the first a shard has, of so many.
func (l Layout) More(shard, shards int) int { return (l.Homes - 2 - shard) / shards }

// Nth returns the number of a home of a shard, of so many: of the n-th after the first.
func (l Layout) Nth(shard, shards, n int) int { return l.First(shard + n*shards) }

// For returns the layout of a world with so many shards that loads homes of this layout: if there
// are too few, with more at the end.
func (l Layout) For(shards int) Layout { return Layout{max(l.Homes, shards+1), l.Ports} }

// Layout returns the present layout. Safe from any goroutine.
func (d *Directory) Layout() Layout { return Layout{int(d.homes.Load()), int(d.portsHome.Load())} }

// MayHave returns an error if the world cannot have the homes of another. It changes nothing. Safe
// from any goroutine.
func (d *Directory) MayHave(of Layout) error {
	if of.Homes < 2 || of.Ports < 0 || of.Ports >= of.Homes {
		return fmt.Errorf("%w: there are %d homes, and %d is for ports", ErrImage, of.Homes, of.Ports)
	}
	most := d.Most()
	switch n := of.For(len(d.shards)).Homes; {
	case n <= most:
		return nil
	case most <= handle.HomeMax:
		return fmt.Errorf("%w: there would be %d, and a world that is made with fewer than %d shards can have %d; make it with at least %d",
			ErrHomes, n, HomesSmall, most, HomesSmall)
	default:
		return fmt.Errorf("%w: there would be %d, and a handle can name %d; make the world with fewer shards", ErrHomes, n, most)
	}
}

// Homes returns the number of homes. Safe from any goroutine.
func (d *Directory) Homes() int { return int(d.homes.Load()) }

// Shards returns the number of shards.
func (d *Directory) Shards() int { return len(d.shards) }

// ports returns the number of the home of ports. Safe from any goroutine.
func (d *Directory) ports() uint32 { return d.portsHome.Load() }

// OwnerOf returns the shard that the home of a handle belongs to; it must be a shard's.
func (d *Directory) OwnerOf(h handle.Handle) int { return int(d.owners[h.Home()]) }

// IsOfOther reports whether the home of a handle belongs to another shard than a home does, or does
// not exist.
func (d *Directory) IsOfOther(h handle.Handle, home int) bool {
	return int(h.Home()) >= len(d.owners) || d.owners[h.Home()] != d.owners[home]
}

// OwnerOfHome returns the shard that a home belongs to, or the number of shards for the home of ports.
func (d *Directory) OwnerOfHome(home int) int { return int(d.owners[home]) }

// FirstOf returns the number of the first home of a shard or, for the number of shards, of the home
// of ports.
func (d *Directory) FirstOf(shard int) int {
	if shard == len(d.shards) {
		return int(d.ports())
	}
	return d.Layout().First(shard)
}

// arrange gives the world its homes. None has slots. There must be no more than HomesMost, at least
// one for each shard and one for ports among them. One goroutine calls it, of the idle world.
func (d *Directory) arrange(l Layout) {
	d.homes.Store(uint32(l.Homes))
	d.portsHome.Store(uint32(l.Ports))
	d.liveness.ports.Store(uint32(l.Ports))
	if v := &d.versions; l.Homes > handle.HomeMax && d.indexMax == handle.IndexMax { // the highest handle of all must not be given: no end is above it
		v.max = min(v.max, handle.VersionMax-1)
		v.last = min(v.last, v.max)
	}
	if d.flags.Homes() < l.Homes { // nobody has looked up a word, as no entity lives
		d.flags = paged.NewShared[atomic.Uint64](l.Homes)
	}
	d.owners = make([]uint32, l.Homes)
	for home := range d.owners {
		d.owners[home] = uint32(l.Of(home, len(d.shards)))
	}
	d.owners[l.Ports] = uint32(len(d.shards))
	for i, a := range d.shards {
		if a == nil {
			continue // the world is being made
		}
		a.home, a.homes, a.at = newHome(d, uint32(l.First(i))), nil, 0
		if n := l.More(i, len(d.shards)); n > 0 {
			a.homes = append(make([]home, 0, n+1), a.home)
			for k := range n {
				a.homes = append(a.homes, newHome(d, uint32(l.Nth(i, len(d.shards), k+1))))
			}
		}
	}
}

// What follows is for a shard with several homes. It draws from one until the free list is empty,
// and then from the next that has free indexes, in a circle. If none has, it draws fresh indexes
// from the home with the lowest number that has some. So what is freed is used again, wherever it
// is.

// homeAt returns one of several homes, by its position.
func (a *Allocator) homeAt(i int) *home {
	if i == a.at {
		return &a.home
	}
	return &a.homes[i]
}

// of returns the home of a handle, which is one of the shard's.
func (a *Allocator) of(h handle.Handle) *home {
	if h.Home() == a.id {
		return &a.home
	}
	for i := range a.homes {
		if x := a.homeAt(i); x.id == h.Home() {
			return x
		}
	}
	panic("world: a slot is not of this shard") // unreachable: the directory says whose it is
}

// draw makes the shard draw from another home.
func (a *Allocator) draw(i int) {
	a.homes[a.at] = a.home
	a.home, a.at = a.homes[i], i
	a.Draws()
}

// Draws notes that the shard may draw from its home from now on; see Lookup.Drawn.
func (a *Allocator) Draws() {
	if x := &a.ref.drawn; x.Load() == 0 {
		x.Store(1)
	}
}

// Undrawn makes Drawn false for all homes. The coordinator calls it.
func (d *Directory) Undrawn() {
	for home := range d.homes.Load() {
		if x := &d.ref(home).drawn; x.Load() != 0 {
			x.Store(0)
		}
	}
}

// turn makes the shard draw from another home, if the list of this one is empty, and reports whether
// there are free indexes.
func (a *Allocator) turn() bool {
	for k := 1; k < len(a.homes); k++ {
		if i := (a.at + k) % len(a.homes); len(a.homes[i].free) > 0 {
			a.draw(i)
			return true
		}
	}
	for i := range a.homes {
		if a.homeAt(i).unused() > 0 {
			a.draw(i)
			break
		}
	}
	return false
}

// nthOfAll is nth beyond the first free list.
func (a *Allocator) nthOfAll(n int) handle.Handle {
	for k := range a.homes {
		x := a.homeAt((a.at + k) % len(a.homes))
		if i := len(x.free) - 1 - n; i >= 0 {
			return Compose(x.id, x.free[i], x.ref.slot(x.free[i]).Load()&versionMask)
		}
		n -= len(x.free)
	}
	for k := range a.homes {
		x := a.homeAt(k)
		if n < x.unused() {
			return Compose(x.id, x.given+uint32(n), a.dir.versions.first)
		}
		n -= x.unused()
	}
	return handle.None // unreachable: there are that many
}

// reserveAll is ReserveSlots. After an error the room that could be made stays.
func (a *Allocator) reserveAll(n int) error {
	for i := range a.homes {
		n -= len(a.homeAt(i).free)
	}
	for i := range a.homes {
		x := a.homeAt(i)
		most := x.unused()
		for n > 0 && min(most, x.pages()*pageSize-int(x.given)) < min(n, most) {
			if err := x.grow(); err != nil {
				return err
			}
		}
		n -= most
	}
	if n > 0 {
		return a.errIndexes()
	}
	return nil
}

// Retired returns the number of slots whose versions are used up.
func (a *Allocator) Retired() (n int) {
	if a.homes == nil {
		return a.retired
	}
	for i := range a.homes {
		n += a.homeAt(i).retired
	}
	return n
}

// each calls f with each home of the shard.
func (a *Allocator) each(f func(x *home)) {
	if a.homes == nil {
		f(&a.home)
	}
	for i := range a.homes {
		f(a.homeAt(i))
	}
}

// Drawing returns how many homes the shard has besides the first, and from which it draws, the first
// being 0.
func (a *Allocator) Drawing() (more, at int) { return max(len(a.homes)-1, 0), a.at }

// FreeList returns the free indexes of a home of the shard, the n-th after the first; the last index
// is given first.
func (a *Allocator) FreeList(n int) []uint32 { return a.homeAt(n).free }

// AppendSlots appends the contents of all slots of a home of the shard, the n-th after the first, that
// were ever given, state and version, in the order in which they were first given. Only the shard's
// owner may call it.
func (a *Allocator) AppendSlots(dst []uint32, n int) []uint32 {
	x := a.homeAt(n)
	dst = slices.Grow(dst, int(x.given))
	for i := range x.given {
		dst = append(dst, x.ref.slot(i).Load())
	}
	return dst
}

// Size is what slots take, in bytes.
type Size struct {
	Used     uint64 // of given ones
	Reserved uint64 // of all pages, and of lists
	Taken    int    // how many indexes are in use, or retired
}

// Size measures the slots of the homes of a shard, for its owner.
func (a *Allocator) Size() (s Size) {
	a.each(func(x *home) {
		s.Taken += int(x.given) - len(x.free)
		s.Used += slotBytes * uint64(int(x.given)-len(x.free)-x.retired)
		s.Reserved += slotBytes*pageSize*uint64(x.pages()) + indexBytes*uint64(cap(x.free))
	})
	return s
}
