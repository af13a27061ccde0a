package snapshot

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/form"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// ExtractOptions shape an Extract. The zero value follows all relations of a world without codecs.
type ExtractOptions struct {
	// Codecs are for types that have one.
	Codecs *state.Codecs
	// Relations are the names of those whose children go along with their parents. Nil means all. In
	// the others the children that go along for another reason keep their places.
	Relations []string
	// Take also takes from the entities what PutBack puts back: components, flags and timers. They
	// stay alive, with their names and their places in relations. For a *world.Tx. What codecs have
	// written is read again at once, so that PutBack can read it.
	Take bool
	// BytesMax is the most bytes that the piece may have: Extract returns ErrTooLarge for more. 0
	// means any number.
	BytesMax int
}

// Extract copies entities, with all entities below them in any relation, into a Piece: their components
// and flags, places in relations, names, and timers with the ticks that are left. Insert puts the piece
// into a world. Without roots the piece is empty; ExtractAll takes all entities. It costs a few
// microseconds for one entity, and 0.4 µs for each of many.
//
// Given a *world.World, which must be idle, the world is not changed. Given a *world.Tx the piece
// has what the transaction sees: what it has created and changed until then, without timers that
// systems have cancelled in this tick. Then it counts for the limits of the transaction: for each
// entity a call and its components, and more calls by bytes and time, so that PutBack of the piece
// is within the limits of a transaction of its own. Other actors cannot extract: it panics.
//
// Components and messages of timers are written by their codecs, as in a snapshot; in these, calls that
// would move rows of the world panic. A timer.ID or async.ID in a component, and an ask under way, do
// not go along: the ID becomes None. Neither do resources, messages, requests, hooks and systems.
//
// Errors are world.ErrStale for a root that is not alive, and for any entity that is marked to be
// destroyed; state.ErrNoCodec, world.ErrClosed, ErrTooLarge for a component with more than a
// gigabyte, errors of codecs, world.ErrTx, and with Take world.ErrChunks, and transit.ErrAway for
// what is away. Extract also refuses a type with a reference.Owner. After an error nothing has
// changed; world.ErrTx fails the transaction, the others do not. It panics for Relations that the
// world does not have.
func Extract(by world.Actor, o ExtractOptions, roots ...handle.Handle) (*Piece, error) {
	x, err := newExtraction(by, "Extract", &o)
	if err != nil {
		return nil, err
	}
	defer x.hold()()
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
	defer x.hold()()
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
// Ownership: the goroutine of Extract, while the world is idle or the transaction runs.
type extraction struct {
	call     string
	from     source
	tx       *engine.Tx // or nil
	take     bool
	n        int // entities
	bytesMax int // of the piece; 0: any number
	types    *types
	along    []engine.Insertable // the relations that it follows
	byKey    map[groupKey]*extracted
	groups   []*extracted
	last     *extracted // the group of the last entity
	used     store.Set
	husks    *store.Set // components that stay
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
	flags   slots.Flags // of all entities
}

// actor returns the world of an actor and, if it is one, the transaction. It panics for what is
// neither. The error is about a world that is closed, or a transaction that has failed.
func actor(by world.Actor, call string) (w *engine.World, tx *engine.Tx, err error) {
	switch self := engine.Is(by).(type) {
	case nil:
		panic("snapshot: " + call + " by a nil Actor; pass an idle *world.World, or a *world.Tx")
	case *engine.World:
		return self, nil, self.Err()
	case *engine.Tx:
		err := self.Begin("snapshot." + call)
		return self.World(), self, err
	}
	panic(fmt.Sprintf("snapshot: %s by a %s; pass an idle *world.World, or a *world.Tx", call, strings.TrimPrefix(fmt.Sprintf("%T", by), "*")))
}

// newExtraction checks the arguments of Extract, and that the world is idle or the transaction runs.
func newExtraction(by world.Actor, call string, o *ExtractOptions) (*extraction, error) {
	x := &extraction{call: call, take: o.Take, bytesMax: o.BytesMax, byKey: map[groupKey]*extracted{}}
	w, tx, err := actor(by, call)
	switch {
	case err != nil:
		return nil, err
	case tx != nil:
		x.from, x.tx = tx, tx
	case o.Take:
		panic("snapshot: " + call + " with ExtractOptions.Take by a *world.World; a *world.Tx can take")
	default:
		w.MustIdle("snapshot." + call)
		w.MustBeWhole("snapshot." + call)
		x.from = w
	}
	x.types, x.husks = typesOf(w, o.Codecs), w.Husks()
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

// hold keeps codecs from moving rows of an idle world, until the result is called. While a transaction
// runs nobody can.
func (x *extraction) hold() (release func()) {
	if w, idle := x.from.(*engine.World); idle {
		return w.Hold("a codec of snapshot." + x.call)
	}
	return func() {}
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
			all = relation.AppendFollowers(x.tx, all, h)
		}
		if err := x.fault(); err != nil {
			return err
		}
	}
	return nil
}

// fault returns the error of a transaction that has reached a limit.
func (x *extraction) fault() error {
	if x.tx == nil {
		return nil
	}
	return x.tx.Fault()
}

// add adds an entity. The error says that it is marked, or that there are too many for the transaction.
func (x *extraction) add(h handle.Handle) error {
	r, ok := x.from.Row(h)
	if !ok || r.Marked {
		hint := "call Refresh first"
		if x.tx != nil {
			hint = "it dies in this refresh"
		}
		return fmt.Errorf("%w: snapshot.%s of %v, which is marked to be destroyed; %s", world.ErrStale, x.call, h, hint)
	}
	if x.take && x.tx.Away(h, &r) {
		return fmt.Errorf("snapshot.%s of %v: %w", x.call, h, engine.ErrAway)
	}
	r.Set = r.Set.Minus(*x.husks)
	if x.n++; x.tx != nil && x.n > engine.TxEntitiesMax {
		return x.tx.TooMany()
	}
	g := x.last
	if g == nil || g.shard != r.Shard || g.set != r.Set {
		k := groupKey{r.Shard, r.Set}
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
		if x.tx != nil && x.tx.Weigh(&g.set, len(g.rows)) != nil {
			return nil, x.fault()
		}
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
		if x.tx != nil && x.tx.WorkOf(len(g.rows), 0) != nil {
			return nil, x.fault()
		}
	}
	b = append(extend.AppendNumber(b, len(parts)), excerpts...)
	b = binary.LittleEndian.AppendUint64(b, xxh3.Hash(b))
	if x.tx != nil && x.tx.WorkOf(0, len(b)) != nil {
		return nil, x.fault()
	}
	if most := x.bytesMax; most > 0 && len(b) > most {
		return nil, fmt.Errorf("%w: the piece has %d bytes, more than ExtractOptions.BytesMax = %d", ErrTooLarge, len(b), most)
	}
	if x.take {
		if err := x.takeOut(&entities); err != nil {
			return nil, err
		}
	}
	return &Piece{bytes: b}, nil
}

// takeOut takes from the entities what the piece has of them. The error is ErrChunks, with nothing
// taken, or the error of a limit, with which the transaction fails.
func (x *extraction) takeOut(all *extend.Excerpt) error {
	if err := x.tx.CheckChunks(len(all.Handles)); err != nil {
		return err
	}
	for _, h := range all.Handles {
		if err := x.tx.Strip(h); err != nil {
			x.tx.Fail(err) // some have lost something
			return err
		}
	}
	for i := range x.types.parts {
		if p := &x.types.parts[i]; p.holder != nil {
			p.holder.Take(x.tx, all)
		}
	}
	return x.fault()
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

// appendGroup appends a group, as readGroup reads it. The error is a codec's.
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
		codec, long, wrong := forms.of[id], false, error(nil)
		b, long = appendSized(b, func(b []byte) []byte {
			from := len(b)
			for i := range g.rows {
				b = codec.Append(b, x.from.Value(&g.rows[i], id))
			}
			wrong = x.readAgain(codec, b[from:], id, len(g.rows))
			return b
		})
		switch {
		case wrong != nil:
			return nil, fmt.Errorf("snapshot: %s: component %q cannot be read again: %w", x.call, name, wrong)
		case long:
			return nil, fmt.Errorf("%w: component %q takes more than a gigabyte in the piece", ErrTooLarge, name)
		}
	}
	return b, nil
}

// readAgain reads what a codec of the user's has written of a component, if it is to be taken.
func (x *extraction) readAgain(codec form.Form, src []byte, component, rows int) error {
	if !x.take || !x.types.mayFail(codec) {
		return nil
	}
	rest, err := codec.ReadAll(src, x.tx.World().Space().Values(component, rows))
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes are left", len(rest))
	}
	return err
}

// readPartAgain is readAgain for the values of an extension.
func (x *extraction) readPartAgain(part int, src []byte, entities int) error {
	for k := range x.types.own.Payloads {
		n := &x.types.own.Payloads[k]
		if !x.take || n.At != part || len(src) == 0 {
			continue
		}
		if err := x.types.find(n); err != nil {
			return err
		}
		if x.types.mayFail(n.Form) {
			_, err := x.types.parts[part].holder.ReadExcerpt(src, entities, n.Form)
			return err
		}
	}
	return nil
}

// excerpts returns the numbers of the extensions that have something of the entities, and what each
// has. It runs codecs of the user. The error is a codec's, or about a type without one.
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
			excerpt, n = p.insertable.AppendExcerpt(x.tx, excerpt[:0], of)
		} else if p.holder != nil {
			excerpt, n = p.holder.AppendExcerpt(x.tx, excerpt[:0], of)
			if err := x.readPartAgain(i, excerpt, len(of.Handles)); err != nil {
				return nil, nil, fmt.Errorf("snapshot: %s: extension %q: the values cannot be read again: %w", x.call, name, err)
			}
		}
		switch {
		case x.fault() != nil:
			return nil, nil, x.fault()
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
