package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/extend/remap"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// InsertOptions shape an Insert. The zero value inserts a piece without codecs.
type InsertOptions struct {
	// Codecs are for types that have one.
	Codecs *state.Codecs
	// Changes say what becomes of something in the piece that the world does not have, or has in
	// another form, as Options.Changes do for Load.
	Changes []Change
	// Shard gets the entities that were in shard 0 where the piece comes from. Those of shard 1 go to
	// the next shard, and so on; after the last shard comes the first.
	Shard int
	// WithoutNames leaves out the names of package names. With its names a piece can be inserted
	// only once.
	WithoutNames bool
	// BytesMax is the most memory that the components of the entities and the messages of their timers
	// may take while they are read, with what slices, maps and pointers in them hold. Default: 1 GB.
	BytesMax int64
}

// Inserted says what became of the entities of a piece.
//
// Ownership: immutable.
type Inserted struct {
	// Cut is how many handles in components, and in messages of timers, named an entity that was not
	// inserted. They are None now. A map entry with such a handle in its key is left out.
	Cut int
	old *extend.Excerpt
	now []handle.Handle // by place in the piece
}

// Handle returns the new handle of an entity by the handle that it had where the piece comes from, or
// None if it was not inserted.
func (i *Inserted) Handle(old handle.Handle) handle.Handle {
	if at, ok := i.old.Place(old); ok {
		return i.now[at]
	}
	return handle.None
}

// Len returns how many entities were inserted.
func (i *Inserted) Len() int { return len(i.now) }

// All yields the handles that the entities had where the piece comes from, with the new ones.
func (i *Inserted) All() iter.Seq2[handle.Handle, handle.Handle] {
	return func(yield func(old, now handle.Handle) bool) {
		for at, h := range i.old.Handles {
			if !yield(h, i.now[at]) {
				return
			}
		}
	}
}

// Insert puts the entities of a piece into the world. They have new handles, and their components and
// flags, places in relations, names and timers. An entity whose parent is not in the piece has none, as
// after Relation.RemoveChild. Each handle.Handle in a component, or in the message of a timer, becomes
// the new handle of that entity, also within arrays, slices, maps, pointers and interfaces, and in a
// reference.Weak. A handle that is kept as another type, such as a uint64 or a string, stays as it is.
// A timer is due as many ticks from now as it was from Extract.
//
// The piece may come from another version of the program. Components, relations, names, timers and
// messages are found by their names, and values are read by the names of their fields, as Load does:
// nothing that the world lacks is left out unless InsertOptions.Changes say so. The world may lack what
// no entity of the piece has. Options of relations, names and timers are the world's; of
// hierarchy.Options.Places see there. The next refresh calls hooks for the entities, as for all that
// were created.
//
// A *world.World must be idle, as within Scheduler.Between, and no query loop may be open on it. An
// Insert is then a change of the idle world, which no log has; a durable.Store saves a snapshot
// after it. Given a *world.Tx the entities are created by the transaction, which counts them, their
// components and its time for its limits. Other actors cannot insert: it panics. One goroutine
// inserts: a single entity takes a few microseconds, each of many with three components about 0.2
// µs. The same inserts give the same world.
//
// After an error nothing has changed, and a transaction may go on, unless it has reached a limit,
// which is world.ErrTx. Errors are ErrOtherWorld for something that the world lacks or has in
// another form, ErrAltered, ErrTooLarge, names.ErrTaken and names.ErrLength, timer.ErrMax,
// hierarchy.ErrLimit, world.ErrIndexes, world.ErrChunks, world.ErrClosed, state.ErrNoCodec, and
// errors of codecs. Insert also refuses a value that contains itself or is nested more than 10,000
// deep, and a reference.Owner. It panics for a Shard that the world does not have, and if a
// function of a Migrated or a codec panics; nothing has changed then, too.
func Insert(by world.Actor, piece *Piece, o InsertOptions) (*Inserted, error) {
	x, err := newInsertion(by, "Insert", piece, &o)
	if err == nil {
		err = inOrder(x.plan, x.read, x.readParts, x.mayInsert, x.number, x.rewrite, x.planParts, x.insert) // no user's code runs after readParts
	}
	if err != nil {
		return nil, err
	}
	return x.made, nil
}

// PutBack gives the entities of a piece back what Extract has copied, or with ExtractOptions.Take
// has taken, in the same world: under the same handles, whatever shards they are in now. Components
// that the piece has are set, or added where they are missing; flags are added, and timers set
// again, due as many ticks from now as they were from Extract. What the entities have got since
// then stays, and places in relations and names are not touched. Handles in components stay as they
// are.
//
// Of the options only Codecs, Changes and BytesMax count. Errors are Insert's, and world.ErrStale
// if an entity is not alive, or is marked. After an error nothing has changed.
func PutBack(tx *world.Tx, piece *Piece, o InsertOptions) error {
	o.Shard = 0
	x, err := newInsertion(tx, "PutBack", piece, &o)
	if err == nil {
		x.back = true
		err = inOrder(x.plan, x.read, x.readParts, x.find, x.rewrite, x.planParts, x.insert)
	}
	return err
}

// insertion is an Insert or a PutBack that is under way.
//
// Ownership: the goroutine of Insert, while the world is idle or the transaction runs.
type insertion struct {
	call   string
	to     *engine.World
	tx     *engine.Tx // or nil
	back   bool       // it is a PutBack
	o      *InsertOptions
	types  *types
	has    *contents
	by     *known
	groups []*group
	held   []any // by part of the piece: what an extension with values has read
	made   *Inserted
	puts   []func() // insert the parts of extensions
}

// newInsertion checks the arguments of Insert, and that the world is idle, or the transaction runs, and
// has what the piece has. It changes nothing; nor does any other step before insert.
func newInsertion(by world.Actor, call string, piece *Piece, o *InsertOptions) (*insertion, error) {
	w, tx, err := actor(by, call)
	switch {
	case piece == nil:
		panic("snapshot: " + call + " with a nil Piece; pass one of Extract or ReadPiece")
	case o.Shard < 0 || o.Shard >= w.Shards():
		panic(fmt.Sprintf("snapshot: %s with InsertOptions.Shard = %d; want 0 to %d", call, o.Shard, w.Shards()-1))
	case o.BytesMax < 0:
		panic(fmt.Sprintf("snapshot: %s with InsertOptions.BytesMax = %d; want 0 or more", call, o.BytesMax))
	case err != nil:
		return nil, err
	}
	x := &insertion{call: call, to: w, tx: tx, o: o}
	if err := x.mayInsert(); err != nil {
		return nil, err
	}
	if tx != nil {
		if err := tx.WorkOf(0, len(piece.bytes)); err != nil {
			return nil, err
		}
	}
	if x.has, err = piece.contents(); err != nil {
		return nil, err
	}
	if n := len(x.has.entities.Handles); tx != nil {
		if err := tx.WorkOf(n, 0); err != nil {
			return nil, err
		}
		if n > engine.TxEntitiesMax {
			return nil, tx.TooMany()
		}
	}
	x.types = typesOf(w, o.Codecs)
	x.types.budget.Reset(x.most(), 0)
	x.by, err = x.types.match(x.has, o)
	return x, err
}

// mayInsert returns an error if the world is closed, as code of the user may have done meanwhile.
// It panics if the world is not idle and no transaction inserts.
func (i *insertion) mayInsert() error {
	if i.tx != nil {
		return nil
	}
	return i.to.MayInsert("snapshot." + i.call)
}

// group is the entities for one table.
//
// Ownership: the goroutine of Insert.
type group struct {
	shard  *store.Shard
	set    store.Set
	from   []*pieceGroup
	rows   int
	now    []handle.Handle
	values []mem.Cells // of the components, by column
}

const (
	bytesMost  = 1 << 30 // the default of InsertOptions.BytesMax
	entryLeast = 3       // bytes of what an extension has of an entity, besides the value
	entrySize  = 48      // bytes that it takes while it is read, besides the value
)

// plan finds the tables of the entities in the world. An error ends the Insert; nothing has changed.
func (i *insertion) plan() error {
	groups, shards := map[groupKey]*group{}, i.to.Shards()
	for k := range i.has.groups {
		from := &i.has.groups[k]
		key := groupKey{shard: (from.shard + i.o.Shard) % shards}
		if i.back {
			key.shard = 0
		}
		row := int64(0)
		for _, id := range from.components {
			if id >= len(i.by.components) || i.by.components[id].Type == "" {
				return format.Altered("the piece does not say what its component %d is", id)
			}
			if own := i.by.components[id].At; own >= 0 && !i.to.Husks().Has(own) {
				key.set.Add(own)
				row += int64(i.types.own.Components[own].Of.Size())
			}
		}
		if err := i.mayTake(row*int64(from.n), "the entities of the piece"); err != nil {
			return err
		}
		g := groups[key]
		if g == nil {
			g = &group{shard: i.to.Shard(key.shard), set: key.set}
			groups[key] = g
			i.groups = append(i.groups, g)
		}
		g.from = append(g.from, from)
		g.rows += from.n
	}
	return nil
}

// mayTake checks that so much more memory may be taken. An error ends the Insert; nothing has changed.
func (i *insertion) mayTake(bytes int64, what string) error {
	if i.types.budget.Take(bytes) != nil {
		return fmt.Errorf("%w: %s take more than InsertOptions.BytesMax = %d", ErrTooLarge, what, i.most())
	}
	return nil
}

// most returns InsertOptions.BytesMax, or the default.
func (i *insertion) most() int64 { return cmp.Or(i.o.BytesMax, bytesMost) }

// tooLarge makes an error ErrTooLarge, if it is about memory.
func (i *insertion) tooLarge(err error) error {
	if errors.Is(err, extend.ErrMemory) {
		return fmt.Errorf("%w: with InsertOptions.BytesMax = %d: %w", ErrTooLarge, i.most(), err)
	}
	return err
}

// number checks that there is room, and finds the handles that the entities will get. It takes
// none. An error ends the Insert; nothing has changed.
func (i *insertion) number() error {
	byShard, chunks := make([]int, i.to.Shards()), 0
	for _, g := range i.groups {
		byShard[g.shard.ID()] += g.rows
		if i.tx == nil {
			chunks += g.shard.ChunksFor(g.set, g.rows)
		}
	}
	if left := i.to.Space().ChunksLeft(); i.tx == nil && chunks > left {
		return fmt.Errorf("%w: the piece needs %d, and %d are left; with a higher ChunkRowsMax each holds more", world.ErrChunks, chunks, left)
	}
	next := make([][]handle.Handle, len(byShard))
	for k, n := range byShard {
		if n == 0 {
			continue
		}
		var err error
		if i.tx != nil {
			next[k], err = i.tx.AppendNext(nil, k, n)
		} else {
			next[k], err = i.to.Shard(k).AppendNext(nil, n)
		}
		if err != nil {
			return fmt.Errorf("%w; the piece needs %d there", err, n)
		}
	}
	i.made = &Inserted{old: &i.has.entities, now: make([]handle.Handle, len(i.has.entities.Handles))}
	for _, g := range i.groups {
		of := &next[g.shard.ID()]
		g.now, *of = (*of)[:g.rows], (*of)[g.rows:]
		at := 0
		for _, from := range g.from {
			at += copy(i.made.now[from.first:from.first+from.n], g.now[at:])
		}
	}
	return nil
}

// find is number for a PutBack: it finds the entities where they are.
func (i *insertion) find() error {
	for _, g := range i.groups {
		for _, from := range g.from {
			g.now = append(g.now, i.has.entities.Handles[from.first:from.first+from.n]...)
		}
	}
	i.made = &Inserted{old: &i.has.entities, now: i.has.entities.Handles}
	for _, h := range i.made.now {
		if !i.tx.Living(h) {
			return fmt.Errorf("%w: snapshot.PutBack of %v", world.ErrStale, h)
		}
	}
	return i.tx.CheckChunks(len(i.made.now))
}

// read reads the components into memory of the insertion's own. It runs codecs and Migrated functions
// of the user. An error ends the Insert; nothing has changed.
func (i *insertion) read() (err error) {
	name := ""
	defer func() {
		if e := format.CodecError(recover()); e != nil {
			err = e
		}
		if err != nil {
			err = fmt.Errorf("snapshot: %s: component %q: %w", i.call, name, err)
		}
	}()
	for _, g := range i.groups {
		for id := range g.set.All {
			name = i.types.own.Components[id].Name
			values, at := i.to.Space().Values(id, g.rows), 0
			for _, from := range g.from {
				if err := i.readColumn(from, id, values.Slice(at, from.n)); err != nil {
					return err
				}
				at += from.n
			}
			i.to.Space().TypeOf(id).ClearSingles(values.Part(0).Address, g.rows)
			g.values = append(g.values, values)
		}
	}
	return nil
}

// readColumn reads a component of a group of the piece. It returns a codec's error, or says that the
// bytes do not fit the values.
func (i *insertion) readColumn(from *pieceGroup, component int, to mem.Cells) error {
	for k, id := range from.components {
		n := &i.by.components[id]
		if n.At != component {
			continue
		}
		rest, err := n.Form.ReadAll(from.columns[k], to)
		switch {
		case errors.Is(err, extend.ErrMemory):
			return i.tooLarge(err)
		case err != nil:
			return format.Altered("%w", err)
		case len(rest) > 0:
			return format.Altered("the piece has %d bytes after its values", len(rest))
		}
	}
	return nil
}

// newMapper returns what replaces handles in values for the insertion that is under way.
func newMapper(w *engine.World, t *types) *remap.Mapper {
	return remap.New(w.Liveness(), ownerType, func(old handle.Handle) (handle.Handle, bool) {
		if t.into.back {
			return old, true
		}
		now := t.into.made.Handle(old)
		return now, now != handle.None
	})
}

// mapping calls f, which replaces handles in a value of a type. An error says that it cannot.
func (i *insertion) mapping(t reflect.Type, f func(m *remap.Mapper)) (err error) {
	m := i.types.mapper
	m.Cut, i.types.into = 0, i
	defer func() {
		i.made.Cut += m.Cut
		i.types.into = nil
	}()
	defer remap.Catch(func(e error) { err = fmt.Errorf("snapshot: %s: a value of type %v: %w", i.call, t, e) })
	f(m)
	return nil
}

// rewrite replaces the handles in the components. An error ends the Insert; nothing has changed.
func (i *insertion) rewrite() error {
	for _, g := range i.groups {
		for _, values := range g.values {
			err := i.mapping(values.Type, func(m *remap.Mapper) {
				f, size := m.Of(values.Type), values.Type.Size()
				for row := 0; f != nil && row < g.rows; row++ {
					f(values.Part(0).At(row, size).Address)
				}
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// about adds to an error the extension that it is about.
func (i *insertion) about(name string, err error) error {
	if err = i.tooLarge(err); errors.Is(err, extend.ErrImage) || errors.Is(err, extend.ErrBody) {
		err = format.Altered("%w", err)
	}
	return fmt.Errorf("snapshot: %s: %q: %w", i.call, name, err)
}

// readParts reads what extensions with values have of the entities. It runs codecs and Migrated
// functions of the user. An error ends the Insert; nothing has changed.
func (i *insertion) readParts() (err error) {
	name := ""
	defer func() {
		if e := format.CodecError(recover()); e != nil {
			err = i.about(name, e)
		}
	}()
	i.held = make([]any, len(i.has.parts))
	for k, x := range i.has.parts {
		if x.extension >= len(i.by.extensions) || i.by.extensions[x.extension] == nowhere {
			return format.Altered("the piece does not say what its extension %d is", x.extension)
		}
		at := i.by.extensions[x.extension]
		if at < 0 || i.types.parts[at].holder == nil {
			continue
		}
		name = i.types.parts[at].name
		entries := len(x.excerpt) / (entryLeast + i.by.payloads[x.extension].Least())
		if err := i.mayTake(int64(entries)*int64(entrySize+i.types.parts[at].holder.Held().Size()), fmt.Sprintf("the values of %q in the piece", name)); err != nil {
			return err
		}
		if i.held[k], err = i.types.parts[at].holder.ReadExcerpt(x.excerpt, len(i.has.entities.Handles), i.by.payloads[x.extension]); err != nil {
			return i.about(name, err)
		}
	}
	return nil
}

// planParts plans what extensions have of the entities, and changes nothing: puts has the functions
// that do. An error ends the Insert.
func (i *insertion) planParts() error {
	for k, x := range i.has.parts {
		at := i.by.extensions[x.extension]
		if at < 0 {
			continue
		}
		var put func()
		var err error
		p := &i.types.parts[at]
		switch {
		case p.insertable == nil:
			put, err = p.holder.PlanInsert(i.tx, i.held[k], i.made.now, i.back, i.rewriteOne)
		case i.back: // names and places have stayed
			continue
		default:
			put, err = p.insertable.PlanInsert(i.tx, x.excerpt, i.made.now)
		}
		if err != nil {
			return i.about(p.name, err)
		}
		i.puts = append(i.puts, put)
	}
	return nil
}

// rewriteOne replaces the handles in a value of an extension.
func (i *insertion) rewriteOne(value mem.Cells) error {
	return i.mapping(value.Type, func(m *remap.Mapper) {
		if f := m.Of(value.Type); f != nil {
			f(value.Part(0).Address)
		}
	})
}

// insert makes what was planned. On an idle world it cannot fail; a transaction fails if it reaches a
// limit.
func (i *insertion) insert() error {
	if i.tx == nil {
		i.to.Touched()
	}
	for _, g := range i.groups {
		if i.tx == nil {
			g.insert()
		} else if err := i.insertIn(g); err != nil {
			return err
		}
	}
	for _, f := range i.puts {
		f()
	}
	if i.tx != nil {
		return i.tx.Fault()
	}
	return nil
}

// insertIn makes the entities of a group, or changes them, by the transaction.
func (i *insertion) insertIn(g *group) error {
	at := 0
	for _, from := range g.from {
		for k := range from.n {
			flags := engine.Flags(0)
			if from.flags != nil {
				flags = engine.Flags(from.flags[k])
			}
			h, err := g.now[at], error(nil)
			if i.back {
				err = i.tx.PutOf(h, &g.set, g.values, at, flags)
			} else if h, err = i.tx.CreateOf(g.shard.ID(), &g.set, g.values, at, flags); err == nil && h != g.now[at] {
				panic(fmt.Sprintf("snapshot: Insert: the transaction has given %v, and was going to give %v", h, g.now[at]))
			}
			if err != nil {
				return err
			}
			at++
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
		if err != nil || !slices.Equal(rows.Handles(), g.now[at:at+rows.Len()]) {
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
	for _, from := range g.from {
		for k := range from.n {
			if at == made[0].Len() {
				made, at = made[1:], 0
			}
			if from.flags != nil && from.flags[k] != 0 {
				made[0].SetFlags(at, slots.Flags(from.flags[k]))
			}
			at++
		}
	}
}
