package world

import (
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/mem"
)

// Resource is a value of the world as a whole, one for each type T: the weather, the rules of the
// match, how many entities were killed in this tick. There are two kinds. A resource of
// RegisterResource is written by global systems. To an accumulator, of RegisterAccumulator, every
// shard adds on its own, and the shards' parts are merged in the order of the shards.
//
// Invariants: while systems that may read value run, it is not written.
//
// Ownership: value belongs to the global system that writes it, or to the merge, while that
// runs; between ticks to the world's goroutine. Each part belongs to its shard.
type Resource[T any] struct {
	w     *engine.World
	name  string
	of    *mem.Type
	value T
	parts []*resourcePart[T] // by shard; nil if it is no accumulator
	merge func(total, part *T)
	draft *T   // of the transaction that runs
	own   bool // it has asked for it
}

// resourcePart is what one shard has added in this tick.
type resourcePart[T any] struct {
	value T
	_     [64]byte // other shards' parts are written by other workers
}

// RegisterResource makes T a resource of the world with its first value, under a name that logs and
// tools use. The value stays where it is, so a T may have what the type of a component must not: a
// lock, say. It panics if the name is empty, if the type or name is taken, or if there are 256
// resources already. When to call it: see Register.
func RegisterResource[T any](w *World, name string, first T) *Resource[T] {
	r := newResource[T](w, "world.RegisterResource", name)
	r.put(first)
	return r
}

// RegisterAccumulator makes T a resource that systems add to in every shard. When all shards
// have passed the last system that adds to it, the value becomes the zero T, merge is called
// with it and each shard's part, in the order of the shards, and the parts become zero again.
// So reading it after the merge gives this tick's value, and before the merge the last tick's.
// merge must not keep the pointers. It panics as RegisterResource does.
//
// Since total and parts begin as the zero T in each tick, a slice or a map in them starts as
// nil: merge and systems append to nil, and make maps before they store. ResourceReader.Get
// copies the T. If the T is large, make it a slice or a struct of slices, whose copy is small;
// readers must then not write what it points to.
func RegisterAccumulator[T any](w *World, name string, merge func(total, part *T)) *Resource[T] {
	if merge == nil {
		panic(fmt.Sprintf("world: world.RegisterAccumulator of %q with a nil function; pass one that merges", name))
	}
	r := newResource[T](w, "world.RegisterAccumulator", name)
	r.merge = merge
	r.parts = make([]*resourcePart[T], w.Shards())
	for i := range r.parts {
		r.parts[i] = new(resourcePart[T])
	}
	return r
}

// newResource makes a resource known to the idle world; call is the name for messages. If it
// panics, there is none.
func newResource[T any](w *World, call, name string) *Resource[T] {
	r := &Resource[T]{w: (*engine.World)(w), name: name, of: mem.TypeOf[T]()}
	r.w.AddResource(r.of.Of, call, name, (*resource[T])(r))
	return r
}

// Get returns a copy of the value, between ticks; while a tick runs it panics.
func (r *Resource[T]) Get() T {
	r.w.MustIdle("Resource.Get")
	return r.value
}

// Set stores a value, between ticks; while a tick runs it panics. The next merge of an accumulator
// replaces it.
func (r *Resource[T]) Set(v T) {
	r.w.MustIdle("Resource.Set")
	r.w.Touched()
	r.put(v)
}

// Edit returns the value for a transaction to read and write. It is a copy by assignment, which takes
// the value's place when the transaction has returned without an error: replace what a map, slice or
// pointer in it points to, rather than write through it. It panics for a T that must not be moved.
func (r *Resource[T]) Edit(tx *Tx) *T {
	t := (*engine.Tx)(tx)
	r.w.Check(t, "Resource.Edit", "resource", r.name)
	if r.draft == nil {
		engine.MustMove(r.of.Of, "Resource.Edit of %q", r.name)
		r.draft = new(T)
	}
	if !r.own {
		*r.draft = r.value
		if r.own = t.Write("Resource.Edit", (*draftResource[T])(r)) == nil; r.own {
			_ = t.Charge(r.of.Size)
		}
	}
	return r.draft
}

// put stores a value, whose times lose their reading of the monotonic clock. The world is idle.
func (r *Resource[T]) put(v T) {
	r.value = v
	if r.of.HasTimes() {
		r.of.DropClocks(mem.PointerTo(&r.value).Address, 1)
	}
}

// ResourceReader reads a resource in a system. A release build does not check that the system
// is running.
//
// Ownership: the system it was built for.
type ResourceReader[T any] struct{ r *Resource[T] }

// Get returns a copy of the value, as left by the last system before this one that writes it.
func (r ResourceReader[T]) Get() T { return r.r.value }

// ReadResource asks for reading a resource. It panics if T is not registered.
func ReadResource[T any](b *Build) ResourceReader[T] {
	r := (*engine.Build)(b).AskResource(reflect.TypeFor[T]())
	return ResourceReader[T]{(*Resource[T])(r.(*resource[T]))}
}

// WriteResource asks for reading and writing a resource, in a global system. Only the system
// may use the pointer, while it runs. It panics if T is not registered or is an accumulator, or
// if the system is not global: shards would write the resource at the same time.
func WriteResource[T any](b *Build) *T {
	return &(*engine.Build)(b).AskToWrite(reflect.TypeFor[T]()).(*resource[T]).value
}

// Accumulate asks for adding to an accumulator. It returns the shard's own part, which is zero
// when the tick begins. Only the system may use the pointer, while it runs. It panics if T is
// not a registered accumulator, or in a global system.
func Accumulate[T any](b *Build) *T {
	return &(*engine.Build)(b).AskToAdd(reflect.TypeFor[T]()).(*resource[T]).parts[b.Shard()].value
}

// resource is a Resource as package engine sees it.
type resource[T any] Resource[T]

// Type returns T.
func (r *resource[T]) Type() reflect.Type { return r.of.Of }

// Name returns the name of the resource.
func (r *resource[T]) Name() string { return r.name }

// Merge makes the value the sum of the parts, which become zero, also if merge panics. A worker
// calls it for the scheduler, when no system uses the resource.
func (r *resource[T]) Merge() {
	r.value = *new(T)
	defer func() { // also if merge panics
		for _, p := range r.parts {
			p.value = *new(T)
		}
	}()
	for _, p := range r.parts {
		r.merge(&r.value, &p.value)
	}
}

// Cells returns the value in place, and how many parts there are.
func (r *resource[T]) Cells() (value mem.Cells, parts int) {
	return r.of.Run(mem.PointerTo(&r.value).Address, 1), len(r.parts)
}

// PartCells returns the part of a shard, in place. The world is idle.
func (r *resource[T]) PartCells(shard int) mem.Cells {
	return r.of.Run(mem.PointerTo(&r.parts[shard].value).Address, 1)
}

// Keep returns a function that gives the resource the value and parts that it has now, if a load is
// undone.
func (r *resource[T]) Keep() (restore func()) {
	value, parts := r.value, make([]T, len(r.parts))
	for i, p := range r.parts {
		parts[i] = p.value
	}
	return func() {
		r.value = value
		for i, p := range r.parts {
			p.value = parts[i]
		}
	}
}

// Load returns where a load stores the value and the parts, of so many shards; put sets them, and
// nothing before. If this world has fewer shards, put merges the parts of those whose numbers are the
// same modulo their number.
func (r *resource[T]) Load(shards int) (value, parts mem.Cells, put func()) {
	if r.merge == nil {
		shards = 0
	}
	v, all := make([]T, 1), make([]T, shards)
	return mem.CellsOf(v), mem.CellsOf(all), func() {
		r.value = v[0]
		for i := range all {
			if p := r.parts[i%len(r.parts)]; i < len(r.parts) {
				p.value = all[i]
			} else {
				r.merge(&p.value, &all[i])
			}
		}
	}
}
