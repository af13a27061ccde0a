package world

import (
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
)

// Bundle creates entities from values of T, a struct whose fields are components. It serves any
// number of components with one type parameter.
//
// Ownership: the world's; each part belongs to its shard. Create may be called by any goroutine
// that holds the Actor passed to it.
type Bundle[T any] struct {
	part
	core  engine.Bundle
	place func(T) int
}

// NewBundle makes a bundle of T's fields. It panics if T is not a struct, or if a field is not
// a registered component or is the same component as another field. A component is not a
// bundle: for a single component, make a struct with that as its field.
func NewBundle[T any](w *World) *Bundle[T] {
	b := new(Bundle[T])
	b.core.Init((*engine.World)(w), mem.TypeOf[T](), mem.TypeOf[change[T]]())
	b.part = b.core.Part()
	return b
}

// Create makes an entity with v's components and returns its handle. A *World creates at once. A
// *Context or *EntityContext creates at once in its own shard; the Context of a global system
// creates where a *World would. A *Port sends a request: its handle is good at once, and alive
// after the refresh.
//
// It returns ErrIndexes if no shard has an index left, or if the shard that PlaceBy chose, or
// that a *Context has, has none left. It returns ErrChunks if the world is full, and ErrFailed if
// PlaceBy chose no shard. A port's Create returns ErrFull if the request was not accepted; then no
// slot was used. A *Context must have declared the bundle with Build.Creates.
func (b *Bundle[T]) Create(by Actor, v T) (handle.Handle, error) {
	var place func() int
	if b.place != nil {
		place = func() int { return b.place(v) }
	} else if w, ok := by.(*World); ok && b.core.Plain { // inlined here, because servers do this most
		return b.core.CreatePlain((*engine.World)(w), mem.PointerTo(&v).Address)
	}
	self := selfOf(by)
	if p, ok := self.(*engine.Port); ok {
		h, to, err := b.core.CreateByPort(p, place)
		if err == nil {
			*mem.As[T](to) = v
			p.Send()
		}
		return h, err
	}
	if _, ok := self.(*engine.Tx); b.core.Plain && !ok {
		return b.core.CreatePlainBy(self, mem.PointerTo(&v).Address, place)
	}
	p, how, err := b.core.Where(self, place)
	if err != nil {
		return handle.None, err
	}
	*mem.As[T](p.Scratch) = v
	return b.core.CreateFrom(p, how)
}

// CreateN makes n entities; init, if not nil, fills in each from the zero T. init is called by the
// calling goroutine, in the order of i. A *World places few entities as Create does, and spreads
// many evenly over its shards, unless there is a PlaceBy. A *Port sends them in one step, in runs
// of 16 or more for a shard; init must not use the port. On an error nothing is made or sent: there
// must be room for all n. It returns the errors of Create, and for a *Port ErrTooLarge if a queue
// never has room for n. It panics if n is negative. If init creates entities itself, it may use up
// that room: then those before the error are made, and the error says how many. If init panics, the
// entities that a *World or a system made before it stay.
//
// For many entities CreateN costs half as much as n calls of Create, and without init a sixth.
// CreateRows costs a third.
func (b *Bundle[T]) CreateN(by Actor, n int, init func(i int, v *T)) error {
	_, err := b.appendN(nil, false, by, n, init)
	return err
}

// AppendN is CreateN that also appends the handles to dst.
func (b *Bundle[T]) AppendN(dst []handle.Handle, by Actor, n int, init func(i int, v *T)) ([]handle.Handle, error) {
	return b.appendN(dst, true, by, n, init)
}

// appendN is AppendN if the handles are wanted, otherwise CreateN. made counts the calls of init,
// so that after a panic in it the others are stored.
func (b *Bundle[T]) appendN(dst []handle.Handle, want bool, by Actor, n int, init func(i int, v *T)) ([]handle.Handle, error) {
	f, made := engine.Fill{Want: want}, 0
	if init != nil {
		f.Made, f.Init = &made, func(at mem.Address, n int) {
			values := mem.Slice[T](at, n)
			for i := range values {
				values[i] = *new(T)
				init(made, &values[i])
				made++
			}
		}
	}
	self := selfOf(by)
	if t, ok := self.(*engine.Tx); ok {
		return b.appendIn(dst, want, (*Tx)(t), n, init)
	}
	return b.core.AppendN(dst, self, n, &f)
}

// appendIn is appendN by a transaction. An error leaves nothing, as the transaction then fails.
func (b *Bundle[T]) appendIn(dst []handle.Handle, want bool, tx *Tx, n int, init func(i int, v *T)) ([]handle.Handle, error) {
	if n < 0 {
		panic(fmt.Sprintf("world: bundle %v: cannot create %d entities; want 0 or more", reflect.TypeFor[T](), n))
	}
	all := dst
	for i := range n {
		v := new(T)
		if init != nil {
			init(i, v)
		}
		h, err := b.Create(tx, *v)
		if err != nil {
			(*engine.Tx)(tx).Fail(err)
			return dst, err
		}
		if want {
			all = append(all, h)
		}
	}
	return all, nil
}

// CreateRows makes n entities where CreateN would, and calls init with each run of their rows, to
// be filled in with the accessors' Slice; Chunk.Handles returns the handles. The rows hold zeroes
// before init, and are alive after it. On an idle world, calls that would move rows panic within
// init. It is the fastest way to create many entities. It does not use PlaceBy, and is not for a
// *Port, which has no rows: use CreateN.
//
// On an error nothing is made; see CreateN.
func (b *Bundle[T]) CreateRows(by Actor, n int, init func(rows Chunk)) error {
	return b.core.CreateRows(selfOf(by), n, init)
}

// Set stores all of the bundle's components in an entity that has them, in one step; the entity's
// other components stay. Unlike Add it never moves the entity. So a *Context does it at once in its
// own shard; it must have asked its Build to Write the components. Other actors do it as in
// Component.Set.
//
// It returns ErrMissing, and stores nothing, if the entity is known to lack one of them;
// ErrStale if it is known not to be alive; ErrFull if the request was not accepted.
func (b *Bundle[T]) Set(by Actor, h handle.Handle, v T) error {
	self := selfOf(by)
	if t, to := b.core.In(self, "Bundle.Set"); t != nil {
		*mem.As[T](to) = v
		return b.core.SetIn(t, h)
	}
	x, p, l, err := b.core.Assign(self, h)
	if err != nil {
		return err
	}
	if p != nil && b.core.Plain {
		return b.core.AssignPlain(p, l, mem.PointerTo(&v).Address)
	}
	*mem.As[T](x.To) = v
	if p == nil {
		x.Done()
		return nil
	}
	return b.core.AssignFrom(p, l)
}

// change is a request to give an entity the fields of a T and take other components away. Its value
// is first, so both have the same address.
type change[T any] struct {
	value  T
	remove store.Set
}

// Add gives an entity all of the bundle's components, and takes away the components of remove that
// it has, in one move. An entity that has some of the bundle's components already gets the values;
// a component that is both in the bundle and in remove is kept. It acts at once or by request, and
// returns errors, as Component.Add does.
func (b *Bundle[T]) Add(by Actor, h handle.Handle, v T, remove ...ComponentSet) error {
	self := selfOf(by)
	gone := b.core.SetOf(self, remove)
	if t, to := b.core.In(self, "Bundle.Add"); t != nil {
		*mem.As[T](to) = v
		return b.core.AddIn(t, h, &gone)
	}
	x, p, l, err := b.core.Add(self, h)
	switch {
	case err != nil:
		return err
	case p == nil:
		*mem.As[change[T]](x.To) = change[T]{v, gone}
		x.Done()
		return nil
	}
	*mem.As[T](x.To) = v
	return b.core.ChangeFrom(p, l, &gone)
}

// AddTo gives the bundle's components to all entities that match, and takes away what remove
// names, in one move. Components that an entity has keep their values; the new ones are zero before
// init, which is called with all rows that changed. The removed components are gone by then: to
// read them, leave remove out and call Query.Remove afterwards. A component that is both in the
// bundle and in remove is kept. Everything else is as for Component.AddTo: it is for an idle world,
// too.
func (b *Bundle[T]) AddTo(q *Query, init func(rows Chunk), remove ...ComponentSet) error {
	return (*engine.Query)(q).AddTo("Bundle.AddTo", init, b, remove)
}

// PlaceBy makes place choose the shard of each new entity, 0 to Shards()-1. The default, also for a
// nil place, is the shards in turn, in runs of up to 1024 entities. Up to 4096 entities the idle
// world and global systems fill one shard after the other, so a few hundred are all in one shard;
// ports take the shards in turn. If each of a few entities takes long, spread them by PlaceBy.
// place is called by every goroutine that creates, including those with ports. It must be safe for
// concurrent use and depend on its argument alone. Systems create in their own shard regardless.
//
// If place panics, or chooses a shard that there is not, nothing is created: the call that creates
// returns an ErrFailed that says so, and the rest of it is refused as for any other error. Values
// often come from clients, so think of those that are negative, huge or not a number.
func (b *Bundle[T]) PlaceBy(place func(T) int) *Bundle[T] {
	var of func(mem.Address) int
	if place != nil {
		of = func(v mem.Address) int { return place(*(*T)(v)) }
	}
	b.core.PlaceBy(of)
	b.place = place
	return b
}

// Reserve makes room for n more entities, spread evenly over the shards, so that creating them
// allocates nothing. A small number is not spread: there is room for all of them in each shard. The
// world must be idle. It returns ErrIndexes or ErrChunks if there is no room for so many; the
// shards before the full one then keep theirs.
func (b *Bundle[T]) Reserve(w *World, n int) error { return b.core.Reserve((*engine.World)(w), n) }
