package world

import (
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Term is a condition of a query: a *Reader or *Writer (the entity has the component), With,
// Without, Optional, AnyOf, WithFlags, WithoutFlags, Turns or TurnsFor. All terms of a query must
// be asked of the World or Build that the query is asked of.
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

func (t term) term() term { return t }

func (r *Reader[T]) term() term {
	if r == nil {
		return accessorTerm(0, nil, reflect.TypeFor[T]())
	}
	return accessorTerm(r.id, r.lookup, reflect.TypeFor[T]())
}

// accessorTerm is the term of an accessor; a nil accessor has no look-up.
func accessorTerm(component int, asked *slots.Lookup, typ reflect.Type) term {
	if asked == nil {
		panic(fmt.Sprintf("world: the accessor of %v in a query is nil; ask for it with world.Read or world.Write", typ))
	}
	t := newTerm(requires, component, asked, typ)
	t.accessed = t.of
	return t
}

func newTerm(kind termKind, component int, asked *slots.Lookup, typ reflect.Type) term {
	t := term{kind: kind, asked: asked, names: typ.String()}
	t.of.Add(component)
	return t
}

// With is the condition that the entity has the component. The component is not accessed. It
// panics if T is not registered.
func With[T any](a Binder) Term { return ofType[T](a, "world.With", requires) }

// Without is the condition that the entity lacks the component. It panics if T is
// not registered.
func Without[T any](a Binder) Term { return ofType[T](a, "world.Without", excludes) }

func ofType[T any](a Binder, call string, kind termKind) term {
	b := bind(a, call)
	t := reflect.TypeFor[T]()
	return newTerm(kind, b.w.componentOf(t, b.call), b.lookup, t)
}

// Optional makes an accessor usable in the query without a condition: its Slice is nil where a
// chunk lacks the component.
func Optional(accessor Term) Term {
	if accessor != nil {
		if t := accessor.term(); t.kind == requires && t.accessed == t.of {
			t.kind = allows
			return t
		}
	}
	panic("world: Optional takes a Reader or a Writer")
}

// AnyOf is the condition that the entity has at least one of the components that
// the terms, each a *Reader, *Writer or With, name. Their Slice is nil where a
// chunk lacks them.
func AnyOf(terms ...Term) Term {
	var any term
	for i, x := range terms {
		if x == nil || x.term().kind != requires {
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

// add makes the term a condition of the query.
func (q *Query) add(b *binding, i int, x Term) {
	if x == nil {
		panic(fmt.Sprintf("world: %s: term %d is nil; pass accessors, With, Without, Optional or AnyOf", b.call, i))
	}
	t := x.term()
	if t.asked != b.lookup {
		panic(fmt.Sprintf("world: %s: the term of %s was asked of %s; ask for all terms where the query is asked for", b.call, t.names, b.w.nameOf(t.asked)))
	}
	if twice := q.named.Common(t.of); twice.Len() > 0 {
		panic(fmt.Sprintf("world: %s: component %s is named twice; name it once", b.call, b.w.componentNames(twice)))
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

// nameOf names the owner of a look-up.
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
