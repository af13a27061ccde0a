package world

import (
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
)

// Reader reads one component: in a system that of the own shard's atoms, on an
// idle world that of all. Pointers and slices stay good until the refresh; what
// they point to must not be written.
//
// Ownership: the system and shard it was built for, or the idle world.
type Reader[T any] struct {
	shard.View[T]
	space *shard.Space
	id    int
}

// Writer is a Reader that may also be written through.
type Writer[T any] struct{ Reader[T] }

// Read asks for reading a component. It panics if T is not registered.
func Read[T any](a Asker) *Reader[T] {
	b := a.bind("Read")
	r := newReader[T](b)
	b.access.Reads.Add(r.id)
	return &r
}

// Write asks for reading and writing a component. It panics if T is not
// registered.
func Write[T any](a Asker) *Writer[T] {
	b := a.bind("Write")
	r := newReader[T](b)
	b.access.Writes.Add(r.id)
	return &Writer[T]{r}
}

func newReader[T any](b binding) Reader[T] {
	id := b.w.componentOf(reflect.TypeFor[T](), b.user)
	column := b.w.columns[id].(*shard.Column[T])
	r := Reader[T]{View: column.View(), space: b.w.space, id: id}
	if b.own {
		r.View = column.ViewOf(b.shard)
	}
	return r
}

// Get returns the component of an entity, or nil if the entity is not alive, is
// not within reach or lacks the component. The pointer is good until the
// refresh. Every check is always on; the cost is one call and two cache lines
// of the entity's own. To look up several components of one entity, Locate it
// once and use At.
func (r *Reader[T]) Get(h handle.Handle) *T {
	return r.At(r.space.Locate(h))
}

// ForeignReader reads one component of any shard's atoms.
//
// Ownership: the system and shard it was built for. The scheduler lets the
// system run only when no shard is writing the component.
type ForeignReader[T any] struct{ r Reader[T] }

// ReadForeign asks for reading a component in every shard. A system cannot also
// write or create the component: split it in two.
func ReadForeign[T any](b *Build) *ForeignReader[T] {
	bound := b.bind("ReadForeign")
	bound.own = false
	f := &ForeignReader[T]{newReader[T](bound)}
	bound.access.Foreign.Add(f.r.id)
	return f
}

// Get returns a copy of the component of an entity anywhere, as the last system
// before this one that writes it left it. It returns false if the entity is not
// alive or lacks the component.
func (f *ForeignReader[T]) Get(h handle.Handle) (T, bool) {
	if p := f.r.Get(h); p != nil {
		return *p, true
	}
	return *new(T), false
}
