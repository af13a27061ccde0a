package timer

import "github.com/atoll-sim/atoll/handle"

const (
	slotsFirst = 64
	slotsMost  = 16384
	// slotTimers is how many timers a slot has on average before there are more slots.
	slotTimers = 64

	pageBits = 10 // timers in a page
	pageMask = 1<<pageBits - 1
)

// wheel holds the timers that were set in one home.
//
// Invariants: a timer is in the list of the slot of its tick, behind all that were set before it, or
// in the list of those that are free.
//
// Ownership: whoever acts in the home; in a refresh, its steps.
type wheel struct {
	slots   []list
	pages   [][]timer
	used    int // how many indexes were ever used
	free    list
	count   int      // of those that are set
	changes []change // to other wheels' timers, for the refresh
	asked   []change // by others, in a refresh

	fired []fired // in the last refresh that looked: by owner, and then in the order in which they were set
	_     [64]byte
}

// list is a chain of timers, by index + 1.
type list struct{ first, last, len uint32 }

// timer is one that is set, or free, of which the tick is 0.
type timer struct {
	to         handle.Handle
	due, armed uint64 // ticks
	period     uint64 // 0: once
	generation uint32
	prev, next uint32 // index + 1
}

// change is a Cancel or Reset of a timer in another wheel.
type change struct {
	id         ID
	due, armed uint64 // due is 0 to cancel
}

// fired is a timer that was due.
type fired struct {
	to    handle.Handle
	armed uint64
	index uint32
	owner int32 // of the entity; gone if there is none
	last  bool  // the timer is free now
}

// gone is the owner of who is dead.
const gone = -1

func newWheel() wheel { return wheel{slots: make([]list, slotsFirst)} }

func (w *wheel) at(index int) *timer { return &w.pages[index>>pageBits][index&pageMask] }

// take takes a free index.
func (w *wheel) take() int {
	w.count++
	if w.free.len > 0 {
		index := int(w.free.first - 1)
		w.remove(&w.free, index)
		return index
	}
	if w.used>>pageBits == len(w.pages) {
		w.pages = append(w.pages, make([]timer, 1<<pageBits))
	}
	w.used++
	w.at(w.used - 1).generation = 1
	return w.used - 1
}

// release frees the timer at an index, which is in no list.
func (w *wheel) release(index int) {
	t := w.at(index)
	*t = timer{generation: t.generation%generationMost + 1}
	w.append(&w.free, index)
	w.count--
}

// set puts the timer at an index, which is in no list, behind those of its tick.
func (w *wheel) set(index int, due, armed uint64) {
	t := w.at(index)
	t.due, t.armed = due, armed
	w.append(w.slot(due), index)
}

// unset takes the timer at an index out of its slot.
func (w *wheel) unset(index int) { w.remove(w.slot(w.at(index).due), index) }

func (w *wheel) slot(due uint64) *list { return &w.slots[due&uint64(len(w.slots)-1)] }

func (w *wheel) append(l *list, index int) {
	t := w.at(index)
	t.prev, t.next = l.last, 0
	if l.len == 0 {
		l.first = uint32(index) + 1
	} else {
		w.at(int(l.last - 1)).next = uint32(index) + 1
	}
	l.last = uint32(index) + 1
	l.len++
}

func (w *wheel) remove(l *list, index int) {
	t := w.at(index)
	if t.prev == 0 {
		l.first = t.next
	} else {
		w.at(int(t.prev - 1)).next = t.next
	}
	if t.next == 0 {
		l.last = t.prev
	} else {
		w.at(int(t.next - 1)).prev = t.prev
	}
	l.len--
}

// grow makes twice as many slots when they have become full: one is divided in two, each in the same
// order.
func (w *wheel) grow() {
	if w.count <= slotTimers*len(w.slots) || len(w.slots) == slotsMost {
		return
	}
	old := w.slots
	w.slots = make([]list, 2*len(old))
	for _, l := range old {
		for at := l.first; at != 0; {
			index := int(at - 1)
			at = w.at(index).next
			w.append(w.slot(w.at(index).due), index)
		}
	}
}

// find returns the index of the timer with an ID of this wheel.
func (w *wheel) find(id ID) (index int, ok bool) {
	index = id.index()
	if index >= w.used {
		return 0, false
	}
	t := w.at(index)
	return index, t.generation == id.generation() && t.due != 0
}

// collect takes out what is due at a tick, and drops the timers in its slot whose entity is dead.
// owner returns the shard of an entity, or gone.
func (w *wheel) collect(tick uint64, owner func(handle.Handle) int32) {
	w.fired = w.fired[:0]
	l := w.slot(tick)
	for at := l.first; at != 0; {
		index := int(at - 1)
		t := w.at(index)
		at = t.next
		by := owner(t.to)
		if by != gone && t.due != tick {
			continue
		}
		w.remove(l, index)
		x := fired{to: t.to, armed: t.armed, index: uint32(index), owner: by, last: by == gone || t.period == 0}
		w.fired = append(w.fired, x)
		if x.last {
			w.release(index)
		} else {
			w.set(index, tick+t.period, tick)
		}
	}
}

// ID names a timer that is set: keep it in a component to reset or cancel the timer. It is None for
// one that a port has set. The ID of a timer that is gone is never given to another, until its place
// was used 268 million times.
type ID uint64

// None is the ID of no timer.
const None ID = 0

// An ID has the home of a timer, its index there, and the generation of that.
const (
	generationBits = 28
	generationMost = 1<<generationBits - 1
	indexBits      = 24
)

func idOf(home, index int, generation uint32) ID {
	return ID(home)<<(indexBits+generationBits) | ID(index)<<generationBits | ID(generation)
}

func (id ID) home() int          { return int(id >> (indexBits + generationBits)) }
func (id ID) index() int         { return int(id>>generationBits) & (1<<indexBits - 1) }
func (id ID) generation() uint32 { return uint32(id) & generationMost }
