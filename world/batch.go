package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/shard"
)

// CreateRows makes n entities, spread over the shards in equal runs, and calls
// init, if not nil, with each run of their rows, for the accessors' Slice to fill
// in. They hold zeroes before, and are alive after; what would move rows panics
// within init. It is the fastest way to create many; PlaceBy is not asked.
//
// On an error those before it are made; the error says how many.
func (b *Bundle[T]) CreateRows(w *World, n int, init func(rows Chunk)) error {
	w.mustSettle("CreateRows")
	if w != b.w {
		b.w.refuse(w, "bundle", b.name)
	}
	if n < 0 {
		panic(fmt.Sprintf("world: bundle %s: cannot create %d entities", b.name, n))
	}
	if err := b.Reserve(w, n); err != nil {
		return err
	}
	return b.spread(w, n, func(_ *bundlePart[T], rows Chunk) {
		if init != nil {
			init(rows)
		}
	})
}

// spread makes n entities in equal runs over the shards.
func (b *Bundle[T]) spread(w *World, n int, fill func(*bundlePart[T], Chunk)) error {
	_ = b.Reserve(w, n) // if that is too much, creating will say so, at the right place
	w.open++
	defer w.closeLoop()
	for i, s := range w.shards {
		s.Loop = w.loop
		p := b.part(s)
		for at, end := n*i/len(w.shards), n*(i+1)/len(w.shards); at < end; {
			rows, err := s.CreateRows(p.table, end-at)
			if err != nil {
				return fmt.Errorf("%w (after %d of %d)", err, at, n)
			}
			p.fill(s, rows, fill)
			at += rows.Len()
		}
	}
	return nil
}

// fill calls f and makes the rows alive, even if f panics: they are in the table.
func (p *bundlePart[T]) fill(s *shard.Shard, rows Chunk, f func(*bundlePart[T], Chunk)) {
	defer s.PublishRows(rows)
	f(p, rows)
}

// Destroy marks all entities that match, and returns how many were not marked
// before. They go at the refresh. For an idle world; within a system use
// Context.Destroy.
func (q *Query) Destroy() int {
	q.mustIdle("Destroy")
	n := 0
	q.eachTable(func(t *shard.Table) error {
		n += t.MarkTable()
		return nil
	})
	return n
}

// AddTo gives the component to all entities that match and lack it, and calls
// init, if not nil, with their rows, for an accessor's Slice to fill in; the new
// component is zero before. Whole chunks change hands without being copied.
func (c *Component[T]) AddTo(q *Query, init func(rows Chunk)) error {
	var set shard.Set
	set.Add(c.in(q.w))
	return q.relabel("AddTo", set, shard.Set{}, init)
}

// RemoveFrom takes the component from all entities that match and have it. Whole
// chunks change hands without being copied.
func (c *Component[T]) RemoveFrom(q *Query) error {
	var set shard.Set
	set.Add(c.in(q.w))
	return q.relabel("RemoveFrom", shard.Set{}, set, nil)
}

// relabel changes the component set of all tables that match. On an error, which
// is ErrChunks, some have not changed.
func (q *Query) relabel(call string, add, remove shard.Set, init func(rows Chunk)) error {
	q.mustIdle(call)
	q.w.mustSettle(call)
	if init == nil {
		init = func(Chunk) {}
	}
	return q.eachTable(func(t *shard.Table) error {
		return t.Relabel(t.Set().Minus(remove).Union(add), init)
	})
}

// eachTable calls f with the tables that match as of now: tables that f makes
// are not among them.
func (q *Query) eachTable(f func(*shard.Table) error) error {
	for i := range q.parts {
		p := &q.parts[i]
		p.update(q)
		for _, t := range p.tables {
			if err := f(t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (q *Query) mustIdle(call string) {
	if !q.idle {
		panic(fmt.Sprintf("world: Query.%s within a system; it is for a query asked of an idle World", call))
	}
	q.w.mustIdle(call)
}
