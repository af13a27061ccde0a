package world

import (
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
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
	w     *World
	id    int
	name  string
	of    *mem.Type
	value T
	parts []*part[T] // by shard; nil if it is no accumulator
	merge func(total, part *T)
}

// part is what one shard has added in this tick.
type part[T any] struct {
	value T
	_     [64]byte // other shards' parts are written by other workers
}

// anyResource is the methods of a resource that a world needs, for any type.
type anyResource interface {
	resourceName() string
	mergeParts()
}

// RegisterResource makes T a resource of the world with its first value, under a name that logs
// and tools use. The value stays where it is, so a T may have what the type of a component must not:
// a lock, say. It panics if the name is empty, if the type or name is taken, or if there are 256
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
	r.parts = make([]*part[T], len(w.shards))
	for i := range r.parts {
		r.parts[i] = new(part[T])
	}
	return r
}

func newResource[T any](w *World, call, name string) *Resource[T] {
	mustBe(w, call)
	w.mustIdle(call)
	t := reflect.TypeFor[T]()
	w.mustRegister("%s of %v as %q", call, t, name)
	switch {
	case name == "":
		panic(fmt.Sprintf("world: resource %v needs a name; pass one that logs can use", t))
	case len(w.resources) == store.ComponentsMax:
		panic(fmt.Sprintf("world: resource %q is one more than the %d a world can hold; register fewer, or put several into one struct", name, store.ComponentsMax))
	}
	for _, other := range w.resources {
		switch o, same := other.(*Resource[T]); {
		case same:
			panic(fmt.Sprintf("world: resource type %v is registered already, as %q; use what the first call returned, or make a type of its own", t, o.name))
		case other.resourceName() == name:
			panic(fmt.Sprintf("world: resource name %q is taken by another type than %v; pass another", name, t))
		}
	}
	r := &Resource[T]{w: w, id: len(w.resources), name: name, of: mem.TypeOf[T]()}
	w.resources = append(w.resources, r)
	return r
}

// resourceOf returns the resource of type T, or panics with advice on what to do.
func resourceOf[T any](w *World, user string) *Resource[T] {
	for _, r := range w.resources {
		if r, ok := r.(*Resource[T]); ok {
			return r
		}
	}
	t := reflect.TypeFor[T]()
	panic(fmt.Sprintf("world: %s: %v is not a resource of this world; call world.RegisterResource[%v] or RegisterAccumulator first", user, t, t))
}

func (r *Resource[T]) resourceName() string { return r.name }

// Get returns a copy of the value, between ticks.
func (r *Resource[T]) Get() T {
	r.w.mustIdle("Resource.Get")
	return r.value
}

// Set stores a value, between ticks. The next merge of an accumulator replaces it.
func (r *Resource[T]) Set(v T) {
	r.w.mustIdle("Resource.Set")
	r.w.touched = true
	r.put(v)
}

// put stores a value, whose times lose their reading of the monotonic clock.
func (r *Resource[T]) put(v T) {
	r.value = v
	if r.of.HasTimes() {
		r.of.DropClocks(mem.PointerTo(&r.value).Address, 1)
	}
}

func (r *Resource[T]) mergeParts() {
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

// ResourceReader reads a resource in a system. A release build does not check that the system
// is running.
//
// Ownership: the system it was built for.
type ResourceReader[T any] struct{ r *Resource[T] }

// Get returns a copy of the value, as left by the last system before this one that writes it.
func (r ResourceReader[T]) Get() T { return r.r.value }

// ReadResource asks for reading a resource. It panics if T is not registered.
func ReadResource[T any](b *Build) ResourceReader[T] {
	bound := b.bind("world.ReadResource")
	r := resourceOf[T](b.w, bound.call)
	bound.access.ResourceReads.Add(r.id)
	return ResourceReader[T]{r}
}

// WriteResource asks for reading and writing a resource, in a global system. Only the system
// may use the pointer, while it runs. It panics if T is not registered or is an accumulator, or
// if the system is not global: shards would write the resource at the same time.
func WriteResource[T any](b *Build) *T {
	bound := b.bind("world.WriteResource")
	r := resourceOf[T](b.w, bound.call)
	switch {
	case r.parts != nil:
		panic(fmt.Sprintf("world: %s: resource %q is an accumulator, which is merged from what the shards add; ask for Accumulate in a system that is not global", bound.call, r.name))
	case b.hook:
		panic(fmt.Sprintf("world: %s: resource %q is written by global systems alone; let the hook send a message to a global system", bound.call, r.name))
	case b.shard != nil:
		panic(fmt.Sprintf("world: %s: resource %q is written by global systems alone; make the system global, or register an accumulator", bound.call, r.name))
	}
	bound.access.ResourceWrites.Add(r.id)
	return &r.value
}

// Accumulate asks for adding to an accumulator. It returns the shard's own part, which is zero
// when the tick begins. Only the system may use the pointer, while it runs. It panics if T is
// not a registered accumulator, or in a global system.
func Accumulate[T any](b *Build) *T {
	bound := b.bind("world.Accumulate")
	r := resourceOf[T](b.w, bound.call)
	b.mustHaveShard("world.Accumulate", "each shard has a part of its own")
	if r.parts == nil {
		panic(fmt.Sprintf("world: %s: resource %q is no accumulator; register it by RegisterAccumulator, or write it in a global system", bound.call, r.name))
	}
	bound.access.ResourceParts.Add(r.id)
	return &r.parts[b.shard.ID()].value
}
