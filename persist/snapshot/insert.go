package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/extend/remap"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
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
func (i *Inserted) Handle(old handle.Handle) handle.Handle { return i.to[old] }

// Len returns how many entities were inserted.
func (i *Inserted) Len() int { return len(i.old) }

// All yields the handles of the entities in the piece, with the new ones.
func (i *Inserted) All() iter.Seq2[handle.Handle, handle.Handle] {
	return func(yield func(old, now handle.Handle) bool) {
		for _, h := range i.old {
			if !yield(h, i.to[h]) {
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
		err = inOrder(x.plan, x.copy, x.number, x.rewrite, x.planExtensions) // no user's code runs after copy
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
//
// Ownership: the goroutine of Insert, while both worlds are idle.
type insertion struct {
	to, from   *engine.World
	own, other *engine.Survey // of the worlds
	o          InsertOptions
	components []int    // by component of the piece: its number in the world, or -1 if not looked up yet
	groups     []*group // by table
	made       *Inserted
	puts       []func() // insert the parts of extensions
}

// newInsertion checks the arguments of Insert and that both worlds are idle. It changes neither;
// nor does any other step before insert.
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

// planExtensions plans what extensions have of the entities, and changes nothing: puts has the
// functions that do. An error ends the Insert.
func (i *insertion) planExtensions() error {
	own, used := i.own.Extensions(), map[int]bool{}
	for _, e := range i.other.Extensions() {
		name := e.Name()
		if _, late := e.(extend.Late); late {
			continue // timers
		}
		from, ok := e.(extend.Insertable)
		if !ok {
			return format.OtherWorld("extension %q, a %T, cannot be inserted", name, e)
		}
		if i.o.WithoutNames && from.Unique() {
			continue
		}
		part := from.Excerpt(i.made.to)
		if part == nil {
			continue
		}
		to := -1
		for k, o := range own {
			if to < 0 && !used[k] && o.Name() == name {
				to, used[k] = k, true
			}
		}
		if to < 0 {
			return format.OtherWorld("%q of the piece, which has entities that are inserted, is not in the world; make it with the same New", name)
		}
		put, err := own[to].(extend.Insertable).PlanInsert(part)
		if err != nil {
			return fmt.Errorf("snapshot: Insert: %w", err)
		}
		i.puts = append(i.puts, put)
	}
	return nil
}

// group is the rows for one table.
//
// Ownership: the goroutine of Insert.
type group struct {
	shard   *store.Shard
	set     store.Set
	runs    []run
	rows    int
	handles []handle.Handle // the new ones
	values  []mem.Cells     // of the components, by column
}

// run is some rows of a chunk of the piece.
type run struct {
	chunk    *store.Chunk
	from, to int
}

// plan finds the entities and their tables in the world. An error ends the Insert; nothing has
// changed.
func (i *insertion) plan() error {
	runs, err := i.runs()
	if err != nil {
		return err
	}
	type key struct {
		shard int
		set   store.Set
	}
	groups, homes := map[key]*group{}, i.to.Space().Shards()
	for _, r := range runs {
		k := key{shard: (r.chunk.Table().Shard().ID() + i.o.Shard) % homes}
		for _, id := range r.chunk.Table().Components() {
			own, err := i.component(id)
			if err != nil {
				return err
			}
			k.set.Add(own)
		}
		g := groups[k]
		if g == nil {
			g = &group{shard: i.own.Shard(k.shard), set: k.set}
			groups[k] = g
			i.groups = append(i.groups, g)
		}
		g.runs = append(g.runs, r)
		g.rows += r.to - r.from
	}
	return nil
}

// runs returns the rows of the entities to insert, in the order of the piece's shards. An error
// names a root that is not alive.
func (i *insertion) runs() (runs []run, err error) {
	if i.o.Roots == nil {
		for k := range i.from.Space().Shards() {
			for _, t := range i.other.Shard(k).Tables() {
				for _, c := range t.Chunks() {
					if n := len(c.Handles()); n > 0 {
						runs = append(runs, run{c, 0, n})
					}
				}
			}
		}
		return runs, nil
	}
	all, seen := slices.Clone(i.o.Roots), map[handle.Handle]bool{}
	for k := 0; k < len(all); k++ {
		h := all[k]
		l := i.from.Space().Locate(h)
		if l == 0 {
			return nil, fmt.Errorf("%w: %v of InsertOptions.Roots", world.ErrStale, h)
		}
		if seen[h] {
			continue
		}
		seen[h] = true
		c, row := i.from.Space().At(l)
		runs = append(runs, run{c, row, row + 1})
		for _, e := range i.other.Extensions() {
			if e, ok := e.(extend.Insertable); ok {
				all = e.AppendFollowers(all, h)
			}
		}
	}
	slices.SortFunc(runs, func(a, b run) int {
		s, t := a.chunk.Table(), b.chunk.Table()
		return cmp.Or(cmp.Compare(s.Shard().ID(), t.Shard().ID()), cmp.Compare(s.Serial(), t.Serial()),
			cmp.Compare(a.chunk.Order(), b.chunk.Order()), cmp.Compare(a.from, b.from))
	})
	return runs, nil
}

// component returns the world's number of a component of the piece. An error says that the world
// lacks it, or has another type.
func (i *insertion) component(id int) (int, error) {
	if i.components[id] == -1 {
		n := i.other.Components()[id]
		at := slices.IndexFunc(i.own.Components(), func(own extend.Named) bool { return own.Name == n.Name })
		switch {
		case at < 0:
			return 0, format.OtherWorld("component %q (%v) of the piece is not in the world; register it, or remove it from the piece", n.Name, n.Type)
		case i.own.Components()[at].Type != n.Type:
			return 0, format.OtherWorld("component %q is a %v in the piece, and a %v in the world", n.Name, n.Type, i.own.Components()[at].Type)
		}
		if remap.Holds(n.Type, ownerType) {
			return 0, fmt.Errorf("snapshot: Insert: component %q: %w", n.Name, remap.ErrOwner)
		}
		i.components[id] = at
	}
	return i.components[id], nil
}

// number checks that there is room, and finds the handles that the entities will get. It takes
// none. An error ends the Insert; nothing has changed.
func (i *insertion) number() error {
	byShard, chunks := make([]int, i.to.Space().Shards()), 0
	for _, g := range i.groups {
		byShard[g.shard.ID()] += g.rows
		chunks += g.shard.ChunksFor(g.set, g.rows)
	}
	if left := i.to.Space().ChunksLeft(); chunks > left {
		return fmt.Errorf("%w: the piece needs %d, and %d are left; with a higher ChunkRowsMax each holds more", world.ErrChunks, chunks, left)
	}
	next, all := make([][]handle.Handle, len(byShard)), 0
	for k, n := range byShard {
		var err error
		if next[k], err = i.own.Shard(k).AppendNext(nil, n); err != nil {
			return fmt.Errorf("%w; the piece needs %d there", err, n)
		}
		all += n
	}
	i.made = &Inserted{old: make([]handle.Handle, 0, all), to: make(map[handle.Handle]handle.Handle, all)}
	for _, g := range i.groups {
		of := &next[g.shard.ID()]
		g.handles, *of = (*of)[:g.rows], (*of)[g.rows:]
		at := 0
		for _, r := range g.runs {
			for _, old := range r.chunk.Handles()[r.from:r.to] {
				i.made.old = append(i.made.old, old)
				i.made.to[old] = g.handles[at]
				at++
			}
		}
	}
	return nil
}

// copy copies the components to memory of the insertion's own. It runs codecs and CloneBy functions
// of the user. An error ends the Insert; nothing has changed.
func (i *insertion) copy() (err error) {
	name := ""
	defer func() {
		if e := format.CodecError(recover()); e != nil {
			err = e
		}
		if err != nil {
			err = fmt.Errorf("snapshot: Insert: component %q: %w", name, err)
		}
	}()
	for _, g := range i.groups {
		for id := range g.set.All {
			name = i.own.Components()[id].Name
			values := i.to.Space().Values(id, g.rows)
			if err := i.copyColumn(g, slices.Index(i.components, id), values); err != nil {
				return err
			}
			i.to.Space().TypeOf(id).ClearSingles(values.Part(0).Address, g.rows)
			g.values = append(g.values, values)
		}
	}
	return nil
}

// copyColumn copies a component of a group's rows to values, from the piece, which stays as it is.
// It returns a codec's error.
func (i *insertion) copyColumn(g *group, component int, to mem.Cells) (err error) {
	var codec form.Form
	if !i.other.Copied(component) {
		if codec, err = (*form.Codecs)(i.o.Codecs).Form(to.Type, true); err != nil {
			return err
		}
	}
	at := 0
	var bytes []byte
	for _, r := range g.runs {
		column, n := slices.Index(r.chunk.Table().Components(), component), r.to-r.from
		if codec == nil {
			r.chunk.CopyValues(column, to, at, r.from, n)
		} else {
			bytes = codec.AppendAll(bytes[:0], r.chunk.Cells(column).Slice(r.from, n))
			if _, err := codec.ReadAll(bytes, to.Slice(at, n)); err != nil {
				return err
			}
		}
		at += n
	}
	return nil
}

// ownerType is a type that Insert refuses.
var ownerType = reflect.TypeFor[reference.Owner]()

// rewrite replaces the handles in the copies. An error ends the Insert; nothing has changed.
func (i *insertion) rewrite() (err error) {
	m := remap.New(i.to.Liveness(), ownerType, func(old handle.Handle) (handle.Handle, bool) {
		now, ok := i.made.to[old]
		return now, ok
	})
	var what reflect.Type
	defer func() {
		i.made.Cut = m.Cut
		switch v := recover(); v {
		case nil:
		case remap.ErrDeep, remap.ErrOwner:
			err = fmt.Errorf("snapshot: Insert: a component of type %v: %w", what, v.(error))
		default:
			panic(v)
		}
	}()
	for _, g := range i.groups {
		for _, values := range g.values {
			what = values.Type
			f, size := m.Of(what), what.Size()
			if f == nil {
				continue
			}
			for row := range g.rows {
				f(values.Part(0).At(row, size).Address)
			}
		}
	}
	return nil
}

// insert makes the entities of a group in the idle world. It cannot fail: number has seen that
// there is room.
func (g *group) insert() {
	t, at := g.shard.Table(g.set), 0
	_ = g.shard.Prepare(t, g.rows) // there is room
	var made []store.Rows
	for at < g.rows {
		rows, err := g.shard.CreateRows(t, g.rows-at, false)
		if err != nil || !slices.Equal(rows.Handles(), g.handles[at:at+rows.Len()]) {
			panic(fmt.Sprintf("snapshot: Insert: the world has given other handles than it was going to (%v)", err))
		}
		for i, values := range g.values {
			rows.PutValues(i, values, at)
		}
		g.shard.PublishRows(rows)
		made = append(made, rows)
		at += rows.Len()
	}
	g.insertFlags(made)
}

// insertFlags gives the entities their flags in the piece.
func (g *group) insertFlags(made []store.Rows) {
	at := 0 // in the first of made
	for _, r := range g.runs {
		for row := r.from; row < r.to; row++ {
			if at == made[0].Len() {
				made, at = made[1:], 0
			}
			if f := r.chunk.FlagsAt(row); f != 0 {
				made[0].SetFlags(at, f)
			}
			at++
		}
	}
}
