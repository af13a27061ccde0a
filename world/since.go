package world

import (
	"iter"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/store"
)

// ChunksSince is Chunks for the rows that may have changed since a tick. It yields the chunks
// in which, in that tick or later, a row came or was replaced, or a component that the query
// accesses was handed out for writing, by a Writer or a request. Its cost depends on the number
// of chunks; a chunk in which one row changed is yielded whole.
func (q *Query) ChunksSince(tick uint64) iter.Seq[Chunk] {
	var made uint64
	if check.Enabled {
		q.mustBeOf("Query.ChunksSince")
		made = q.began()
	}
	chunks := q.Chunks()
	return func(yield func(Chunk) bool) {
		q.mustBeOf("Query.ChunksSince")
		if check.Enabled {
			q.w.mustBeIn(made)
		}
		now := q.w.Tick()
		if tick > now {
			return
		}
		for ch := range chunks {
			if store.Rows(ch).WrittenSince(now-tick, &q.accessed) && !yield(ch) {
				return
			}
		}
	}
}
