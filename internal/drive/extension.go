package drive

import (
	"fmt"
	"strconv"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Extension is what a package outside the core keeps about entities, such as a relation among them
// or an index of them. It takes part in each refresh, after all requests on single entities were
// applied and before any entity is destroyed:
//
//	its Requests, in order           the functions that NewRequests was given
//	Spare, until none spares more    find entities that must not die
//	Spread, until none marks more    find entities that die with them: first extensions that mark, then extensions that follow
//	Settle                           finish the extension's own state
//
// An extension that panics, or ends its goroutine, breaks the world, because it may have
// changed in part. The functions that NewRequests was given do so as well. See
// world.BrokenError.
//
// Ownership: the coordinator calls, while no shard runs.
type Extension interface {
	// Begin is called when a tick begins. Until the refresh the extension must not change, so that
	// systems may read it.
	Begin()
	// Spare looks at the marked entities and removes marks with DyingSet.Spare. It reports
	// whether it removed any. When it is called again, it is enough to look at what follows from
	// DyingSet.News.
	Spare(d *DyingSet) bool
	// Spread handles the entities of d.All from the given position on, and marks others with
	// DyingSet.Mark. It is not called again for those it marks itself.
	Spread(d *DyingSet, from int)
	// Settle is called when it is known which entities die.
	Settle()
}

// Following is an Extension that can say that its Spread marks no entities. Then Spread is called
// once, when all are marked.
type Following interface{ Follows() bool }

// Insertable is an Extension whose data about entities can be inserted into another world with
// them.
//
// Ownership: the owner of the idle world calls.
type Insertable interface {
	// AppendFollowers appends the entities that must be inserted together with an entity.
	AppendFollowers(dst []handle.Handle, h handle.Handle) []handle.Handle
	// Unique reports whether only one entity can have what an entity has here, such as a name.
	Unique() bool
	// Excerpt returns the extension's data about the entities that are keys of to, rewritten for
	// the entities that they map to; nil if there is none.
	Excerpt(to map[handle.Handle]handle.Handle) any
	// PlanInsert returns a function that adds an excerpt of an extension of another world. It
	// returns an error if the excerpt cannot be added. PlanInsert itself changes nothing.
	PlanInsert(excerpt any) (insert func(), err error)
}

// Family is an Extension in which entities have parents and children.
type Family interface {
	// LinkSize returns the size, as a queue counts it, of a request to make an entity a child.
	LinkSize() uint32
	// Children returns the children of an entity in order, with None in empty places, and whether
	// the places are fixed. It may be called while the Extension does not change.
	Children(h handle.Handle) (all []handle.Handle, fixed bool)
	// Parent returns the parent of an entity, or None, at the same times.
	Parent(h handle.Handle) handle.Handle
	// Fix fixes the number of a parent's places, or with 0 makes them not fixed. Place makes a
	// child take one of them. Both act for a world.Actor, and may exceed the user's limits, because
	// lists from elsewhere may. For the idle world Fix takes what Link does.
	Fix(by any, parent handle.Handle, places int) error
	Place(by any, child, parent handle.Handle, place int) error
	// Link makes a child take a place, or with a negative one come after the others, at once, for
	// the idle world. Both may be entities that it is about to create. Unlink takes an entity and
	// all below it out again, if it is not created.
	Link(child, parent handle.Handle, place int) error
	Unlink(h handle.Handle)
}

// Naming is an Extension that gives entities names.
type Naming interface {
	// TextOf returns the name of an entity as text, and whether it has one. Safe from any
	// goroutine.
	TextOf(h handle.Handle) (string, bool)
}

// NameOf returns the name of an Extension or Late, or its number.
func NameOf(x any, number int) string {
	if name, ok := nameOf(x); ok {
		return name
	}
	return strconv.Itoa(number)
}

// Mention returns an Extension, Late or Derived as errors call it: by its name or, if it has none,
// its type.
func Mention(x any) string {
	if name, ok := nameOf(x); ok {
		return fmt.Sprintf("extension %q", name)
	}
	return fmt.Sprintf("extension %T", x)
}

func nameOf(x any) (name string, ok bool) {
	switch x := x.(type) {
	case interface{ Name() string }:
		return x.Name(), true
	case interface{ Label() string }:
		return x.Label(), true
	}
	return "", false
}

// DyingSet holds the entities that die in a refresh: first the marked ones, by shard in order,
// then those that extensions mark as a consequence.
//
// Ownership: as for Extension.
type DyingSet struct {
	space  *store.Space
	all    []handle.Handle
	spared []handle.Handle
	known  int
	notify bool // other extensions must be notified of what one marks
}

// Collect lists the marked entities of each shard, for a refresh with that many extensions.
func (d *DyingSet) Collect(space *store.Space, shards []*store.Shard, extensions int) {
	d.space, d.notify = space, extensions > 1
	d.all, d.spared = d.all[:0], d.spared[:0]
	for _, s := range shards {
		d.all = s.AppendMarked(d.all)
	}
}

// Spared returns how many marks were removed since Collect.
func (d *DyingSet) Spared() int { return len(d.spared) }

// Know sets how many of them the extension that is called next knows, or -1 in its first call.
func (d *DyingSet) Know(n int) { d.known = n }

// News returns the entities whose marks were removed since Spare of the extension was called last,
// and whether this is the first call in the refresh.
func (d *DyingSet) News() (spared []handle.Handle, first bool) {
	return d.spared[max(d.known, 0):], d.known < 0
}

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
		d.spared = append(d.spared, h)
	}
}

// requester is what Requests need of a world.
type requester interface {
	// Space returns the world's storage.
	Space() *store.Space
	// MustActOn panics unless a world.Actor acts on this world; extension is the name for messages.
	MustActOn(actor any, extension string)
	// Open makes sure that there is room for a request of that size about an entity, and returns
	// where to push it. It panics for an idle world, which sends no requests. After each Open that
	// returns no error the caller pushes, and then calls Publish.
	Open(actor any, extension string, h handle.Handle, size uint32) (q *queue.Queue, epoch uint32, done queue.Finisher, err error)
	Publish(actor any)
	// OpenN is Open for requests about several entities, at least one. done is for one of them.
	OpenN(actor any, extension string, hs []handle.Handle, size uint32) (q *queue.Queue, epoch uint32, done queue.Finisher, err error)
	// Refuse ends a call by a world.Actor that sends nothing, and returns err. What Port.Notify and
	// Port.Within set is used up by the call. Unless err is nil, a batch is refused.
	Refuse(actor any, err error) error
	// Run records what runs, for errors: a name, boxed once.
	Run(extension any)
}

// Sender tells extensions whose requests are being applied.
type Sender struct {
	Port  bool // it is a port, also in a replay, and not the program itself
	Steps int  // what its requests in this refresh have taken, as the extensions that limit it count
}

// Requests is the right to send requests of one kind to an extension. Those of NewRequests may
// concern any entities of any shards: the coordinator applies them, one after the other. Those of
// NewOwned and NewDirect are applied by the worker of the shard that they are for.
//
// Ownership: the extension's. Any goroutine that may use the actor may call Send.
type Requests[T any] struct {
	kind queue.Kind
	w    requester
	name string
}

// NewRequests makes a kind of request. The refresh calls do for the entity that the request was
// sent with, if that entity is alive and not marked. The result of do is the outcome of the
// request. name is for panics.
func NewRequests[T any](w Join, name string, do func(h handle.Handle, v *T) queue.Outcome) *Requests[T] {
	return &Requests[T]{store.NewJoint(w.Space(), mem.TypeOf[T](), jointly[T]{w, name, name, do}), w, name}
}

// NewOwned is NewRequests for requests that concern the extension's data in an entity's shard. do
// is called with the shard that has the entity, on the goroutine of that shard.
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

// Size is Bytes in the units of a queue.
func (r *Requests[T]) Size() uint32 { return r.kind.Size() }

// Refuse ends a call that sends nothing, and returns err, the reason; err is nil if there is
// nothing to do. Each call by an actor ends in Send or Refuse.
func (r *Requests[T]) Refuse(by any, err error) error {
	r.Check(by)
	return r.w.Refuse(by, err)
}

// Send sends a request of a *world.Context, *world.EntityContext or *world.Port about an entity. It
// returns world.ErrStale if a system knows that the entity is not alive, and world.ErrFull if the
// request was not accepted.
func (r *Requests[T]) Send(by any, h handle.Handle, v T) error { return r.send(by, h, 0, v) }

// SendN is Send of the same value about several entities: all requests are accepted, or none. A
// Completion of Port.Notify learns the outcome of the first.
func (r *Requests[T]) SendN(by any, hs []handle.Handle, v T) error {
	if len(hs) == 0 {
		return r.Refuse(by, nil)
	}
	r.Check(by)
	q, epoch, done, err := r.w.OpenN(by, r.name, hs, r.kind.Size())
	if err != nil {
		return err
	}
	for _, h := range hs {
		_, at := r.kind.Push(q, h, epoch, 0, done)
		*mem.As[T](at) = v
		done = nil
	}
	r.w.Publish(by)
	return nil
}

// SendShard sends a request of NewDirect to a shard, by a *world.Port. It returns world.ErrFull if
// it was not accepted.
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
