package world

import (
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/shard"
)

// Reader reads one component: in a system, that of the entities of its own shard; on an idle world,
// that of all entities. Pointers and slices stay good until the refresh; what they point to must
// not be written. A Reader must not be copied.
//
// A release build does not check that the Reader is used in the turn of the system, shard or
// idle world that it is for, nor that chunks and locations are of this tick. Whatever it is
// given, it returns only rows of its component.
//
// Ownership: the system and shard it was built for, or the idle world.
type Reader[T any] struct {
	// Copies of the fields of lookup and view that Get needs: the compiler inlines Get only if each
	// field is a single selector away; see raw.go.
	refs  mem.Address
	mask  handle.Handle
	runs  *mem.Address
	owner uint32

	view   store.View
	lookup *slots.Lookup
	accessor
}

// Writer is a Reader that may also be written through: what it returns for writing counts as
// written in this tick. On the idle world, if its inputs are recorded, what a Writer returns is for
// the function of Scheduler.Between that asked for it, or until the next tick: ask again after
// that. What is written later, or through a Reader, is a change that no log and no durable.Store
// notices. The check build does, unless it is behind a pointer.
type Writer[T any] struct{ Reader[T] }

// Read asks for reading a component, in a system's constructor, between ticks, or of a Frame. It
// panics if T is not registered.
func Read[T any](a Binder) *Reader[T] {
	x := engine.Ask(a, "world.Read", false, reflect.TypeFor[T]())
	if r, ok := x.Known.(*Reader[T]); ok {
		return r
	}
	r := new(Reader[T])
	r.set(&x)
	x.Keep(r, &r.view)
	return r
}

// Write asks for reading and writing a component, in a system's constructor or between ticks. It
// panics if T is not registered.
func Write[T any](a Binder) *Writer[T] {
	x := engine.Ask(a, "world.Write", true, reflect.TypeFor[T]())
	if w, ok := x.Known.(*Writer[T]); ok {
		return w
	}
	w := new(Writer[T])
	w.set(&x)
	x.Keep(w, &w.view)
	return w
}

// set makes the Reader of what package engine returned, before anybody uses it.
func (r *Reader[T]) set(x *engine.Asking) {
	r.accessor, r.lookup, r.view = x.Accessor, x.Lookup, x.View
	r.refs, r.mask, r.runs, r.owner = x.Lookup.Refs, x.Lookup.Mask, r.view.Runs, r.view.Owner
}

// At returns the component of the entity at a location that Locate, a Chunk or Query.Entities
// returned in this tick; or nil if the entity lacks the component or is not within reach. A
// location that is kept over a refresh, or made up, finds nothing or some row of this
// component; which one is unchecked. At is small enough to be inlined.
func (r *Reader[T]) At(l shard.Loc) *T { return store.At[T](&r.view, slots.Loc(l)) }

// Slice returns the components of the chunk's entities, or nil if they lack the
// component. It is small enough to be inlined.
func (r *Reader[T]) Slice(ch Chunk) []T { return store.Slice[T](&r.view, store.Rows(ch)) }

// ForeignReader reads one component of any shard's entities. A release build does not check
// that its system is running.
//
// Ownership: the system and shard it was built for. The scheduler lets the system run only while
// none of the shards that it may read is writing the component.
type ForeignReader[T any] struct{ foreign engine.Foreign }

// ReadForeign asks for reading a component in other shards: in the given ones and always in the own
// one, or without any in every shard. A system that names its neighbours waits for no other shards;
// b.Shard() returns the shard that is being built. It panics if there is no such shard. A system
// cannot also write or create the component: split it in two.
func ReadForeign[T any](b *Build, shards ...int) *ForeignReader[T] {
	return &ForeignReader[T]{(*engine.Build)(b).AskForeign(reflect.TypeFor[T](), shards)}
}

// Get returns a copy of the component of an entity in any shard, as left by the last system
// before this one that writes it. It returns false if the entity is not alive, lacks the
// component, or is in a shard that was not asked for.
func (f *ForeignReader[T]) Get(h handle.Handle) (T, bool) {
	if p := f.foreign.At(h); p != nil {
		return *(*T)(p), true
	}
	return *new(T), false
}
