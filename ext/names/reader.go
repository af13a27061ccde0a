package names

import (
	"fmt"
	"hash/maphash"
	"iter"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// Reader reads Names: those of a world now, or those of a world.Frame as they were then.
//
// Ownership: any goroutine; of a frame until that is released.
type Reader[K Name] struct {
	names  *Names[K]
	frozen *frozen[K]   // nil but for a frame
	frame  world.Binder // nil but for a frame
	tx     *engine.Tx   // nil but for a transaction
}

// guard panics if the frame is released.
func (r *Reader[K]) guard() {
	if check.Enabled && r.frame != nil {
		r.names.engine.Binds(r.frame, r.names.part, "names.Reader")
	}
}

// Lookup returns the entity that has a name, and whether there is one.
func (r *Reader[K]) Lookup(name K) (handle.Handle, bool) {
	r.guard()
	if r.tx != nil {
		r.tx.Must("names.Reader.Lookup")
		return r.names.lookupIn(r.tx, name)
	}
	if r.frozen == nil {
		return r.names.Lookup(name)
	}
	return r.frozen.byName.lookup(maphash.Comparable(r.names.seed, name), name)
}

// NameOf returns the name of an entity, and whether it has one.
func (r *Reader[K]) NameOf(h handle.Handle) (K, bool) {
	r.guard()
	if r.tx != nil {
		r.tx.Must("names.Reader.NameOf")
		if !r.tx.Living(h) {
			return *new(K), false
		}
		return r.names.nameIn(h)
	}
	if r.frozen == nil {
		return r.names.NameOf(h)
	}
	return r.frozen.byHandle.nameOf(h)
}

// Len returns the number of names; given a Tx, without what the transaction has changed.
func (r *Reader[K]) Len() int {
	r.guard()
	if r.frozen == nil {
		return r.names.Len()
	}
	return r.frozen.count
}

// All yields the entities that have a name, in the order of their handles, with the names. A Reader
// of a frame may call it at any time, one of a transaction never, another as Names.All. It sorts
// them, O(n log n).
func (r *Reader[K]) All() iter.Seq2[handle.Handle, K] {
	r.guard()
	if r.tx != nil {
		panic(fmt.Sprintf("names: Reader.All of %q by a *world.Tx; look names up one by one, or keep handles in a component", r.names.name))
	}
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

// Renamed is an entity that has another name in one frame than in another.
type Renamed[K Name] struct {
	Entity   handle.Handle
	From, To K
	// Was says whether it had a name, which is From; Is says whether it has one, which is To. An
	// entity that was bound has Is alone, one that was unbound or died has Was alone.
	Was, Is bool
}

// Diff returns the entities whose name differs from that in an earlier frame, or that have one in
// only one of the frames, in the order of their handles. It looks only at the stripes that changed
// in between, each with a 64th of the names. It panics if one of the Readers is not of a frame, if
// they are of two Names, and if a frame was released. Any number of goroutines may call it.
func (r *Reader[K]) Diff(before *Reader[K]) []Renamed[K] {
	for _, x := range []*Reader[K]{r, before} {
		if x.frozen == nil {
			panic("names: Reader.Diff needs two Readers of frames; pass a world.Frame to Names.Read")
		}
		x.names.engine.Binds(x.frame, x.names.part, "Reader.Diff")
	}
	if r.names != before.names {
		panic(fmt.Sprintf("names: Reader.Diff of %q and %q; compare frames of one", r.names.name, before.names.name))
	}
	was, is := &before.frozen.byHandle, &r.frozen.byHandle
	older, newer := before.frozen, r.frozen
	if older.at > newer.at {
		older, newer = newer, older
	}
	var all []Renamed[K]
	for i := range newer.byHandle.stripes {
		if newer.byHandle.stripes[i].changed <= older.at {
			continue
		}
		is.each(i, func(b *binding[K]) {
			switch had := was.of(b.handle); {
			case had == nil:
				all = append(all, Renamed[K]{Entity: b.handle, To: b.name, Is: true})
			case had.name != b.name:
				all = append(all, Renamed[K]{b.handle, had.name, b.name, true, true})
			}
		})
		was.each(i, func(b *binding[K]) {
			if is.of(b.handle) == nil {
				all = append(all, Renamed[K]{Entity: b.handle, From: b.name, Was: true})
			}
		})
	}
	slices.SortFunc(all, func(a, b Renamed[K]) int { return a.Entity.Compare(b.Entity) })
	return all
}
