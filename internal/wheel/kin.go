package wheel

import (
	"math/bits"

	"github.com/atoll-sim/atoll/handle"
)

// kin finds the entries of an entity. It is made when it is first needed, so a Wheel that nobody asks
// pays a comparison. What it finds does not depend on when it was made: entries of the same tick are
// found in the order of their slot.
//
// Ownership: as for the Wheel.
type kin struct {
	lists []list   // by hash of the handle, in the order in which the entries were set
	links [][]link // by index, in pages as the entries are
	// passing says that it was made while the Wheel was Still: there may be an Undo from before.
	passing bool
}

// link has the neighbours of an entry in its list, by index + 1.
type link struct{ prev, next uint32 }

// entriesEach is how many entries a list has on average before there are more lists.
const entriesEach = 2

// FirstOf returns the index of the first entry of an entity, or -1; NextOf returns the next one after
// another. Entries that are due at the same tick come in the order in which they were set.
func (w *Wheel) FirstOf(h handle.Handle) int {
	if w.count == 0 {
		return -1
	}
	if w.kin == nil {
		w.findKin()
	}
	return w.from(w.kin.list(h).first, h)
}

// NextOf is described at FirstOf.
func (w *Wheel) NextOf(index int) int { return w.from(w.kin.at(index).next, w.At(index).To) }

// from returns the index of the first entry of an entity in the rest of a list, or -1.
func (w *Wheel) from(at uint32, h handle.Handle) int {
	for ; at != 0; at = w.kin.at(int(at - 1)).next {
		if w.At(int(at-1)).To == h {
			return int(at - 1)
		}
	}
	return -1
}

// findKin makes the kin.
func (w *Wheel) findKin() {
	w.kin = &kin{lists: make([]list, 1<<bits.Len(uint(w.count/entriesEach))), passing: w.Still}
	for _, l := range w.slots {
		for at := l.first; at != 0; at = w.At(int(at - 1)).next {
			w.kin.append(w.At(int(at-1)).To, int(at-1))
		}
	}
}

// join puts an entry that was set into the list of its entity, if there is one.
func (w *Wheel) join(index int) {
	if k := w.kin; k == nil {
	} else if w.count > 2*entriesEach*len(k.lists) && !w.Still {
		w.findKin()
	} else {
		k.append(w.At(index).To, index)
	}
}

// part takes an entry that leaves its slot out of the list of its entity.
func (w *Wheel) part(index int) {
	k := w.kin
	if k == nil {
		return
	}
	x, l := *k.at(index), k.list(w.At(index).To)
	if x.prev == 0 {
		l.first = x.next
	} else {
		k.at(int(x.prev - 1)).next = x.next
	}
	if x.next == 0 {
		l.last = x.prev
	} else {
		k.at(int(x.next - 1)).prev = x.prev
	}
}

// linkOf returns the neighbours of an entry, for rejoin.
func (w *Wheel) linkOf(index int) link {
	if w.kin == nil {
		return link{}
	}
	return *w.kin.at(index)
}

// rejoin puts an entry between its former neighbours.
func (w *Wheel) rejoin(index int, x link) {
	k := w.kin
	if k == nil {
		return
	}
	l := k.list(w.At(index).To)
	*k.at(index) = x
	if x.prev == 0 {
		l.first = uint32(index) + 1
	} else {
		k.at(int(x.prev - 1)).next = uint32(index) + 1
	}
	if x.next == 0 {
		l.last = uint32(index) + 1
	} else {
		k.at(int(x.next - 1)).prev = uint32(index) + 1
	}
}

// list returns the list for an entity.
func (k *kin) list(h handle.Handle) *list {
	high, low := bits.Mul64(uint64(h)^0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93)
	return &k.lists[(high^low)&uint64(len(k.lists)-1)]
}

// at returns the neighbours of an entry.
func (k *kin) at(index int) *link {
	for index>>pageBits >= len(k.links) {
		k.links = append(k.links, make([]link, 1<<pageBits))
	}
	return &k.links[index>>pageBits][index&pageMask]
}

// append puts an entry at the end of a list.
func (k *kin) append(h handle.Handle, index int) {
	l := k.list(h)
	*k.at(index) = link{prev: l.last}
	if l.last == 0 {
		l.first = uint32(index) + 1
	} else {
		k.at(int(l.last - 1)).next = uint32(index) + 1
	}
	l.last = uint32(index) + 1
}
