package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// This file changes or destroys all that a query matches.

// Destroy marks all entities that match and returns how many were not marked before. The
// refresh removes them. With Limit it marks the first n. For an idle world; within a system use
// Context.Destroy.
func (q *Query) Destroy() int {
	q.ofWorld("Query.Destroy").mustIdle("Query.Destroy")
	n, left, f := 0, q.limit, q.matching()
	for i := range q.parts {
		p := &q.parts[i]
		p.look(q)
		for _, t := range p.tables {
			if t.Rows() == 0 {
				continue
			}
			met, marked := t.MarkMatching(f, left)
			left, n = left-met, n+marked
		}
	}
	q.w.touched = q.w.touched || n > 0
	return n
}

// AddTo gives the component to all entities that match and lack it. It calls init, if not nil, with
// their rows, to be filled in with an accessor's Slice; the new component is zero before. Calls
// that would move rows panic within init. Whole chunks change tables without being copied. If only
// some entities of a table change, because of their flags or a Limit, they are moved one by one.
// For an idle world; within a system use Add.
//
// It returns ErrChunks, and changes nothing, if the world may have too few chunks left. If init
// creates entities, it may use them up: then some entities have not changed.
func (c *Component[T]) AddTo(q *Query, init func(rows Chunk)) error {
	return q.addTo("Component.AddTo", init, c, nil)
}

// AddTo gives the bundle's components to all entities that match, and takes away what remove
// names, in one move. Components that an entity has keep their values; the new ones are zero before
// init, which is called with all rows that changed. The removed components are gone by then: to
// read them, leave remove out and call Query.Remove afterwards. A component that is both in the
// bundle and in remove is kept. Everything else is as for Component.AddTo: it is for an idle world,
// too.
func (b *Bundle[T]) AddTo(q *Query, init func(rows Chunk), remove ...ComponentSet) error {
	return q.addTo("Bundle.AddTo", init, b, remove)
}

// Remove takes the components of the parts from all entities that match, as far as they have them,
// in one move. Errors and cost are as for Component.AddTo. For an idle world; within a system use
// Component.Remove.
func (q *Query) Remove(parts ...ComponentSet) error {
	w := q.ofWorld("Query.Remove")
	return q.exchange("Query.Remove", nil, store.Set{}, w.setOf("Query.Remove", parts))
}

func (q *Query) addTo(call string, init func(rows Chunk), of ComponentSet, remove []ComponentSet) error {
	w := q.ofWorld(call)
	return q.exchange(call, init, of.components(w), w.setOf(call, remove))
}

// exchange adds the components of plus to all entities that match, and removes the components of
// minus. A component that is in both stays. ofWorld has accepted the query.
func (q *Query) exchange(call string, init func(rows Chunk), plus, minus store.Set) error {
	w := q.w
	if err := w.idle(call); err != nil {
		return err
	}
	if n := q.mean(); !w.space.HasChunks(n) {
		if err := q.mayExchange(&plus, &minus); err != nil {
			return err
		}
	}
	w.outdate()
	w.open++ // init must not move rows
	defer w.closeLoop()
	added := func(rows store.Rows) {
		if init != nil {
			init(Chunk(rows))
		}
	}
	return q.eachMeant(func(t *store.Table, most int) error {
		w.touched = true
		set := t.Set()
		set.Exchange(&minus, &plus)
		if most == t.Rows() {
			return t.Retag(set, added)
		}
		return t.RetagMatching(&q.filter, most, set, added)
	})
}

// mayExchange returns ErrChunks if there may be too few chunks for an exchange.
func (q *Query) mayExchange(plus, minus *store.Set) error {
	chunks := 0
	_ = q.eachMeant(func(t *store.Table, most int) error {
		set := t.Set()
		set.Exchange(minus, plus)
		chunks += t.RetagNeeds(set, most)
		return nil
	})
	return q.w.space.CheckChunks(chunks)
}

// setOf returns the components of parts, which must belong to the world.
func (w *World) setOf(call string, parts []ComponentSet) (set store.Set) {
	for i, p := range parts {
		if p == nil {
			panic(noPart(call, i))
		}
		set = set.Union(p.components(w))
	}
	return set
}

func noPart(call string, i int) string {
	return fmt.Sprintf("world: %s: part %d is nil; pass a *Component or a *Bundle", call, i)
}

// has reports whether the atom at l, if that is not 0, has all components of x. It does not make
// the set of x, which would take longer than the rest.
func (w *World) has(call string, l slots.Loc, x ComponentSet) bool {
	if x == nil {
		panic(noPart(call, 0))
	}
	if l == 0 {
		x.components(w) // may panic
		return false
	}
	return x.in(w, w.space.Set(l))
}

// mean finds the tables that match now, and how many of their first matching rows a call is about.
// It returns the sum.
func (q *Query) mean() int {
	left, filter := q.limit, q.matching()
	for i := range q.parts { // count all shards first: what is done with them may create
		p := &q.parts[i]
		p.look(q)
		p.meant = p.meant[:0]
		before := left
		for _, t := range p.tables {
			n := 0
			if t.Rows() > 0 {
				n = min(t.MatchingRows(filter), left)
				left -= n
			}
			p.meant = append(p.meant, n)
		}
		if left == before {
			p.meant = p.meant[:0]
		}
	}
	return q.limit - left
}

// eachMeant calls f with what mean has found. It does not visit tables that f makes, nor count rows
// again that f moves.
func (q *Query) eachMeant(f func(t *store.Table, most int) error) error {
	for i := range q.parts {
		p := &q.parts[i]
		for k, n := range p.meant {
			if n == 0 {
				continue
			}
			if err := f(p.tables[k], n); err != nil {
				return err
			}
		}
	}
	return nil
}

// ofWorld returns the world of a query that was asked of an idle World; it panics about a
// system's query.
func (q *Query) ofWorld(call string) *World {
	switch {
	case q == nil:
		panic(fmt.Sprintf("world: %s of a nil Query; ask the World for one", call))
	case q.frame:
		panic(fmt.Sprintf("world: %s of a Query of a Frame, which is for reading only; ask the World for one", call))
	case !q.idle:
		panic(fmt.Sprintf("world: %s of a Query of a system; it is for a query asked of an idle World; within a system use Component.Add and Remove, or Context.Destroy, for each entity", call))
	}
	return q.w
}
