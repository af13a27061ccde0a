package engine

import (
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Term is a condition of a query: an Accessor, or what a function below returns.
type Term interface{ term() term }

// term is the contents of a Term.
type term struct {
	kind     termKind
	of       store.Set
	accessed store.Set
	asked    *slots.Lookup // the look-up of the World or Build that made it: it identifies world and shard
	flags    Flags
	turns    turns
	names    string // of the component types, for messages
}

// termKind says what a term makes of its components or flags.
type termKind uint8

const (
	requires termKind = iota
	excludes
	allows
	requiresAny
	requiresFlags
	excludesFlags
	takesTurns
)

// term implements Term.
func (t term) term() term { return t }

// Accessor makes what it is embedded in a Term: a *world.Reader or *world.Writer.
type Accessor struct {
	id    int
	asked *slots.Lookup
	typ   reflect.Type
}

// term implements Term: an accessor requires its component.
func (a *Accessor) term() term {
	t := newTerm(requires, a.id, a.asked, a.typ)
	t.accessed = t.of
	return t
}

// newTerm makes a term about one component, asked of the Binder that has the look-up.
func newTerm(kind termKind, component int, asked *slots.Lookup, typ reflect.Type) term {
	t := term{kind: kind, asked: asked, names: typ.String()}
	t.of.Add(component)
	return t
}

// With is the condition that the entity has the component. It panics if the world has no such
// component.
func With(a Binder, t reflect.Type) Term { return ofType(a, "world.With", requires, t) }

// Without is the condition that the entity lacks the component. It panics if the world has no such
// component.
func Without(a Binder, t reflect.Type) Term { return ofType(a, "world.Without", excludes, t) }

// ofType makes the term of With or Without. It panics if the world has no such component.
func ofType(a Binder, call string, kind termKind, t reflect.Type) term {
	b := bind(a, call)
	return newTerm(kind, b.w.componentOf(t, b.call), b.lookup, t)
}

// Optional makes an accessor usable in the query without a condition: its Slice is nil where a
// chunk lacks the component. It panics about another term.
func Optional(accessor Term) Term {
	if !isNil(accessor) {
		if t := accessor.term(); t.kind == requires && t.accessed == t.of {
			t.kind = allows
			return t
		}
	}
	panic("world: Optional takes a Reader or a Writer")
}

// AnyOf is the condition that the entity has at least one of the components that the terms, each a
// *Reader, *Writer or With, name. It panics about others.
func AnyOf(terms ...Term) Term {
	var any term
	for i, x := range terms {
		if isNil(x) || x.term().kind != requires {
			any.of = store.Set{}
			break
		}
		switch t := x.term(); {
		case i == 0:
			any = t
		case t.asked != any.asked:
			panic(fmt.Sprintf("world: AnyOf: the terms of %s and %s were asked of different worlds or Builds; ask all of the same", any.names, t.names))
		case any.of.Meets(&t.of):
			panic(fmt.Sprintf("world: AnyOf: component %s is named twice; name it once", t.names))
		default:
			any.of, any.accessed = any.of.Union(t.of), any.accessed.Union(t.accessed)
			any.names += " or " + t.names
		}
	}
	if any.of.Len() == 0 {
		panic("world: AnyOf takes one or more of Reader, Writer and With")
	}
	any.kind = requiresAny
	return any
}

// add makes the term a condition of a new query. It panics about a term that is nil, names a
// component twice, or was asked of another Binder.
func (q *Query) add(b *binding, i int, x Term) {
	if x == nil {
		panic(fmt.Sprintf("world: %s: term %d is nil; pass accessors, With, Without, Optional or AnyOf", b.call, i))
	}
	if isNil(x) {
		panic(fmt.Sprintf("world: %s: term %d is a nil %T; ask for it with world.Read or world.Write", b.call, i, x))
	}
	t := x.term()
	if t.asked != b.lookup {
		panic(fmt.Sprintf("world: %s: the term of %s was asked of %s; ask for all terms where the query is asked for", b.call, t.names, b.w.nameOf(t.asked)))
	}
	if twice := q.named.Common(t.of); twice.Len() > 0 {
		panic(fmt.Sprintf("world: %s: component %s is named twice; name it once", b.call, b.w.ComponentNames(twice)))
	}
	q.named = q.named.Union(t.of)
	q.accessed = q.accessed.Union(t.accessed)
	switch t.kind {
	case requires:
		q.with = q.with.Union(t.of)
	case excludes:
		q.without = q.without.Union(t.of)
	case requiresAny:
		q.any = append(q.any, t.of)
	case requiresFlags, excludesFlags:
		q.addFlags(b, t)
	case takesTurns:
		q.addTurns(b, t)
	}
}

// nameOf names the owner of a look-up, for messages.
func (w *World) nameOf(l *slots.Lookup) string {
	if l == &w.lookup {
		return "the World"
	}
	for i, c := range w.contexts {
		if l == &c.lookup {
			if i == len(w.shards) {
				return "the Build of a global system"
			}
			return fmt.Sprintf("a Build of shard %d", i)
		}
	}
	return "another world"
}

// TurnsMax is the highest number of runs among which Turns and TurnsFor divide entities.
const TurnsMax = 1 << 16

// turns says how a query divides its entities among the runs of a system.
type turns struct {
	n    uint32 // the number of runs; 0: it does not divide them
	rows int    // the largest number of rows in a run, which determines the number of runs; 0: n does
	tick uint64 // the filter is that of this tick; the first has 1
}

// Turns is the condition that it is the entity's turn, one in n. It panics unless n is a power of
// two.
func Turns(a Binder, n int) Term {
	b := bind(a, "world.Turns")
	if n < 1 || n > TurnsMax || n&(n-1) != 0 {
		panic(fmt.Sprintf("world: %s of %d; want a power of two, from 1 to %d", b.call, n, TurnsMax))
	}
	return term{kind: takesTurns, asked: b.lookup, turns: turns{n: uint32(n)}, names: "Turns"}
}

// TurnsFor is Turns with the least n for which a run has about rows entities or fewer. It panics if
// rows is less than 1.
func TurnsFor(a Binder, rows int) Term {
	b := bind(a, "world.TurnsFor")
	if rows < 1 {
		panic(fmt.Sprintf("world: %s of %d rows; want 1 or more", b.call, rows))
	}
	return term{kind: takesTurns, asked: b.lookup, turns: turns{n: 1, rows: rows}, names: "TurnsFor"}
}

// addTurns makes the turns of a term a condition of a new query, which may have one of them.
func (q *Query) addTurns(b *binding, t term) {
	if q.turns.n != 0 {
		panic(fmt.Sprintf("world: %s: there are two of Turns and TurnsFor; pass one", b.call))
	}
	q.turns = t.turns
}

// matching returns the filter for a loop that begins now, on the goroutine that has the shards of
// the query.
func (q *Query) matching() *store.Filter {
	if q.turns.n != 0 && !q.frame { // a frame's query is used by several goroutines, and got its filter when it was made
		q.findTurn()
	}
	return &q.filter
}

// findTurn sets the filter to the entities whose turn it is, on the goroutine that has the shards.
// For a system's query it stays the same within a tick.
func (q *Query) findTurn() {
	tick := q.w.engine.Tick.Load()
	if q.turns.tick == tick+1 && !q.idle {
		return
	}
	q.turns.tick = tick + 1
	n := q.turns.n
	if q.turns.rows > 0 {
		n = q.turnsFor(q.turns.rows)
	}
	if !q.idle && !q.frame {
		n = uint32(min(uint64(n)*uint64(max(1, q.w.stretch)), TurnsMax))
	}
	q.filter.Turn, q.filter.Mask = uint32(tick/max(1, q.access.Every)), n-1
}

// turnsFor returns the least number of turns, a power of two, with at most so many rows each.
func (q *Query) turnsFor(rows int) (n uint32) {
	all := 0
	f := store.Filter{With: q.filter.With, Without: q.filter.Without}
	for i := range q.parts {
		p := &q.parts[i]
		p.look(q)
		for _, t := range p.tables {
			all += t.MatchingRows(&f)
		}
	}
	for n = 1; n < TurnsMax && (all-1)/int(n) >= rows; n *= 2 {
	}
	return n
}

// Delta returns the simulated time from one turn of an entity to the next, in seconds, for who may
// loop over the query.
func (q *Query) Delta() float64 {
	q.mustBeOf("Query.Delta")
	if check.Enabled {
		q.guard.Must()
	}
	once := q.w.options.TickInterval.Seconds()
	if !q.idle && !q.frame {
		once = q.access.Delta
	}
	return once * float64(q.matching().Mask+1)
}

// WithFlags is the condition that the entity has all of the flags. It panics if there are none.
func WithFlags(a Binder, f Flags) Term { return ofFlags(a, "world.WithFlags", requiresFlags, f) }

// WithoutFlags is the condition that the entity has none of the flags. It panics if there are none.
func WithoutFlags(a Binder, f Flags) Term { return ofFlags(a, "world.WithoutFlags", excludesFlags, f) }

// ofFlags makes the term of WithFlags or WithoutFlags. It panics if f has none.
func ofFlags(a Binder, call string, kind termKind, f Flags) term {
	b := bind(a, call)
	if f == 0 {
		panic(fmt.Sprintf("world: %s of no flags; name one or more", b.call))
	}
	return term{kind: kind, asked: b.lookup, flags: f, names: fmt.Sprintf("flags %#b", f)}
}

// addFlags makes the flags of a term a condition of a new query. It panics if one is named twice.
func (q *Query) addFlags(b *binding, t term) {
	if twice := t.flags & (q.filter.With | q.filter.Without); twice != 0 {
		panic(fmt.Sprintf("world: %s: flags %#b are named twice; name each once", b.call, twice))
	}
	if t.kind == requiresFlags {
		q.filter.With |= t.flags
	} else {
		q.filter.Without |= t.flags
	}
}
