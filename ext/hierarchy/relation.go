package hierarchy

import (
	"fmt"
	"math"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// Options shape a relation. The zero value means the defaults.
type Options struct {
	// OnParentDeath is what becomes of the children when an entity dies. Default:
	// Destroy.
	OnParentDeath OnParentDeath
	// OnChildDeath is what becomes of the place when a child dies or moves to
	// another parent. Default: Close.
	OnChildDeath Gap
	// Places makes the list of each new parent a fixed one of that many places, as SetPlaces does.
	// Default: lists grow and shrink. If it is another number in a program that loads the relation,
	// or that a piece of snapshot.Extract comes to, lists of the old number of places get the new
	// one; what would lose children is refused. Lists of other sizes stay as they are.
	Places int
	// PlacesMax is how many places SetPlaces and Put may give a
	// list. Adding children has no such limit. Default: 65536.
	PlacesMax int
	// ConflictsMax is how many conflicts are remembered of each refresh, for
	// Reader.Conflicts. At most 2,147,483,646, as StepsMax. Default: 1024.
	ConflictsMax int
	// StepsMax is how many steps the requests of one port may take in a refresh, at
	// about a nanosecond each: 96 for each link that is climbed to see that there would be no
	// cycle; 1 or 2 for each place that is copied, cleared or searched; 16 for each child that gets
	// another place; 32 for each place of a bucket that a list gets; 64 for each child that Remove
	// gives to another parent. The steps in all relations of a world count together. When they are
	// as many, the port's further requests to this relation are refused with ErrSteps until the
	// next refresh. Systems, functions and the idle world have no such limit. Default: 16,777,216.
	// Whoever requests a transaction, 256 steps count as one more of its calls, and a child that
	// Sort sorts takes 64.
	StepsMax int
	// Memory says how memory is laid out.
	Memory Memory
}

// The defaults of Options.
const (
	defaultConflicts = 1024
	defaultPlacesMax = 1 << 16
	defaultStepsMax  = 1 << 24
)

// Relation is a hierarchy of a world's entities. An entity has at most one parent,
// and its children are in order, whatever their shards. A world may have any
// number of relations; each has its policies.
//
// Changes take an actor. With an idle *World they are made at once. With a *Context or a *Port they
// are requests. The refresh applies them one after the other, after all requests on single entities
// and before deaths spread: ports by number, then source shards, each in the order sent. So an item
// that was moved out of a bag survives if the bag dies in the same refresh, whichever was requested
// first. An item that was moved into it is treated as the bag's children are. Of two moves that
// together would be a cycle, the first is done and the second refused.
//
// A port that waits with Notify gets the outcome: Refused; Gone if the entity to be moved was dead
// or dying by then, or the new parent dead; or Missing if it was not in the relation. Applied does
// not mean that a new parent lives on: it may die in the same refresh. Systems find the
// refused requests of the last refresh in Reader.Conflicts.
//
// Ownership: the world's. The owner of the Actor may make changes; a Reader
// reads.
type Relation struct {
	part
	w         *world.World
	engine    *engine.World
	name      string
	options   Options
	tree      *tree
	idle      Reader
	requests  *engine.Requests[change]
	conflicts []Conflict      // of the last refresh, up to a limit
	paths     []handle.Handle // of the conflicts
	heirs     map[handle.Handle]handle.Handle
	climbed   []handle.Handle   // scratch of heir
	stale     bool              // conflicts are of an earlier refresh
	retold    bool              // conflicts differ from the newest copy
	dying     []handle.Handle   // parents that die by this relation
	bequests  []bequest         // children to be given to a grandparent
	comparing bool              // the idle world is in a Sort
	undo      undo              // of the transaction under way
	inTx      Reader            // of transactions
	sorting   [][]handle.Handle // scratch of Sort: of global systems, then by shard
}

// part makes a Relation something that a view can have.
type part = world.Viewable

// Conflict is a request of a system or a port that the last refresh could not apply: its outcome is
// world.Refused.
type Conflict struct {
	// Change is the method of Relation that was called, or "Destroy" for a parent that was
	// spared because of its children.
	Change string
	// Entity is the entity to be changed: the child, or the parent that owns the list.
	Entity handle.Handle
	// Other is the parent, sibling or partner, if there was one.
	Other handle.Handle
	// Err is the reason.
	Err error
	// Path and Omitted are what a CycleError has, from the entity down. Path is valid until the
	// next refresh.
	Path    []handle.Handle
	Omitted int
}

// numberMax is the largest number of the options: what a snapshot can have.
const numberMax = math.MaxInt32 - 1

// New makes a relation of a world. Errors, snapshots and tools use its name. The world must be
// idle. New panics for a name that is empty or taken, and for options out of range.
func New(w *world.World, name string, o Options) *Relation {
	d := engine.Of(w)
	d.MustName("hierarchy.New", name)
	if o.PlacesMax == 0 {
		o.PlacesMax = max(defaultPlacesMax, o.Places)
	}
	if o.OnParentDeath > SpareParent || o.OnChildDeath > Swap || o.ConflictsMax < 0 || o.ConflictsMax > numberMax || o.StepsMax < 0 || o.StepsMax > numberMax ||
		o.Places < 0 || o.PlacesMax < o.Places || o.PlacesMax > placeMax {
		panic(fmt.Sprintf("hierarchy: relation %q has an unknown policy, or a number that is negative or more than %d, in its options: %+v", name, numberMax, o))
	}
	if o.ConflictsMax == 0 {
		o.ConflictsMax = defaultConflicts
	}
	if o.StepsMax == 0 {
		o.StepsMax = defaultStepsMax
	}
	o.Memory.Reserve = spread(w, o.Memory.Reserve)
	r := &Relation{
		w: w, engine: d, name: name, options: o, tree: newTree(o.Memory), sorting: make([][]handle.Handle, 1+w.Shards()),
	}
	r.idle = Reader{tree: r.tree, relation: r, conflicts: &r.conflicts}
	r.undo.r = r
	r.inTx = Reader{tree: r.tree, relation: r, conflicts: &r.conflicts}
	r.requests = engine.NewRequests(d, name, r.apply)
	r.part = d.Extend(adapter{r})
	return r
}

// Name returns the relation's name.
func (r *Relation) Name() string { return r.name }

// Options returns the options with the defaults filled in.
func (r *Relation) Options() Options { return r.options }

// Read returns a Reader: given a Build, for the system and shard that it is built for; given a
// World, for use between ticks; given a Tx, as the transaction leaves the relation, for use until
// that returns, which only the check build checks; given a Frame, of the relation as it was then.
// Systems may read any entity, whatever its shard, because no relation changes while they run. It
// panics if the frame's view does not have the relation.
func (r *Relation) Read(a world.Binder) *Reader {
	if r.engine.BindsTx(a, "Relation.Read") != nil {
		return &r.inTx
	}
	of, idle, c := r.engine.Binds(a, r.part, "Relation.Read")
	if !of {
		panic(fmt.Sprintf("hierarchy: relation %q belongs to another world than the reader; use that world's own", r.name))
	}
	if idle {
		return &r.idle
	}
	if x, ok := c.(*frozen); ok {
		return &Reader{tree: &x.tree, relation: r, conflicts: &x.conflicts, frame: a, frozen: x}
	}
	return &Reader{tree: r.tree, relation: r, conflicts: &r.conflicts}
}

// Links returns the number of children: entities that have a parent. For an idle
// world.
func (r *Relation) Links() int { return r.forCall("Links").Links() }

// Reserve makes room for that much more, in one allocation: what fits in it allocates
// nothing. Without Room.Homes, it assumes that entities are spread over all shards. For an
// idle world.
func (r *Relation) Reserve(room Room) { r.forCall("Reserve").Reserve(spread(r.w, room)) }

// spread fills in the number of a world's homes.
func spread(w *world.World, room Room) Room {
	if room.Homes == 0 {
		room.Homes = w.Shards() + 1 // ports have a home of their own, in which they create
	}
	return room
}

// NeedsGrowth reports whether adding that many more children to an entity would
// allocate memory. For an idle world.
func (r *Relation) NeedsGrowth(parent handle.Handle, children int) bool {
	return r.forCall("NeedsGrowth").NeedsGrowth(parent, children)
}

// Save appends an image of the relation to dst: a copy of its memory. For an idle world.
func (r *Relation) Save(dst []byte) []byte { return r.forCall("Save").Save(dst) }

// Load replaces the relation by an image. The world must be the one of the image, with the same
// entities. It returns ErrImage for an image that is not complete, and
// world.ErrStale if it names an entity that is not alive; then the relation is
// unchanged. For an idle world.
func (r *Relation) Load(image []byte) error {
	if err := r.w.Err(); err != nil {
		return err
	}
	r.mustIdle("Load")
	r.mustNotCompare("Load")
	next, err := load(image)
	if err != nil {
		return err
	}
	for h := range next.entities {
		if !r.w.Alive(h) {
			return fmt.Errorf("%w: %v in the image of relation %q", world.ErrStale, h, r.name)
		}
	}
	r.engine.Touched()
	r.tree.become(next)
	return nil
}

// mustIdle panics while a tick runs, and in a closed world.
func (r *Relation) mustIdle(call string) {
	if err := r.w.Err(); err != nil {
		panic(fmt.Sprintf("hierarchy: Relation.%s of %q in a world that is closed (%v); make another with world.New", call, r.name, err))
	}
	if !r.engine.Idle() {
		panic(fmt.Sprintf("hierarchy: Relation.%s of %q by the World while a tick runs; within a system use its Context, elsewhere a Port", call, r.name))
	}
}

// forCall returns the tree for a call that only an idle world may make.
func (r *Relation) forCall(call string) *tree {
	r.mustIdle(call)
	return r.tree
}
