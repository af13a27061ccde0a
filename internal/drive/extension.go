package drive

import (
	"strconv"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
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
// changed in part. The functions that NewRequests was given do so as well. See
// world.BrokenError.
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

// Insertable is an Extension whose share in entities can be put into another world with them.
//
// Ownership: the owner of the idle world calls.
type Insertable interface {
	// AppendFollowers appends the entities that go where an entity goes.
	AppendFollowers(dst []handle.Handle, h handle.Handle) []handle.Handle
	// Unique reports whether what an entity has here can be had by only one, such as a name.
	Unique() bool
	// Excerpt returns what the extension has about the entities that to maps to others, as if it
	// were about those; nil for nothing.
	Excerpt(to map[handle.Handle]handle.Handle) any
	// PlanInsert returns what adds an excerpt that an extension of another world has made. It
	// returns an error if that cannot be added, and changes nothing itself.
	PlanInsert(excerpt any) (insert func(), err error)
}

// Family is an Extension in which entities have parents and children.
type Family interface {
	// LinkSize returns what a request to make an entity a child counts for in a queue.
	LinkSize() uint32
	// Children returns the children of an entity in order, holes among them, and whether the places are
	// fixed. It may be called while the Extension does not change.
	Children(h handle.Handle) (all []handle.Handle, fixed bool)
	// Parent returns the parent of an entity, or None, at the same times.
	Parent(h handle.Handle) handle.Handle
	// Fix makes the places of a parent fixed, or with 0 not, and Place takes a child to one, by a
	// world.Actor: both beyond what the user has limited them to, as others' lists may be.
	Fix(by any, parent handle.Handle, places int) error
	Place(by any, child, parent handle.Handle, place int) error
}

// Naming is an Extension that gives entities names.
type Naming interface {
	// TextOf returns the name of an entity as text, and whether it has one. Safe from any goroutine.
	TextOf(h handle.Handle) (string, bool)
}

// NameOf returns the name of an Extension or Late, or its number.
func NameOf(x any, number int) string {
	switch x := x.(type) {
	case interface{ Name() string }:
		return x.Name()
	case interface{ Label() string }:
		return x.Label()
	}
	return strconv.Itoa(number)
}

// DyingSet holds the entities that die in a refresh: first the marked ones, by shard in order,
// then those that extensions mark as a consequence.
//
// Ownership: as for Extension.
type DyingSet struct {
	space  *store.Space
	all    []handle.Handle
	spared bool
	notify bool // another extension must learn what one marks
}

// Collect lists the marked entities of each shard, for a refresh with that many extensions.
func (d *DyingSet) Collect(space *store.Space, shards []*store.Shard, extensions int) {
	d.space, d.notify, d.spared = space, extensions > 1, false
	d.all = d.all[:0]
	for _, s := range shards {
		d.all = s.AppendMarked(d.all)
	}
}

// Spared reports whether the mark of an entity was removed since Collect.
func (d *DyingSet) Spared() bool { return d.spared }

// All returns the dying entities that the extension must know. The slice is good until the next
// call of Mark.
func (d *DyingSet) All() []handle.Handle { return d.all }

// Has reports whether an entity is marked.
func (d *DyingSet) Has(h handle.Handle) bool {
	l := d.space.LocateStaged(h)
	return l != 0 && d.space.Marked(l)
}

// Mark marks the given entities that are alive, for use in Extension.Spread. The other
// extensions are notified of them.
func (d *DyingSet) Mark(hs []handle.Handle) {
	if d.notify {
		d.space.MarkEach(hs, &d.all)
	} else {
		d.space.MarkEach(hs, nil)
	}
}

// Spare removes the mark of an entity, for use in Extension.Spare.
func (d *DyingSet) Spare(h handle.Handle) {
	if l := d.space.LocateStaged(h); l != 0 {
		d.space.Spare(l)
		d.spared = true
	}
}

// requester is what Requests need of a world.
type requester interface {
	// Space returns the world's storage.
	Space() *store.Space
	// MustActOn panics unless a world.Actor acts on this world; extension is what messages name.
	MustActOn(actor any, extension string)
	// Open makes sure that there is room for a request of that size about an entity, and returns
	// where to push it. An idle world sends no requests, so it panics about one. Each Open that
	// returns no error is followed by the push and by Publish.
	Open(actor any, extension string, h handle.Handle, size uint32) (q *queue.Queue, epoch uint32, done queue.Finisher, err error)
	Publish(actor any)
	// Refuse ends a call by a world.Actor of which nothing is sent, and returns err: what
	// Port.Notify and Within said was for this call, and a batch is refused unless err is nil.
	Refuse(actor any, err error) error
	// Run notes what runs, for errors: a name, boxed once.
	Run(extension any)
}

// Requests is the right to send requests of one kind to an extension. They may concern any
// entities of any shards: the coordinator applies them, one after the other.
//
// Ownership: the extension's. Send may be called by whoever holds the actor.
type Requests[T any] struct {
	kind queue.Kind
	w    requester
	name string
}

// NewRequests makes a kind of request. At the refresh do is called for the entity that the
// request was sent with, if that entity is alive and not marked. What do returns is the outcome
// of the request. name is for panics.
func NewRequests[T any](w Join, name string, do func(h handle.Handle, v *T) queue.Outcome) *Requests[T] {
	return &Requests[T]{store.NewJoint(w.Space(), mem.TypeOf[T](), jointly[T]{w, name, name, do}), w, name}
}

// NewOwned is NewRequests for requests that concern what an entity's shard has. do is called with the
// shard that has the entity, on the goroutine of that shard.
func NewOwned[T any](w Join, name string, do func(shard int, h handle.Handle, v *T) queue.Outcome) *Requests[T] {
	return &Requests[T]{store.NewKind(w.Space(), mem.TypeOf[T](), owned[T]{name, do}), w, name}
}

// NewDirect is NewOwned for requests that concern a shard itself; see SendShard.
func NewDirect[T any](w Join, name string, do func(shard int, v *T) queue.Outcome) *Requests[T] {
	return &Requests[T]{store.NewKind(w.Space(), mem.TypeOf[T](), direct[T]{name, do}), w, name}
}

// Bytes returns how many bytes a request counts for in a queue.
func (r *Requests[T]) Bytes() uint64 { return queue.BytesOf(1, r.kind.Size()) }

// Check panics unless by, a world.Actor, acts on the world of the extension.
func (r *Requests[T]) Check(by any) { r.w.MustActOn(by, r.name) }

// Size returns what a request counts for in a queue.
func (r *Requests[T]) Size() uint32 { return r.kind.Size() }

// Refuse ends a call that sends nothing, because of err or, if err is nil, because there is nothing
// to do, and returns err. Each call by an actor ends in Send or Refuse.
func (r *Requests[T]) Refuse(by any, err error) error {
	r.Check(by)
	return r.w.Refuse(by, err)
}

// Send sends a request of a *world.Context, *world.EntityContext or *world.Port about an
// entity. It returns world.ErrStale for an entity that a system knows not to be alive, and
// world.ErrFull if the request was not accepted.
func (r *Requests[T]) Send(by any, h handle.Handle, v T) error { return r.send(by, h, 0, v) }

// SendShard sends a request of NewDirect to a shard, by a *world.Port. It returns world.ErrFull if it
// was not accepted.
func (r *Requests[T]) SendShard(by any, shard int, v T) error {
	return r.send(by, handle.None, queue.To(shard), v)
}

func (r *Requests[T]) send(by any, h handle.Handle, flags queue.Flags, v T) error {
	r.Check(by)
	q, epoch, done, err := r.w.Open(by, r.name, h, r.kind.Size())
	if err != nil {
		return err
	}
	_, at := r.kind.Push(q, h, epoch, flags, done)
	*mem.As[T](at) = v
	r.w.Publish(by)
	return nil
}

// jointly applies a request of an extension.
type jointly[T any] struct {
	w     requester
	label any // its name, boxed once
	name  string
	do    func(h handle.Handle, v *T) queue.Outcome
}

func (j jointly[T]) Apply(_ *store.Shard, h handle.Handle, l slots.Loc, v mem.Pointer) queue.Outcome {
	if l == 0 || j.w.Space().Marked(l) {
		return queue.Gone
	}
	j.w.Run(j.label)
	return j.do(h, mem.As[T](v))
}

// owned applies a request of NewOwned.
type owned[T any] struct {
	name string
	do   func(shard int, h handle.Handle, v *T) queue.Outcome
}

func (o owned[T]) Apply(s *store.Shard, h handle.Handle, _ slots.Loc, v mem.Pointer) queue.Outcome {
	return o.do(s.ID(), h, mem.As[T](v))
}

func (o owned[T]) Describe() store.Description {
	return store.Description{Name: "extension \"" + o.name + "\""}
}

// direct applies a request of NewDirect.
type direct[T any] struct {
	name string
	do   func(shard int, v *T) queue.Outcome
}

func (d direct[T]) Apply(s *store.Shard, _ handle.Handle, _ slots.Loc, v mem.Pointer) queue.Outcome {
	return d.do(s.ID(), mem.As[T](v))
}

func (d direct[T]) Describe() store.Description {
	return store.Description{Name: "extension \"" + d.name + "\"", Direct: true}
}

func (j jointly[T]) Describe() store.Description {
	return store.Description{Name: "extension \"" + j.name + "\""}
}
