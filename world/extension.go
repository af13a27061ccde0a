package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
)

// Extension is what a package outside the core keeps about entities, such as a relation among
// them or an index of them. It takes part in each refresh, after all requests on single
// entities were applied and before any entity is destroyed:
//
//	its Requests, in order           the functions that NewRequests was given
//	Spare, until none spares more    find entities that must not die
//	Spread, until none marks more    find entities that die with them
//	Settle                           what is left to tidy
//
// An extension that panics, or ends its goroutine, breaks the world, because it may have
// changed in part. The functions that NewRequests was given do so as well. See BrokenError.
//
// Ownership: the coordinator calls, while no shard runs.
type Extension interface {
	// Begin is called when a tick begins. From here to the refresh the extension
	// must not change, so that systems may read it.
	Begin()
	// Spare looks at the marked entities and removes marks with DyingSet.Spare. It reports
	// whether it removed any.
	Spare(d *DyingSet) bool
	// Spread handles the entities of d.All from the given position on, and marks others with
	// DyingSet.Mark. It is not called again for those it marks itself.
	Spread(d *DyingSet, from int)
	// Settle is called when it is known which entities die.
	Settle()
}

// Extend makes an extension take part in the world's refreshes, after the extensions that were
// added before. The world must be idle. Entities that are marked already die without it.
func (w *World) Extend(x Extension) {
	w.mustIdle("World.Extend")
	if x == nil {
		panic("world: World.Extend by a nil Extension; pass what takes part in the refresh")
	}
	w.extensions.w = w
	w.extensions.all = append(w.extensions.all, extended{Extension: x})
	for _, s := range w.shards {
		s.HoldDestroys = true
	}
}

// Idle reports whether no tick or refresh is running, so that the *World may be used. Safe from
// any goroutine; but if another goroutine may begin a tick, the answer is soon out of date.
func (w *World) Idle() bool { return w.phase.Load() == phaseIdle }

// Bound returns the world that an extension's accessor is asked of. It panics if this is the
// wrong time to ask: for a *World, if it is not idle. call names what is asked, as in
// "Relation.Read".
func Bound(a Binder, call string) *World { return bind(a, call).w }

// Requests is the right to send requests of one kind to an extension. They may concern any
// entities of any shards: the coordinator applies them, one after the other.
//
// Ownership: the extension's. Send may be called by whoever holds the Actor.
type Requests[T any] struct {
	kind store.Kind[T]
	w    *World
	name string
	do   func(h handle.Handle, v *T) Outcome
}

// NewRequests makes a kind of request. At the refresh do is called for the entity that the
// request was sent with, if that entity is alive and not marked. What do returns is the outcome
// of the request. name is for panics.
func NewRequests[T any](w *World, name string, do func(h handle.Handle, v *T) Outcome) *Requests[T] {
	mustBe(w, "world.NewRequests")
	w.mustIdle("world.NewRequests")
	if do == nil {
		panic(fmt.Sprintf("world: world.NewRequests of %q with a nil function; pass what to do", name))
	}
	r := &Requests[T]{w: w, name: name, do: do}
	r.kind = store.NewJoint[T](w.space, jointly[T]{r, name})
	return r
}

// Check panics unless by acts on the world of the extension.
func (r *Requests[T]) Check(by Actor) {
	if by == nil || by.world() != r.w {
		r.w.refuse(by, "a request", "extension", r.name)
	}
}

// Dying reports whether an entity is marked. For the idle world and within do.
func (r *Requests[T]) Dying(h handle.Handle) bool {
	l := r.w.space.Locate(h)
	return l != 0 && r.w.space.Marked(l)
}

// Send sends a request of a *Context, *EntityContext or *Port about an entity. It returns
// ErrStale for an entity that a system knows not to be alive, and ErrFull if the request was
// not accepted. An idle *World sends no requests: it acts at once.
func (r *Requests[T]) Send(by Actor, h handle.Handle, v T) error {
	r.Check(by)
	if _, ok := by.(*World); ok {
		panic(fmt.Sprintf("world: extension %q sends a request of %T; an idle World acts at once", r.name, by))
	}
	return request(by, r.name, &r.kind, h, v)
}

// jointly applies a request of an extension.
type jointly[T any] struct {
	r     *Requests[T]
	label any // its name, boxed once
}

func (j jointly[T]) Apply(_ *store.Shard, h handle.Handle, l store.Loc, v store.Payload) Outcome {
	if l == 0 || j.r.w.space.Marked(l) {
		return Gone
	}
	j.r.w.extensions.running = j.label
	return j.r.do(h, store.As[T](v))
}
