package wheel

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
)

const (
	slotsFirst = 64
	slotsMost  = 16384
	// slotEntries is how many entries a slot has on average before there are more slots.
	slotEntries = 64

	pageBits = 10 // entries in a page
	pageMask = 1<<pageBits - 1
)

// Most is how many entries a Wheel can have.
const Most = 1 << indexBits

// Wheel holds the entries that were set in one home.
//
// Invariants: an entry is in the list of the slot of its tick, behind all that were set before it,
// or in the list of free entries.
//
// Ownership: the actor of the home; in a refresh, the steps of the home.
type Wheel struct {
	slots []list
	pages [][]Entry
	used  int // how many indexes were ever used
	free  list
	count int // how many entries are set
	kin   *kin

	// Still says that there are not more lists for now, so that Undo finds an entry's neighbours.
	Still bool

	Fired []Fired // by the last Collect, in the order in which they were set
}

// list is a chain of entries, by index + 1.
type list struct{ first, last, len uint32 }

// Entry is an entry that is set, or free; a free one has tick 0.
type Entry struct {
	To         handle.Handle
	due, armed uint64 // ticks
	Period     uint64 // 0: once
	generation uint32
	prev, next uint32 // index + 1
}

// Armed returns the tick in which the entry was set.
func (x *Entry) Armed() uint64 { return x.armed }

// Due returns the tick in which the entry is due.
func (x *Entry) Due() uint64 { return x.due }

// Fired is an entry that was due, or whose entity is dead.
type Fired struct {
	To    handle.Handle
	Armed uint64
	ID    ID
	Owner int32 // the shard of the entity; Gone if it is dead
	Last  bool  // the entry is free now
}

// Home returns the home in which the idle world acts for an entity, the first of its shard, or Gone.
func Home(space *store.Space, owner int32) int {
	if owner == Gone {
		return Gone
	}
	return space.FirstOf(int(owner))
}

// Gone is the owner of an entity that is dead.
const Gone = -1

// Owner returns a function that returns the shard of an entity, or Gone.
func Owner(space *store.Space) func(handle.Handle) int32 {
	return func(h handle.Handle) int32 {
		if l := space.Locate(h); l != 0 {
			return int32(space.Owner(l))
		}
		return Gone
	}
}

// Count returns how many entries are set.
func (w *Wheel) Count() int { return w.count }

// InSlot returns how many entries are in the slot of a tick.
func (w *Wheel) InSlot(tick uint64) int { return int(w.slot(tick).len) }

// At returns the entry at an index.
func (w *Wheel) At(index int) *Entry { return &w.pages[index>>pageBits][index&pageMask] }

// Add sets a new entry, and returns its index and ID. The caller sees to it that there are no more
// than Most.
func (w *Wheel) Add(home int, to handle.Handle, due, armed, period uint64) (index int, id ID) {
	index = w.take()
	x := w.At(index)
	x.To, x.Period = to, period
	w.Set(index, due, armed)
	w.grow()
	return index, idOf(home, index, x.generation)
}

// take takes a free index.
func (w *Wheel) take() int {
	w.count++
	if w.free.len > 0 {
		index := int(w.free.first - 1)
		w.remove(&w.free, index)
		return index
	}
	if w.used>>pageBits == len(w.pages) {
		w.pages = append(w.pages, make([]Entry, 1<<pageBits))
	}
	w.used++
	w.At(w.used - 1).generation = 1
	return w.used - 1
}

// Release frees the entry at an index, which is in no slot.
func (w *Wheel) Release(index int) {
	x := w.At(index)
	*x = Entry{generation: x.generation%generationMost + 1}
	w.append(&w.free, index)
	w.count--
}

// Set puts the entry at an index, which is in no slot, behind those of its tick.
func (w *Wheel) Set(index int, due, armed uint64) {
	x := w.At(index)
	x.due, x.armed = due, armed
	w.append(w.slot(due), index)
	w.join(index)
}

// Unset takes the entry at an index out of its slot.
func (w *Wheel) Unset(index int) {
	w.remove(w.slot(w.At(index).due), index)
	w.part(index)
}

// slot returns the list of a tick's slot.
func (w *Wheel) slot(due uint64) *list { return &w.slots[due&uint64(len(w.slots)-1)] }

// append puts an entry at the end of a list.
func (w *Wheel) append(l *list, index int) {
	x := w.At(index)
	x.prev, x.next = l.last, 0
	if l.len == 0 {
		l.first = uint32(index) + 1
	} else {
		w.At(int(l.last - 1)).next = uint32(index) + 1
	}
	l.last = uint32(index) + 1
	l.len++
}

// remove takes an entry out of the list that it is in.
func (w *Wheel) remove(l *list, index int) {
	x := w.At(index)
	if x.prev == 0 {
		l.first = x.next
	} else {
		w.At(int(x.prev - 1)).next = x.next
	}
	if x.next == 0 {
		l.last = x.prev
	} else {
		w.At(int(x.next - 1)).prev = x.prev
	}
	l.len--
}

// grow doubles the slots when they have become full: it divides each slot in two, both in the same
// order.
func (w *Wheel) grow() {
	if w.Still || w.count <= slotEntries*len(w.slots) || len(w.slots) == slotsMost {
		return
	}
	old := w.slots
	w.slots = make([]list, 2*len(old))
	for _, l := range old {
		for at := l.first; at != 0; {
			index := int(at - 1)
			at = w.At(index).next
			w.append(w.slot(w.At(index).due), index)
		}
	}
}

// IDAt returns the ID of the entry at an index.
func (w *Wheel) IDAt(home, index int) ID { return idOf(home, index, w.At(index).generation) }

// Find returns the index of the entry with an ID of this wheel. It returns false if the entry is
// gone.
func (w *Wheel) Find(id ID) (index int, ok bool) {
	index = id.Index()
	if index >= w.used {
		return 0, false
	}
	x := w.At(index)
	return index, x.generation == id.generation() && x.due != 0
}

// Each calls f with each entry that is set. f changes nothing.
func (w *Wheel) Each(home int, f func(index int, id ID)) {
	for _, l := range w.slots {
		for at := l.first; at != 0; at = w.At(int(at - 1)).next {
			f(int(at-1), w.IDAt(home, int(at-1)))
		}
	}
}

// Collect takes out the entries that are due at a tick, and drops those in its slot whose entity is
// dead. owner returns the shard of an entity, or Gone. The worker of the home calls it in the step
// deliver of a refresh; Fired has the result.
func (w *Wheel) Collect(home int, tick uint64, owner func(handle.Handle) int32) {
	w.Fired = w.Fired[:0]
	l := w.slot(tick)
	for at := l.first; at != 0; {
		index := int(at - 1)
		x := w.At(index)
		at = x.next
		by := owner(x.To)
		if by != Gone && x.due != tick {
			continue
		}
		w.remove(l, index)
		w.part(index)
		f := Fired{To: x.To, Armed: x.armed, ID: idOf(home, index, x.generation), Owner: by, Last: by == Gone || x.Period == 0}
		w.Fired = append(w.Fired, f)
		if f.Last {
			w.Release(index)
		} else {
			w.Set(index, tick+x.Period, tick)
		}
	}
}
