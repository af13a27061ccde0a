package world

import (
	"fmt"
	"iter"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
)

// Term is a condition of a query: a *Reader or *Writer (the entity has the
// component), With, Without, Optional or AnyOf.
type Term interface{ add(q *Query) }

func (r *Reader[T]) add(q *Query) {
	q.require(r.id)
	q.accessed.Add(r.id)
}

type filter struct {
	id      int
	without bool
	none    bool
}

func (f filter) add(q *Query) {
	switch {
	case f.none:
		q.name(f.id)
		q.accessed.Add(f.id)
	case f.without:
		q.name(f.id)
		q.without.Add(f.id)
	default:
		q.require(f.id)
	}
}

// With is the condition that the entity has the component, which is not
// accessed.
func With[T any](a Asker) Term {
	b := a.bind("With")
	return filter{id: b.w.componentOf(reflect.TypeFor[T](), b.user)}
}

// Without is the condition that the entity lacks the component.
func Without[T any](a Asker) Term {
	b := a.bind("Without")
	return filter{id: b.w.componentOf(reflect.TypeFor[T](), b.user), without: true}
}

// Optional takes the condition off an accessor: it may be used in the query,
// and its Slice is nil where a chunk lacks the component.
func Optional(accessor Term) Term {
	q := &Query{}
	accessor.add(q)
	for id := range q.with.All {
		return filter{id: id, none: true}
	}
	panic("world: Optional takes a Reader or a Writer")
}

// AnyOf is the condition that the entity has at least one of the components that
// the terms, each a *Reader, *Writer or With, name. Their Slice is nil where a
// chunk lacks them.
func AnyOf(terms ...Term) Term {
	q := &Query{}
	for _, t := range terms {
		t.add(q)
	}
	if q.with.Len() == 0 || q.with != q.named || len(q.any) > 0 {
		panic("world: AnyOf takes one or more of Reader, Writer and With")
	}
	return anyOf{q.with, q.accessed}
}

type anyOf struct{ of, accessed shard.Set }

func (a anyOf) add(q *Query) {
	for id := range a.of.All {
		q.name(id)
	}
	q.any = append(q.any, a.of)
	q.accessed = q.accessed.Union(a.accessed)
}

// Query selects atoms by their components. Asked of a Build it covers the shard
// the system runs on, asked of a World all shards.
//
// Ownership: as of the accessors.
type Query struct {
	with, without, named shard.Set
	any                  []shard.Set // each must be met
	accessed             shard.Set   // by readers and writers, optional ones among them
	user                 string
	parts                []queryPart
	w                    *World
	idle                 bool
}

type queryPart struct {
	shard  *shard.Shard
	tables []*shard.Table // that match, of the first seen ones
	seen   int
}

// Query selects all atoms that match the terms, for use between ticks.
func (w *World) Query(terms ...Term) *Query {
	w.mustIdle("Query")
	return newQuery(w, w.shards, true, "World.Query", terms)
}

func newQuery(w *World, shards []*shard.Shard, idle bool, user string, terms []Term) *Query {
	q := &Query{w: w, idle: idle, user: user, parts: make([]queryPart, len(shards))}
	for i, s := range shards {
		q.parts[i].shard = s
	}
	for _, t := range terms {
		t.add(q)
	}
	return q
}

func (q *Query) require(id int) {
	q.name(id)
	q.with.Add(id)
}

// name refuses a component that was named before.
func (q *Query) name(id int) {
	if q.named.Has(id) && q.w != nil {
		panic(fmt.Sprintf("world: %s: component %q is named twice", q.user, q.w.components[id].name))
	}
	q.named.Add(id)
}

func (q *Query) matches(set shard.Set) bool {
	for i := range q.any {
		if !set.Meets(&q.any[i]) {
			return false
		}
	}
	return set.Contains(&q.with) && !set.Meets(&q.without)
}

// update looks at the tables that were made since the last time.
func (p *queryPart) update(q *Query) {
	all := p.shard.Tables()
	for _, t := range all[p.seen:] {
		if q.matches(t.Set()) {
			p.tables = append(p.tables, t)
		}
	}
	p.seen = len(all)
}

// Chunks yields the rows that match, as they are when the loop begins: creating
// within the loop is allowed and not seen by it; destroying is allowed and takes
// effect at the refresh. On an idle world, what would move rows panics within.
//
// Rows are skipped in which the entity, or a component that the query requires,
// is disabled; a run of the others is yielded as a chunk.
func (q *Query) Chunks() iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		if q.idle {
			q.idleChunks(yield)
			return
		}
		p := &q.parts[0]
		p.shard.Loop++
		p.each(q, p.shard.Loop, yield)
	}
}

func (q *Query) idleChunks(yield func(Chunk) bool) {
	w := q.w
	w.mustIdle("Query.Chunks")
	w.open++
	defer w.closeLoop()
	w.loop++
	loop := w.loop
	for i := range q.parts {
		if !q.parts[i].each(q, loop, yield) {
			return
		}
	}
}

func (w *World) closeLoop() { w.open-- }

func (p *queryPart) each(q *Query, loop uint64, yield func(Chunk) bool) bool {
	if p.seen != len(p.shard.Tables()) {
		p.update(q)
	}
	for _, t := range p.tables {
		left := t.RowsAt(loop)
		for i := 0; left > 0; i++ {
			rows := t.Run(i, left)
			left -= rows.Len()
			if rows.AllEnabled() {
				if !yield(rows) {
					return false
				}
			} else if !rows.Enabled(&q.with, yield) {
				return false
			}
		}
	}
	return true
}

// Count returns the number of rows that match, marked ones included, without
// visiting them.
func (q *Query) Count() int {
	if q.idle {
		q.w.mustIdle("Query.Count")
	}
	n := 0
	for i := range q.parts {
		p := &q.parts[i]
		p.update(q)
		for _, t := range p.tables {
			n += t.EnabledRows(&q.with)
		}
	}
	return n
}

// First returns the first entity that matches, in the order of Chunks, and
// whether there is one.
func (q *Query) First() (handle.Handle, bool) {
	for ch := range q.Chunks() {
		return ch.Handle(0), true
	}
	return handle.None, false
}

// Single returns the one entity that matches. It returns ErrNone or ErrSeveral
// if there is not exactly one.
func (q *Query) Single() (handle.Handle, error) {
	switch h, ok := q.First(); {
	case !ok:
		return handle.None, ErrNone
	case q.Count() > 1:
		return handle.None, ErrSeveral
	default:
		return h, nil
	}
}

// Chunk is a view of a run of atoms with the same components, one row each: Len
// rows, with Handle(i) or Handles beside the accessors' Slice. It is good until
// the refresh; its length does not change.
type Chunk = shard.Rows
