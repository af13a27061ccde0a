package names

import (
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
)

// binding says that an entity has a name. It is never changed.
type binding[K Name] struct {
	hash   uint64 // of the name
	name   K
	handle handle.Handle
}

// index finds bindings by name, or by handle.
//
// Invariants: a binding stays findable while others come and go. A used slot of a
// table becomes nil again only if no binding follows it.
//
// Ownership: one writer at a time, the refresh or the goroutine that has the idle world. Any
// goroutine may look up at any time.
type index[K Name] struct {
	stripes [stripes]stripe[K]
	removed *binding[K] // stands where a binding was removed; its handle is None
	hash    func(*binding[K]) uint64
	changed bool   // since a caller last reset it
	now     uint64 // the number of the next copy
	last    uint64 // the value of now when a stripe last changed
}

// stripe is a part of an index, which grows by itself.
type stripe[K Name] struct {
	table atomic.Pointer[table[K]] // nil until used
	used  int                      // slots of the table that are not nil
	live  int                      // of those, bindings
	// changed is the number of the copy that was the next one when the stripe changed.
	changed uint64
}

// table has a length that is a power of two, and at least half of it is nil.
type table[K Name] struct{ slots []slot[K] }

type slot[K Name] = atomic.Pointer[binding[K]]

// slotBytes is the size of a slot.
const slotBytes = bits.UintSize / 8

const (
	stripeBits = 6
	stripes    = 1 << stripeBits
	slotsMin   = 8
	slotsKept  = 64 // a table as long as this stays so, however few bindings it has
)

func newIndex[K Name](hash func(*binding[K]) uint64) *index[K] {
	return &index[K]{removed: new(binding[K]), hash: hash, now: 1}
}

// hashHandle spreads handles over 64 bits.
func hashHandle(h handle.Handle) uint64 {
	high, low := bits.Mul64(uint64(h)^0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93)
	return high ^ low
}

func (i *index[K]) stripe(hash uint64) *stripe[K] { return &i.stripes[hash>>(64-stripeBits)] }

// named returns the binding of a name, or nil. Safe from any goroutine; it looks at
// each slot once at most.
func (i *index[K]) named(hash uint64, name K) *binding[K] {
	t := i.stripe(hash).table.Load()
	if t == nil {
		return nil
	}
	for k, n := hash, len(t.slots); n > 0; k, n = k+1, n-1 {
		b := t.slots[k&uint64(len(t.slots)-1)].Load()
		if b == nil {
			return nil
		}
		if b.hash == hash && b.name == name && b != i.removed {
			return b
		}
	}
	return nil
}

// of returns the binding of an entity, or nil. As named.
func (i *index[K]) of(h handle.Handle) *binding[K] {
	hash := hashHandle(h)
	t := i.stripe(hash).table.Load()
	if t == nil {
		return nil
	}
	for k, n := hash, len(t.slots); n > 0; k, n = k+1, n-1 {
		b := t.slots[k&uint64(len(t.slots)-1)].Load()
		if b == nil {
			return nil
		}
		if b.handle == h && b != i.removed {
			return b
		}
	}
	return nil
}

// lookup returns the entity that has a name, and whether there is one.
func (i *index[K]) lookup(hash uint64, name K) (handle.Handle, bool) {
	if b := i.named(hash, name); b != nil {
		return b.handle, true
	}
	return handle.None, false
}

// nameOf returns the name of an entity, and whether it has one.
func (i *index[K]) nameOf(h handle.Handle) (K, bool) {
	if b := i.of(h); b != nil {
		return b.name, true
	}
	return *new(K), false
}

// touch notes that a stripe changes.
func (i *index[K]) touch(s *stripe[K]) { i.changed, i.last, s.changed = true, i.now, i.now }

// put adds a binding whose name or handle is not in the index.
func (i *index[K]) put(b *binding[K]) {
	s := i.stripe(i.hash(b))
	i.touch(s)
	t := s.table.Load()
	if t == nil || 2*(s.used+1) > len(t.slots) {
		n := slotsMin
		if t != nil {
			if n = len(t.slots); 4*s.live >= n {
				n *= 2
			}
		}
		t = i.rebuild(s, t, n)
	}
	if i.fill(t, b) {
		s.used++
	}
	s.live++
}

// fill puts a binding in the first slot that is free, and reports whether it was nil.
func (i *index[K]) fill(t *table[K], b *binding[K]) bool {
	for k := i.hash(b); ; k++ {
		slot := &t.slots[k&uint64(len(t.slots)-1)]
		if was := slot.Load(); was == nil || was == i.removed {
			slot.Store(b) // publishes the binding
			return was == nil
		}
	}
}

// rebuild gives a stripe a table of n slots, without removed bindings. A reader of the old table
// finds what was there.
func (i *index[K]) rebuild(s *stripe[K], old *table[K], n int) *table[K] {
	next := &table[K]{slots: make([]slot[K], n)}
	if old != nil {
		for k := range old.slots {
			if b := old.slots[k].Load(); b != nil && b != i.removed {
				i.fill(next, b)
			}
		}
	}
	s.used = s.live
	s.table.Store(next) // publishes the table and what is in it
	return next
}

// replace puts a binding in the place of another with the same name or handle.
func (i *index[K]) replace(old, b *binding[K]) {
	i.touch(i.stripe(i.hash(old)))
	slots, at := i.find(old)
	slots[at].Store(b) // publishes the binding
}

// remove removes a binding. A table that uses only a sixteenth of its slots gives back
// three quarters of them.
func (i *index[K]) remove(b *binding[K]) {
	s := i.stripe(i.hash(b))
	i.touch(s)
	slots, at := i.find(b)
	mask := uint64(len(slots) - 1)
	s.live--
	slots[at].Store(i.removed)
	if slots[(at+1)&mask].Load() == nil { // no binding is found by way of this slot
		for ; slots[at].Load() == i.removed; at = (at - 1) & mask {
			slots[at].Store(nil)
			s.used--
		}
	}
	if len(slots) > max(slotsKept, 16*s.live) {
		i.rebuild(s, s.table.Load(), max(slotsKept, len(slots)/4))
	}
}

// empty removes all bindings.
func (i *index[K]) empty() {
	for k := range i.stripes {
		if s := &i.stripes[k]; s.table.Load() != nil {
			i.touch(s)
			s.table.Store(nil)
			s.used, s.live = 0, 0
		}
	}
}

// find returns the slot of a binding that is in the index.
func (i *index[K]) find(b *binding[K]) (slots []slot[K], at uint64) {
	slots = i.stripe(i.hash(b)).table.Load().slots
	mask := uint64(len(slots) - 1)
	for at = i.hash(b) & mask; slots[at].Load() != b; at = (at + 1) & mask {
	}
	return slots, at
}

// all calls f with all bindings, in any order.
func (i *index[K]) all(f func(*binding[K])) {
	for k := range i.stripes {
		i.each(k, f)
	}
}

// each calls f with the bindings of a stripe, in any order.
func (i *index[K]) each(n int, f func(*binding[K])) {
	t := i.stripes[n].table.Load()
	if t == nil {
		return
	}
	for k := range t.slots {
		if b := t.slots[k].Load(); b != nil && b != i.removed {
			f(b)
		}
	}
}

// ordered returns the bindings, about n, in the order of their handles.
func (i *index[K]) ordered(n int) []*binding[K] {
	all := make([]*binding[K], 0, n)
	i.all(func(b *binding[K]) { all = append(all, b) })
	slices.SortFunc(all, func(a, b *binding[K]) int { return a.handle.Compare(b.handle) })
	return all
}

// frozen is a copy of names. Bindings are never changed, so it shares them.
//
// Ownership: as for extend.Copy.
type frozen[K Name] struct {
	byName   index[K]
	byHandle index[K]
	count    int
	at       uint64 // which copy it is
	runs     extend.Runs[slot[K]]
}

// follow prepares the index to become a copy of another, and finds what must be copied.
func (i *index[K]) follow(from *index[K], at uint64, runs *extend.Runs[slot[K]]) {
	i.removed = from.removed
	for k := range from.stripes {
		s, to := &from.stripes[k], &i.stripes[k]
		t := s.table.Load()
		to.changed = s.changed
		if t == nil || at > 0 && s.changed <= at {
			continue
		}
		own := to.table.Load()
		if own == nil || len(own.slots) != len(t.slots) {
			own = &table[K]{slots: make([]slot[K], len(t.slots))}
			to.table.Store(own)
		}
		runs.Add(own.slots, t.slots)
	}
}

// bytes returns the memory of the tables.
func (i *index[K]) bytes() (n uint64) {
	for k := range i.stripes {
		if t := i.stripes[k].table.Load(); t != nil {
			n += uint64(len(t.slots)) * slotBytes
		}
	}
	return n
}

// Part does a part of the copying.
func (f *frozen[K]) Part(i int) { f.runs.Part(i) }

// Bytes returns the memory of the copy, without that of the bindings.
func (f *frozen[K]) Bytes() uint64 { return f.byName.bytes() + f.byHandle.bytes() }
