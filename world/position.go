package world

import (
	"iter"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/shard"
)

// At returns the i-th of the entities that match, counted from 0, as a Chunk of one row, for
// Handle(0) and the accessors' Slice; or false if there are fewer. The order is that of Chunks:
// by shard, then by table in the order they were made, then by row. It is the same for as long
// as nothing is stored, moved or refreshed. Marked entities keep their places until the
// refresh. When the refresh removes an entity it may put another into its place, unless
// Options.KeepOrder is set.
//
// Its cost depends on the number of tables and chunks, not of entities; to visit all entities
// use Chunks or Entities.
func (q *Query) At(i int) (Chunk, bool) {
	if q.idle {
		q.w.mustIdle("Query.At")
	}
	if check.Enabled {
		q.guard.Must()
	}
	if i < 0 || i >= q.limit {
		return Chunk{}, false
	}
	f := q.matching()
	for k := range q.parts {
		p := &q.parts[k]
		p.look(q)
		for _, t := range p.tables {
			n := t.MatchingRows(f)
			if i < n {
				return Chunk(t.RowAt(i, f)), true
			}
			i -= n
		}
	}
	return Chunk{}, false
}

// Entities yields the entities that match, one by one, in the order of Chunks, each with its
// location for the accessors' At. The rules of Chunks hold for it. A loop over Chunks and
// slices is several times faster.
func (q *Query) Entities() iter.Seq2[handle.Handle, shard.Loc] {
	q.mustBeOf("Query.Entities")
	chunks := q.Chunks()
	return func(yield func(handle.Handle, shard.Loc) bool) {
		q.mustBeOf("Query.Entities")
		for ch := range chunks {
			for i, h := range ch.Handles() {
				if !yield(h, ch.Loc(i)) {
					return
				}
			}
		}
	}
}
