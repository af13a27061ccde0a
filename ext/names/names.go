package names

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"reflect"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// Name is what a name can be: a string, or a number or 16 bytes (a UUID) that come
// from outside. The zero value is a name like any other.
type Name interface {
	~string | ~int64 | ~uint64 | ~[16]byte
}

// Options shape Names. The zero value means the defaults.
type Options struct {
	// LengthMax is the number of bytes that a string may have. Default: 256.
	LengthMax int
	// ConflictsMax is how many conflicts are remembered of each refresh, for
	// Names.Conflicts. Default: 1024.
	ConflictsMax int
}

const (
	defaultLengthMax = 256
	defaultConflicts = 1024
)

// Errors of refused calls, for errors.Is. A refused call changes nothing.
var (
	// ErrTaken is returned for a name that another entity has.
	ErrTaken = errors.New("names: another entity has that name")
	// ErrUnnamed is returned by Unbind for an entity without a name.
	ErrUnnamed = errors.New("names: entity has no name")
	// ErrLength is returned for a string that is longer than Options.LengthMax.
	ErrLength = errors.New("names: name is longer than LengthMax")
)

// Conflict is a request of a system or a port that the last refresh could not apply, because the
// name was taken: its outcome is world.Refused.
type Conflict[K Name] struct {
	// Entity is the entity that was to get the name.
	Entity handle.Handle
	// Name is the name that it was to get.
	Name K
	// Holder is the entity that had the name at that time.
	Holder handle.Handle
}

// Names gives entities of a world a name each, under which they are found. A world may have any
// number of Names: characters by name, and by their id in a database. Changes take an actor. With
// an idle *World they are made at once. With a *Context or a *Port they are requests. The refresh
// applies them one after the other, after all requests on single entities: ports by number, then
// source shards, each in the order sent. So an entity that is created in a refresh can be named in
// it. The name of an entity that is marked by then is free for another, even if an extension then
// spares the entity, which loses its name. An entity that dies only because another does, as a
// child in a hierarchy, loses its name after these requests. Hooks find no names of dying entities.
//
// A port that waits with Notify gets the outcome: Refused for a name that is taken, Gone
// if the entity was dead or dying by then, or Missing if it had no name to remove. Systems find
// the refused requests in Conflicts.
//
// A binding takes one allocation, of 16 bytes and the name, and 32 to 128 bytes in
// the indexes; a string is kept, with whatever memory it is a part of.
// Invariants: no two entities have the same name, and an entity with a name is alive, except as
// seen by readers while a refresh is under way.
//
// Ownership: the world's. The goroutine that holds the Actor may make changes; any goroutine may
// call Lookup, NameOf and Len at any time.
type Names[K Name] struct {
	part
	w         *world.World
	engine    *engine.World
	name      string
	options   Options
	seed      maphash.Seed
	byName    *index[K]
	byHandle  *index[K]
	count     atomic.Int64
	requests  *engine.Requests[change[K]]
	conflicts []Conflict[K]
	drafts    []draft[K] // of the transaction under way
	stale     bool       // conflicts are of an earlier refresh
	encoded   []byte     // what bindings returned
}

// part makes Names something that a view can have.
type part = world.Viewable

// New makes names for entities of a world. Errors and snapshots use the name. The world must be
// idle. New panics for a name that is empty or taken, and for options out of range.
func New[K Name](w *world.World, name string, o Options) *Names[K] {
	d := engine.Of(w)
	d.MustName("names.New", name)
	if o.LengthMax < 0 || o.ConflictsMax < 0 {
		panic(fmt.Sprintf("names: options of %q have a negative number: %+v", name, o))
	}
	o.LengthMax = cmp.Or(o.LengthMax, defaultLengthMax)
	o.ConflictsMax = cmp.Or(o.ConflictsMax, defaultConflicts)
	n := &Names[K]{
		w: w, engine: d, name: name, options: o, seed: maphash.MakeSeed(),
		byName:   newIndex(func(b *binding[K]) uint64 { return b.hash }),
		byHandle: newIndex(func(b *binding[K]) uint64 { return hashHandle(b.handle) }),
	}
	n.requests = engine.NewRequests(d, name, n.apply)
	n.part = d.Extend(adapter[K]{n})
	return n
}

// Name returns the name that the names were made with.
func (n *Names[K]) Name() string { return n.name }

// Options returns the options with the defaults filled in.
func (n *Names[K]) Options() Options { return n.options }

// Lookup returns the entity that has a name, and whether there is one. Like any handle it may be
// dead by the time the caller uses it. Safe from any goroutine at any time: it does not wait, write
// or allocate. Systems find what the last refresh left. During a refresh a name is found as it was
// before or as it is after; one that moves from one entity to another may have no entity in
// between. In a closed world no name is found; see World.Err.
func (n *Names[K]) Lookup(name K) (handle.Handle, bool) {
	return n.byName.lookup(maphash.Comparable(n.seed, name), name)
}

// NameOf returns the name of an entity, and whether it has one. As of Lookup.
func (n *Names[K]) NameOf(h handle.Handle) (K, bool) {
	return n.byHandle.nameOf(h)
}

// Len returns the number of names. Safe from any goroutine at any time.
func (n *Names[K]) Len() int { return int(n.count.Load()) }

// Read returns a Reader: given a World or a Build, of the names now, by the calls of Names; given a
// Tx, of the names as the transaction leaves them, by which dying entities have none; given a
// Frame, of the names as they were then. It panics if the frame's view does not have the names.
func (n *Names[K]) Read(a world.Binder) *Reader[K] {
	if t := n.engine.BindsTx(a, "Names.Read"); t != nil {
		return &Reader[K]{names: n, tx: t}
	}
	of, _, c := n.engine.Binds(a, n.part, "Names.Read")
	if !of {
		panic(fmt.Sprintf("names: Names.Read of %q, which belong to another world than the reader; use that world's own", n.name))
	}
	if x, ok := c.(*frozen[K]); ok {
		return &Reader[K]{names: n, frozen: x, frame: a}
	}
	return &Reader[K]{names: n}
}

// Bind gives an entity a name, and removes the one that it had. If the new name is refused, the
// entity keeps the old one. It returns world.ErrStale if the entity is known not to be alive, and
// ErrLength. An idle *World and a *Tx also get ErrTaken if another entity has the name; other actors get
// world.ErrFull if the request was not accepted.
func (n *Names[K]) Bind(by world.Actor, h handle.Handle, name K) error {
	if length(&name) > n.options.LengthMax {
		return n.requests.Refuse(by, fmt.Errorf("%w, which is %d of %q", ErrLength, n.options.LengthMax, n.name))
	}
	return n.do(by, h, change[K]{name: name, bind: true})
}

// Unbind removes the name of an entity. It returns world.ErrStale if the entity is known not to be
// alive. An idle *World and a *Tx also get ErrUnnamed if the entity has no name; other actors get
// world.ErrFull if the request was not accepted.
func (n *Names[K]) Unbind(by world.Actor, h handle.Handle) error {
	return n.do(by, h, change[K]{})
}

// All yields the entities that have a name, in the order of their handles, with the
// names. For an idle world. It sorts them, O(n log n). The loop does not see changes that it makes.
func (n *Names[K]) All() iter.Seq2[handle.Handle, K] { return n.all("Names.All") }

// all yields the entities and their names, by handle; call is the name of the call for messages.
func (n *Names[K]) all(call string) iter.Seq2[handle.Handle, K] {
	n.mustIdle(call)
	return func(yield func(handle.Handle, K) bool) {
		n.mustIdle(call)
		for _, b := range n.byHandle.ordered(n.Len()) {
			if !yield(b.handle, b.name) {
				return
			}
		}
	}
}

// Conflicts returns the requests that the last refresh could not apply because the name was taken,
// in order, up to Options.ConflictsMax. For systems, and the idle world. The slice is valid until the
// next refresh.
func (n *Names[K]) Conflicts() []Conflict[K] { return n.conflicts }

// mustIdle panics while a tick runs, and in a closed world.
func (n *Names[K]) mustIdle(call string) {
	if err := n.w.Err(); err != nil {
		panic(fmt.Sprintf("names: %s of %q in a world that is closed (%v); make another with world.New", call, n.name, err))
	}
	if !n.engine.Idle() {
		panic(fmt.Sprintf("names: %s of %q by the World while a tick runs; within a system use its Context, elsewhere a Port", call, n.name))
	}
}

// change is a request: that an entity has a name, or none.
type change[K Name] struct {
	name K
	bind bool
}

// do makes a change: at once with an idle world, with a transaction when that is done, otherwise by a
// request.
func (n *Names[K]) do(by world.Actor, h handle.Handle, c change[K]) error {
	self := n.requests.Check(by)
	if t, ok := self.(*engine.Tx); ok {
		return n.doIn(t, h, c)
	}
	w, ok := self.(*engine.World)
	if !ok {
		return n.requests.Send(by, h, c)
	}
	if err := w.Err(); err != nil {
		return err
	}
	if c.bind {
		n.mustIdle("Names.Bind")
	} else {
		n.mustIdle("Names.Unbind")
	}
	n.engine.MayTouch()
	var err error
	switch {
	case w.Locate(h) == 0:
		return world.ErrStale
	case !c.bind:
		err = n.unbind(h)
	default:
		_, err = n.bind(h, c.name)
	}
	if err == nil {
		n.engine.Touched()
	}
	return err
}

// apply is what a request does at the refresh. Its entity is alive and not dying.
func (n *Names[K]) apply(h handle.Handle, c *change[K]) engine.Outcome {
	n.forget()
	if !c.bind {
		if n.unbind(h) != nil {
			return engine.Missing
		}
		return engine.Applied
	}
	holder, err := n.bind(h, c.name)
	if err == nil {
		return engine.Applied
	}
	if len(n.conflicts) < n.options.ConflictsMax {
		n.conflicts = append(n.conflicts, Conflict[K]{Entity: h, Name: c.name, Holder: holder})
	}
	return engine.Refused
}

// bind gives a living entity a name. If another entity has the name, bind returns that.
func (n *Names[K]) bind(h handle.Handle, name K) (holder handle.Handle, err error) {
	b := &binding[K]{hash: maphash.Comparable(n.seed, name), name: name, handle: h}
	had, other := n.byHandle.of(h), n.byName.named(b.hash, name)
	switch {
	case had != nil && had == other:
		return h, nil
	case other != nil && !n.engine.IsDying(other.handle):
		return other.handle, ErrTaken
	case other != nil:
		n.byHandle.remove(other)
		n.byName.replace(other, b)
		n.count.Add(-1)
	default:
		n.byName.put(b)
	}
	if had == nil {
		n.byHandle.put(b)
		n.count.Add(1)
		return h, nil
	}
	n.byHandle.replace(had, b)
	n.byName.remove(had) // last, so that a reader that looks for either name meanwhile finds one
	return h, nil
}

// unbind takes the name of an entity away.
func (n *Names[K]) unbind(h handle.Handle) error {
	b := n.byHandle.of(h)
	if b == nil {
		return ErrUnnamed
	}
	n.byName.remove(b)
	n.byHandle.remove(b)
	n.count.Add(-1)
	return nil
}

// forget drops the conflicts of earlier refreshes.
func (n *Names[K]) forget() {
	if n.stale {
		clear(n.conflicts)
		n.conflicts, n.stale = n.conflicts[:0], false
	}
}

// bindings returns all names with their entities, in order. It encodes them again if any has
// changed.
func (n *Names[K]) bindings() []byte {
	if !n.byHandle.changed {
		return n.encoded
	}
	n.encoded, n.byHandle.changed = n.encoded[:0], false
	for _, b := range n.byHandle.ordered(n.Len()) {
		n.encoded = binary.LittleEndian.AppendUint64(n.encoded, uint64(b.handle))
		n.encoded = appendName(n.encoded, &b.name)
	}
	return n.encoded
}

// length returns the number of bytes of a name, if it is a string, or 0.
func length[K Name](name *K) int {
	if s, ok := any(name).(*string); ok {
		return len(*s)
	}
	if v := reflect.ValueOf(name).Elem(); v.Kind() == reflect.String {
		return v.Len()
	}
	return 0
}
