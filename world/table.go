package world

import (
	"iter"

	"github.com/atoll-sim/atoll/internal/store"
)

// Table is a view of the entities of one shard that have the same components, for tools. It is
// for an idle world, and good until the refresh.
type Table struct {
	w     *World
	table *store.Table
}

// Tables yields the tables of the world, empty ones included, by shard, then in the order in
// which they were made. Queries visit them in the same order. It panics while a tick runs.
func (w *World) Tables() iter.Seq[Table] {
	return func(yield func(Table) bool) {
		w.mustIdle("World.Tables")
		for _, s := range w.shards {
			for _, t := range s.Tables() {
				if !yield(Table{w, t}) {
					return
				}
			}
		}
	}
}

// Shard returns the number of the table's shard.
func (t Table) Shard() int { return t.table.Shard().ID() }

// Components returns the names of the components, in the order in which they were
// registered.
func (t Table) Components() []string {
	set := t.table.Set()
	names := make([]string, 0, set.Len())
	for id := range set.All {
		names = append(names, t.w.components[id].name)
	}
	return names
}

// Has reports whether the entities of the table have a component.
func (t Table) Has(c AnyComponent) bool {
	set := t.table.Set()
	return set.Has(t.w.idOf("Table.Has", c))
}

// Count returns the number of entities, marked ones included until the refresh.
func (t Table) Count() int { return t.table.Rows() }

// Marked returns how many of them are marked.
func (t Table) Marked() int { return t.table.Marked() }

// Cap returns the number of entities that the table's chunks can hold.
func (t Table) Cap() int {
	n := 0
	for _, c := range t.table.Chunks() {
		n += c.Cap()
	}
	return n
}

// Chunks yields all rows chunk by chunk. All chunks but the last are full.
func (t Table) Chunks() iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		t.w.mustIdle("Table.Chunks")
		t.w.open++
		defer t.w.closeLoop()
		for i, left := 0, t.table.Rows(); left > 0; i++ {
			run := t.table.Run(i, left)
			left -= run.Len()
			if !yield(Chunk(run)) {
				return
			}
		}
	}
}
