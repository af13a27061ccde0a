package names

import (
	"fmt"
	"hash/maphash"
	"iter"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/world"
)

// Reader reads Names: those of a world now, or those of a world.Frame as they were then.
//
// Ownership: any goroutine; of a frame until that is released.
type Reader[K Name] struct {
	names  *Names[K]
	frozen *frozen[K]   // nil but for a frame
	frame  world.Binder // nil but for a frame
}

// Read returns a Reader: given a World or a Build, of the names now, by the calls of Names; given a
// Frame, of the names as they were then. It panics if the frame's view does not have the names.
func (n *Names[K]) Read(a world.Binder) *Reader[K] {
	of, c := n.driver.Binds(a, n.part, "Names.Read")
	if !of {
		panic(fmt.Sprintf("names: Names.Read of %q, which belong to another world than the reader; use that world's own", n.label))
	}
	if x, ok := c.(*frozen[K]); ok {
		return &Reader[K]{names: n, frozen: x, frame: a}
	}
	return &Reader[K]{names: n}
}

// guard panics if the frame is released.
func (r *Reader[K]) guard() {
	if check.Enabled && r.frame != nil {
		r.names.driver.Binds(r.frame, r.names.part, "names.Reader")
	}
}

// Lookup returns the entity that has a name, and whether there is one.
func (r *Reader[K]) Lookup(name K) (handle.Handle, bool) {
	r.guard()
	if r.frozen == nil {
		return r.names.Lookup(name)
	}
	return r.frozen.byName.lookup(maphash.Comparable(r.names.seed, name), name)
}

// NameOf returns the name of an entity, and whether it has one.
func (r *Reader[K]) NameOf(h handle.Handle) (K, bool) {
	r.guard()
	if r.frozen == nil {
		return r.names.NameOf(h)
	}
	return r.frozen.byHandle.nameOf(h)
}

// Len returns the number of names.
func (r *Reader[K]) Len() int {
	r.guard()
	if r.frozen == nil {
		return r.names.Len()
	}
	return r.frozen.count
}

// All yields the entities that have a name, in the order of their handles, with the names. A Reader
// of a frame may call it at any time, another as Names.All. It sorts them, O(n log n).
func (r *Reader[K]) All() iter.Seq2[handle.Handle, K] {
	r.guard()
	if r.frozen == nil {
		return r.names.all("Reader.All")
	}
	return func(yield func(handle.Handle, K) bool) {
		for _, b := range r.frozen.byHandle.ordered(r.frozen.count) {
			if !yield(b.handle, b.name) {
				return
			}
		}
	}
}

// ordered returns the bindings, about n, in the order of their handles.
func (x *index[K]) ordered(n int) []*binding[K] {
	all := make([]*binding[K], 0, n)
	x.all(func(b *binding[K]) { all = append(all, b) })
	slices.SortFunc(all, func(a, b *binding[K]) int { return a.handle.Compare(b.handle) })
	return all
}

// frozen is a copy of names. Bindings are never changed, so it shares them.
//
// Ownership: as that of drive.Copy.
type frozen[K Name] struct {
	byName   index[K]
	byHandle index[K]
	count    int
	at       uint64 // which copy it is
	runs     drive.Runs[slot[K]]
}

// Changed reports whether the names differ from those in the newest copy.
func (k adapter[K]) Changed() bool { return k.byHandle.last == k.byHandle.now }

// CopySize returns how many bytes a copy takes.
func (k adapter[K]) CopySize() uint64 { return k.byName.bytes() + k.byHandle.bytes() }

// Copy begins a copy: of the stripes that have changed since the old one was begun.
func (k adapter[K]) Copy(old drive.Copy) (drive.Copy, int, int) {
	x, _ := old.(*frozen[K])
	if x == nil {
		x = new(frozen[K])
	}
	x.runs.Reset()
	x.byName.follow(k.byName, x.at, &x.runs)
	x.byHandle.follow(k.byHandle, x.at, &x.runs)
	x.count, x.at = k.Len(), k.byHandle.now
	k.byName.now++
	k.byHandle.now++
	parts, slots := x.runs.Parts()
	return x, parts, slots * slotBytes
}

// follow prepares the index to become a copy of another, and finds what must be copied.
func (x *index[K]) follow(from *index[K], at uint64, runs *drive.Runs[slot[K]]) {
	x.removed = from.removed
	for i := range from.stripes {
		s, to := &from.stripes[i], &x.stripes[i]
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
func (x *index[K]) bytes() (n uint64) {
	for i := range x.stripes {
		if t := x.stripes[i].table.Load(); t != nil {
			n += uint64(len(t.slots)) * slotBytes
		}
	}
	return n
}

// Part does a part of the copying.
func (x *frozen[K]) Part(i int) { x.runs.Part(i) }

// Bytes returns the memory of the copy, without that of the bindings.
func (x *frozen[K]) Bytes() uint64 { return x.byName.bytes() + x.byHandle.bytes() }

// Forget has nothing to do: each stripe keeps when it last changed.
func (k adapter[K]) Forget() {}
