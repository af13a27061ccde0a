package snapshot

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// ExtractOptions shape an Extract. The zero value follows all relations of a world without codecs.
type ExtractOptions struct {
	// Codecs are those of the types that have one.
	Codecs *state.Codecs
	// Relations are the names of those whose children go along with their parents. Nil means all. In
	// the others the children that go along for another reason keep their places.
	Relations []string
	// Take also takes from the entities what PutBack puts back: components, flags and timers. They stay
	// alive, with their names and their places in relations. For a *world.Tx.
	Take bool
}

// Extract copies entities, with all entities below them in any relation, out of a world into a Piece:
// their components and flags, places in relations, names, and timers with the ticks that are left.
// Insert puts the piece into a world. The world of Extract is not changed. Without roots the piece is
// empty; ExtractAll takes all entities. It costs a few microseconds for one entity, and 0.4 µs for each
// of many, and it looks at all timers that are set.
//
// Components and messages of timers are written by their codecs, as in a snapshot. A timer.ID or
// async.ID in a component, and an ask under way, do not go along: the ID becomes None. Neither do
// resources, messages, requests, hooks and systems.
//
// The world must be idle. Errors are world.ErrStale for a root that is not alive, state.ErrNoCodec,
// world.ErrClosed, ErrTooLarge for a component with more than a gigabyte, and those of codecs. Extract
// also refuses entities that are marked to be destroyed, and a type with a reference.Owner. It panics
// for Relations that the world does not have.
func Extract(by world.Actor, o ExtractOptions, roots ...handle.Handle) (*Piece, error) {
	x, err := newExtraction(by, "Extract", &o)
	if err != nil {
		return nil, err
	}
	if err := x.follow(roots); err != nil {
		return nil, err
	}
	return x.piece()
}

// ExtractAll is Extract with all entities of the world: so the world of a zone becomes a piece.
func ExtractAll(w *world.World, o ExtractOptions) (*Piece, error) {
	x, err := newExtraction(w, "ExtractAll", &o)
	if err != nil {
		return nil, err
	}
	for _, s := range engine.Of(w).Survey().Shards() {
		for _, t := range s.Tables() {
			for _, c := range t.Chunks() {
				for _, h := range c.Handles() {
					if err := x.add(h); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	return x.piece()
}

// source is where an extraction finds entities: an idle world, or what a transaction sees.
type source interface {
	// Row returns an entity, and whether it is alive.
	Row(h handle.Handle) (engine.Row, bool)
	// Value returns a component of it, in place.
	Value(r *engine.Row, component int) mem.Cells
}

// extraction is an Extract that is under way.
//
// Ownership: the goroutine of Extract, while the world is idle.
type extraction struct {
	call   string
	from   source
	types  *types
	along  []extend.Insertable // the relations that it follows
	byKey  map[groupKey]*extracted
	groups []*extracted
	last   *extracted // the group of the last entity
	used   store.Set
}

// groupKey tells groups apart.
type groupKey struct {
	shard int
	set   store.Set
}

// extracted is a group of the piece.
type extracted struct {
	groupKey
	handles []handle.Handle
	rows    []engine.Row
	flags   slots.Flags // those of all
}

// newExtraction checks the arguments of Extract and that the world is idle.
func newExtraction(by world.Actor, call string, o *ExtractOptions) (*extraction, error) {
	w, ok := by.(*world.World)
	if !ok {
		panic("snapshot: " + call + " by a *world.Tx: not yet")
	}
	if w == nil {
		panic("snapshot: " + call + " with a nil World; pass one of world.New")
	}
	if err := w.Err(); err != nil {
		return nil, err
	}
	d := engine.Of(w)
	d.MustIdle("snapshot." + call)
	d.MustBeWhole("snapshot." + call)
	x := &extraction{call: call, from: d, types: typesOf(d, o.Codecs), byKey: map[groupKey]*extracted{}}
	for _, name := range o.Relations {
		if !slices.ContainsFunc(x.types.parts, func(p part) bool { return p.name == name && p.insertable != nil && !p.insertable.Unique() }) {
			panic(fmt.Sprintf("snapshot: %s with ExtractOptions.Relations that have %q; the world has no relation of that name", call, name))
		}
	}
	for i := range x.types.parts {
		p := &x.types.parts[i]
		if p.insertable != nil && (o.Relations == nil || slices.Contains(o.Relations, p.name)) {
			x.along = append(x.along, p.insertable)
		}
	}
	return x, nil
}

// follow adds entities with all that go along. An error ends the Extract.
func (x *extraction) follow(roots []handle.Handle) error {
	all, seen := slices.Clone(roots), map[handle.Handle]bool{}
	for k := 0; k < len(all); k++ {
		h := all[k]
		if seen[h] {
			continue
		}
		if seen[h] = true; k < len(roots) {
			if _, ok := x.from.Row(h); !ok {
				return fmt.Errorf("%w: snapshot.%s of the root %v", world.ErrStale, x.call, h)
			}
		}
		if err := x.add(h); err != nil {
			return err
		}
		for _, relation := range x.along {
			all = relation.AppendFollowers(all, h)
		}
	}
	return nil
}

// add adds an entity. The error says that it is marked.
func (x *extraction) add(h handle.Handle) error {
	r, ok := x.from.Row(h)
	if !ok || r.Marked {
		return fmt.Errorf("snapshot: %s of %v, which is marked to be destroyed; call Refresh first", x.call, h)
	}
	g := x.last
	if g == nil || g.shard != r.Shard || g.set != *r.Set {
		k := groupKey{r.Shard, *r.Set}
		if g = x.byKey[k]; g == nil {
			g = &extracted{groupKey: k}
			x.byKey[k] = g
			x.groups = append(x.groups, g)
			x.used = x.used.Union(k.set)
		}
		x.last = g
	}
	g.handles, g.rows, g.flags = append(g.handles, h), append(g.rows, r), g.flags|r.Flags
	return nil
}

// piece writes what was added. It runs codecs of the user. An error ends the Extract.
func (x *extraction) piece() (*Piece, error) {
	forms, err := x.types.formsOf(x.used, x.call)
	if err != nil {
		return nil, err
	}
	var entities extend.Excerpt
	for _, g := range x.groups {
		entities.Handles = append(entities.Handles, g.handles...)
	}
	parts, excerpts, err := x.excerpts(&entities)
	if err != nil {
		return nil, err
	}
	names, err := x.types.catalogue(x.used, parts)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, pieceHead+len(names)+len(excerpts)+64+x.size())
	b = extend.AppendNumber(extend.AppendText(appendPieceHead(b), names), len(x.groups))
	for _, g := range x.groups {
		if b, err = x.appendGroup(b, g, forms); err != nil {
			return nil, err
		}
	}
	b = append(extend.AppendNumber(b, len(parts)), excerpts...)
	b = binary.LittleEndian.AppendUint64(b, xxh3.Hash(b))
	return &Piece{bytes: b}, nil
}

// size returns about how many bytes the entities take.
func (x *extraction) size() (n int) {
	for _, g := range x.groups {
		row := 9
		for id := range g.set.All {
			row += int(x.types.own.Components[id].Of.Size())
		}
		n += row*len(g.rows) + 64
	}
	return n
}

// appendGroup appends a group, as readGroup reads it. The error is that of a codec.
func (x *extraction) appendGroup(b []byte, g *extracted, forms *forms) (_ []byte, err error) {
	b = extend.AppendNumber(extend.AppendNumber(b, g.shard), g.set.Len())
	for id := range g.set.All {
		b = extend.AppendNumber(b, id)
	}
	b = extend.AppendNumber(extend.AppendWords(b, g.handles), extend.FlagsOf(g.flags != 0))
	if g.flags != 0 {
		for i := range g.rows {
			b = append(b, byte(g.rows[i].Flags))
		}
	}
	name := ""
	defer func() {
		if e := format.CodecError(recover()); e != nil {
			err = fmt.Errorf("snapshot: %s: component %q: %w", x.call, name, e)
		}
	}()
	for id := range g.set.All {
		name = x.types.own.Components[id].Name
		codec, long := forms.of[id], false
		b, long = appendSized(b, func(b []byte) []byte {
			for i := range g.rows {
				b = codec.Append(b, x.from.Value(&g.rows[i], id))
			}
			return b
		})
		if long {
			return nil, fmt.Errorf("%w: component %q takes more than a gigabyte in the piece", ErrTooLarge, name)
		}
	}
	return b, nil
}

// excerpts returns the numbers of the extensions that have something of the entities, and what each
// has. It runs codecs of the user. The error is that of a codec, or of a type without one.
func (x *extraction) excerpts(of *extend.Excerpt) (parts []int, all []byte, err error) {
	name := ""
	defer func() {
		if e := format.CodecError(recover()); e != nil {
			err = fmt.Errorf("snapshot: %s: extension %q: %w", x.call, name, e)
		}
	}()
	var excerpt []byte
	for i := range x.types.parts {
		p := &x.types.parts[i]
		name = p.name
		n := 0
		if p.insertable != nil {
			excerpt, n = p.insertable.AppendExcerpt(excerpt[:0], of)
		} else if p.holder != nil {
			excerpt, n = p.holder.AppendExcerpt(excerpt[:0], of)
		}
		switch {
		case len(excerpt) == 0:
			continue
		case p.err != nil:
			return nil, nil, fmt.Errorf("snapshot: %s: extension %q: %w", x.call, name, p.err)
		}
		parts, all = append(parts, i), extend.AppendNumber(extend.AppendNumber(all, i), n)
		var long bool
		if all, long = appendSized(all, func(b []byte) []byte { return append(b, excerpt...) }); long {
			return nil, nil, fmt.Errorf("%w: extension %q has more than a gigabyte for the piece", ErrTooLarge, name)
		}
		excerpt = excerpt[:0]
	}
	return parts, all, nil
}
