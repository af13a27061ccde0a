package slots

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/paged"
)

// ErrIndexes is returned when a home has no index left to give.
var ErrIndexes = errors.New("world: out of indexes")

// Directory finds the slot of a handle of any home, and has the limits of all homes; see Lookup.
//
// Ownership: mu guards growth. Any goroutine may look up at any time without a lock.
type Directory struct {
	Lookup
	memory   *mem.Memory
	liveness *Liveness
	indexMax uint32
	versions versions
	shards   []*Allocator                // by number
	flags    paged.Shared[atomic.Uint64] // of entities

	// Written by the idle world while it is new; see arrange.
	homes, portsHome atomic.Uint32
	owners           []uint32 // by home: the shard that has it; for the home of ports the number of shards

	mu struct {
		sync.Mutex
		pages paged.Words[Slot] // Lookup reads its tables
	}
}

// Init makes the directory of a new world for the given number of homes, without a page: one for each
// shard, and then one for ports. Indexes run from 0 to indexMax, versions from 1 to versionMax;
// each incarnation has versionsEach of them. Init panics if a handle cannot name so many homes, or
// if none is left for the shards.
func (d *Directory) Init(homes int, indexMax, versionMax, versionsEach uint32, m *mem.Memory) {
	if homes < 2 || homes > handle.HomeMax+1 {
		panic(fmt.Sprintf("world: %d homes; there are 2 to %d, counting that of ports", homes, handle.HomeMax+1))
	}
	d.Lookup, d.memory, d.indexMax = newLookup(homesMost(homes)), m, indexMax
	d.versions = versions{first: 1, last: min(versionsEach, versionMax), max: versionMax, each: versionsEach}
	d.shards = make([]*Allocator, homes-1)
	dir := d.Lookup // a copy, so that a Liveness does not keep the directory in memory
	d.liveness = &Liveness{}
	d.liveness.dir.Store(&dir)
	d.arrange(Layout{homes, homes - 1})
}

// pagesAtOnce is the highest number of pages of slots that are allocated at one time. Fresh memory
// costs some 20 µs for 64 KB, and a create must wait for it.
const pagesAtOnce = 8

// grow adds the next block of pages to a home, half as many as it has. It does nothing if the home
// has more than least pages by now: several goroutines may need the same page at the same time.
// After an error it has added none.
func (d *Directory) grow(home uint32, least int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	have := d.Pages(home)
	if have > least {
		return nil
	}
	limit := int(d.indexMax)>>pageBits + 1
	if have >= limit {
		return d.errIndexes(home, 0)
	}
	more := min(max(1, have/2), pagesAtOnce, limit-have)
	block := mem.Slice[page](d.memory.Take(pageType, more), more)
	for i := range block {
		first := paged.First(int(home), have+i)
		if d.versions.first > 1 { // in the first window a slot that was never used is zero
			d.versions.begin(&block[i], first, nil)
		}
		d.mu.pages.Put(first, &block[i]) // readers may still use the old table
	}
	d.enter(home, d.mu.pages.Homes[home])
	return nil
}

// Present is Alive for a refresh: it also returns true for staged atoms. Any worker may ask about
// any home.
func (d *Directory) Present(h handle.Handle) bool {
	slot := d.Slot(h)
	return slot != nil && (slot.Load()^uint32(h))&^StagedBit == 0 && h.Version() != 0
}

// LocateStaged is Locate for a refresh: it also finds staged atoms. The caller must know that
// nobody moves them.
func (d *Directory) LocateStaged(h handle.Handle) Loc {
	if slot := d.Slot(h); slot != nil {
		return slot.LocStaged(h)
	}
	return 0
}

// Look returns the present version of the slot that h names, and its state. A slot that was never
// used is free with its first version, whether its page is there or not: a world that was loaded may
// have fewer pages. Look returns false if h names no slot that there can be. Safe from any
// goroutine.
func (d *Directory) Look(h handle.Handle) (version uint32, state State, ok bool) {
	if slot := d.Slot(h); slot != nil {
		if version, state = unpack(slot.Load(), h); version != 0 {
			return version, state, true
		}
	}
	return d.versions.first, StateUnused, int(h.Home()) < d.Homes() && h.Index() <= d.indexMax
}

// IsPorts reports whether the home of h is the home of ports.
func (d *Directory) IsPorts(h handle.Handle) bool { return h.Home() == d.ports() }

// errIndexes returns the error for a home without indexes. retired is how many slots are known to
// be lost because their versions are used up.
func (d *Directory) errIndexes(home uint32, retired int) error {
	name := fmt.Sprintf("home %d", home)
	if home == d.ports() {
		name = "the home of ports, which all ports share," // its number is that of no shard
	}
	if retired > 0 {
		option := "VersionMax"
		if d.versions.each < d.versions.max {
			option = "VersionsEach"
		}
		return fmt.Errorf("%w: %s has given all of IndexMax = %d, and %d are retired after %s = %d uses",
			ErrIndexes, name, d.indexMax, retired, option, d.versions.last-d.versions.first+1)
	}
	return fmt.Errorf("%w: %s has given all of IndexMax = %d", ErrIndexes, name, d.indexMax)
}

// EndAll makes every living handle stale, without a refresh, when the world breaks and the
// directory is no longer used.
func (d *Directory) EndAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for home := range uint32(d.Homes()) {
		for n := range uint32(d.Pages(home) * pageSize) {
			h := Compose(home, n, 0)
			slot := d.Slot(h)
			version, state := unpack(slot.Load(), h)
			if version != 0 && state != StateUnused && state != StateRetired {
				slot.free(h|handle.Handle(version), d.versions)
			}
		}
	}
}

// Flags is a set of up to FlagsMax flags of an entity, one bit each.
type Flags uint8

// FlagsMax is the number of flags.
const FlagsMax = 8

// The flags of an entity are kept twice. The shard that has its row keeps them by row. In addition
// each slot has a word that any goroutine may read at any time, and that the refresh publishes:
//
//	word  | low word of the handle (32 bits) | 0 | flags (8 bits) |   atomic
//
// So a word belongs to one entity: for a later entity in the same slot it holds no flags. A
// home in which no entity was ever flagged has no words.

// Flags returns the flags of an entity as of the last refresh, or none if it is not
// alive. Safe from any goroutine at any time; it never blocks and never writes.
func (d *Directory) Flags(h handle.Handle) Flags {
	if !d.Alive(h) { // otherwise h may name a home that does not exist
		return 0
	}
	word := d.flags.At(h)
	if word == nil {
		return 0
	}
	if w := word.Load(); uint32(w>>32) == uint32(h) {
		return Flags(w)
	}
	return 0
}

// PublishFlags publishes f as the flags that any goroutine may read. The caller owns the shard that
// has the atom.
func (d *Directory) PublishFlags(h handle.Handle, f Flags) {
	word := d.flags.At(h)
	if word == nil {
		word = d.addFlags(h)
	}
	word.Store(uint64(uint32(h))<<32 | uint64(f))
}

// addFlags makes the page of a slot's word, unless another goroutine has made it in the meantime.
func (d *Directory) addFlags(h handle.Handle) *atomic.Uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.flags.Reach(h.Home(), d.Pages(h.Home()))
	return d.flags.Make(h)
}
