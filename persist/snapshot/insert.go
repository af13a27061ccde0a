package snapshot

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// InsertOptions shape an Insert. The zero value inserts all entities of a world without codecs.
type InsertOptions struct {
	// Codecs are those of the types that have one.
	Codecs *state.Codecs
	// Roots are the entities to insert, with all entities below them in any relation. Nil means
	// all entities.
	Roots []handle.Handle
	// Shard gets the entities of the piece's shard 0. Those of its shard 1 go to the
	// next shard, and so on; after the last shard comes the first.
	Shard int
	// WithoutNames leaves out the names of package names. With its names a piece can be inserted
	// only once.
	WithoutNames bool
}

// Inserted says what became of the entities of a piece.
//
// Ownership: immutable.
type Inserted struct {
	// Cut is how many handles in components named an entity that was not inserted. They are None
	// now. A map entry with such a handle in its key is left out.
	Cut int
	old []handle.Handle
	to  map[handle.Handle]handle.Handle
}

// Handle returns the new handle of an entity by its handle in the piece, or None if it was not
// inserted.
func (x *Inserted) Handle(old handle.Handle) handle.Handle { return x.to[old] }

// Len returns how many entities were inserted.
func (x *Inserted) Len() int { return len(x.old) }

// All yields the handles of the entities in the piece, with the new ones.
func (x *Inserted) All() iter.Seq2[handle.Handle, handle.Handle] {
	return func(yield func(old, now handle.Handle) bool) {
		for _, h := range x.old {
			if !yield(h, x.to[h]) {
				return
			}
		}
	}
}

// Insert puts copies of the entities of piece, such as a zone that Load has loaded, into the world.
// The copies have new handles, and their components and flags, places in relations and names. An
// entity whose parent is not inserted loses it, as with Relation.RemoveChild. Each handle.Handle in
// a component becomes the new handle of that entity, also within arrays, slices, maps, pointers and
// interfaces, and in a reference.Weak. A handle that is kept as another type, such as a uint64 or a
// string, stays as it is. Resources, messages, timers, asks, requests, hooks and systems of the
// piece are not inserted, and a timer.ID or async.ID in a component becomes None. The piece is not
// changed.
//
// Components, relations and names are matched by their names, and must have the same types and
// policies in both worlds. The world may lack those that no inserted entity has. Components are
// copied by world.Component.CloneBy. Without that, if a plain copy would share something with the
// piece, they are copied by their codec or as CBOR; then what two pointers or slices share becomes
// two values. The next refresh calls hooks for the entities, as for all that were created.
//
// Both worlds must be idle, as within Scheduler.Between, and no query loop may be open on w. One
// goroutine copies: an entity with three components takes about 0.2 µs. To spread a large piece
// over ticks, insert it by Roots, some at a time; handles from one part to another are cut. The
// same inserts give the same world. An Insert is a change of the idle world, which no log has; a
// durable.Store saves a snapshot after it.
//
// After an error the world is unchanged. Errors are ErrOtherWorld for something that w lacks or has
// in another form, names.ErrTaken and names.ErrLength, hierarchy.ErrLimit, world.ErrIndexes,
// world.ErrChunks, world.ErrStale for a root that is not alive, world.ErrClosed, state.ErrNoCodec,
// and those of codecs. Insert also refuses pieces with entities that are marked to be destroyed,
// with a value that contains itself or is nested more than 10,000 deep, or with a reference.Owner.
// It panics if w is piece, for a Shard that the world does not have, and if a CloneBy or codec
// panics.
func Insert(w, piece *world.World, o InsertOptions) (*Inserted, error) {
	x, err := newInsertion(w, piece, o)
	if err == nil {
		err = x.plan()
	}
	if err == nil {
		err = x.copy()
	}
	if err == nil { // no user's code runs from here on
		err = x.number()
	}
	if err == nil {
		err = x.rewrite()
	}
	if err == nil {
		err = x.planExtensions()
	}
	if err != nil {
		return nil, err
	}
	x.to.Touched()
	for _, g := range x.groups {
		g.insert()
	}
	for _, f := range x.puts {
		f()
	}
	return x.made, nil
}

// insertion is an Insert that is under way.
type insertion struct {
	to, from   *engine.World
	own, other *engine.Survey // of the worlds
	o          InsertOptions
	components []int          // by component of the piece: its number in the world, or -1 if not looked up yet
	groups     []*insertGroup // by table
	made       *Inserted
	puts       []func() // insert the parts of extensions
}

// newInsertion checks the arguments of Insert and that both worlds are idle.
func newInsertion(w, piece *world.World, o InsertOptions) (*insertion, error) {
	const call = "snapshot.Insert"
	switch {
	case w == nil || piece == nil:
		panic("snapshot: Insert with a nil World; pass one of world.New")
	case w == piece:
		panic("snapshot: Insert of a world into itself; Capture it, and Load that into another world")
	case o.Shard < 0 || o.Shard >= w.Shards():
		panic(fmt.Sprintf("snapshot: Insert with InsertOptions.Shard = %d; want 0 to %d", o.Shard, w.Shards()-1))
	}
	if err := errors.Join(w.Err(), piece.Err()); err != nil {
		return nil, err
	}
	x := &insertion{to: engine.Of(w), from: engine.Of(piece), o: o}
	x.from.MustIdle(call + " of a piece")
	x.from.MustBeWhole(call + " of a piece")
	if err := x.to.MayInsert(call); err != nil {
		return nil, err
	}
	x.own, x.other = x.to.Survey(), x.from.Survey()
	for i := range piece.Shards() {
		if x.other.Shard(i).MarkedRows() > 0 {
			return nil, errors.New("snapshot: Insert of a piece with entities that are marked to be destroyed; call its Refresh first")
		}
	}
	x.components = slices.Repeat([]int{-1}, len(x.other.Components()))
	return x, nil
}

// planExtensions plans what extensions have of the entities.
func (x *insertion) planExtensions() error {
	own, used := x.own.Extensions(), map[int]bool{}
	for i, e := range x.other.Extensions() {
		name := extend.NameOf(e, i)
		if _, late := e.(extend.Late); late {
			continue // timers
		}
		from, ok := e.(extend.Insertable)
		if !ok {
			return format.OtherWorld("extension %q, a %T, cannot be inserted", name, e)
		}
		if x.o.WithoutNames && from.Unique() {
			continue
		}
		part := from.Excerpt(x.made.to)
		if part == nil {
			continue
		}
		at := -1
		for k, o := range own {
			if at < 0 && !used[k] && extend.NameOf(o, k) == name {
				at, used[k] = k, true
			}
		}
		if at < 0 {
			return format.OtherWorld("%q of the piece, which has entities that are inserted, is not in the world; make it with the same New", name)
		}
		put, err := own[at].(extend.Insertable).PlanInsert(part)
		if err != nil {
			return fmt.Errorf("snapshot: Insert: %w", err)
		}
		x.puts = append(x.puts, put)
	}
	return nil
}
