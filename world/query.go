package world

import (
	"iter"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/shard"
)

// Query selects entities by their components. A Query of a Build covers the shard that the system
// runs on, one of a World all shards. It remembers the tables that match, so make it once and use
// it again.
//
// Ownership: as for the accessors.
type Query engine.Query

// At returns the i-th of the entities that match, counted from 0, as a Chunk of one row, for
// Handle(0) and the accessors' Slice; or false if there are fewer. The order is that of Chunks:
// by shard, then by table in the order they were made, then by row. It is the same for as long
// as nothing is stored, moved or refreshed. Dying entities keep their places until the
// refresh. When the refresh removes an entity it may put another into its place, unless
// Options.KeepOrder is set.
//
// Its cost depends on the number of tables and chunks, not of entities; to visit all entities
// use Chunks or Entities.
func (q *Query) At(i int) (Chunk, bool) { return (*engine.Query)(q).At(i) }

// Entities yields the entities that match, one by one, in the order of Chunks, each with its
// location for the accessors' At. The rules of Chunks hold for it. A loop over Chunks and
// slices is several times faster.
func (q *Query) Entities() iter.Seq2[handle.Handle, shard.Loc] { return (*engine.Query)(q).Entities() }

// Limit returns a query for the first n of the entities that match, in the order of Chunks,
// dying ones included. Chunks, Count, Destroy, AddTo and all other operations on it concern
// those entities alone. Limit allocates; its query may be kept like any other. It panics if n
// is negative.
func (q *Query) Limit(n int) *Query { return (*Query)((*engine.Query)(q).Limit(n)) }

// Chunks yields the rows that match, as they are when the loop begins. Code in the loop may create
// entities, which the loop does not see, and destroy entities, which takes effect at the refresh.
// On an idle world, calls that would move rows panic within the loop. An iterator of iter.Pull is
// such a loop until its stop is called; panics after that was forgotten name the query, and in the
// check build the line.
//
// A query with flags skips rows that do not match them; each run of the others is yielded as a
// chunk.
//
// The iterator is good until the refresh. In the check build, an iterator that is kept for
// longer panics, and so does a system's query that is used out of its turn; a release build
// checks neither. An idle world's query panics in both builds while a tick runs.
func (q *Query) Chunks() iter.Seq[Chunk] { return (*engine.Query)(q).Chunks() }

// Count returns the number of rows that match, dying ones included, without
// visiting them.
func (q *Query) Count() int { return (*engine.Query)(q).Count() }

// Destroy marks all entities that match and returns how many were not marked before. The
// refresh removes them. With Limit it marks the first n. For an idle world; within a system use
// Context.Destroy.
func (q *Query) Destroy() int { return (*engine.Query)(q).Destroy() }

// Remove takes the components of the parts from all entities that match, as far as they have them,
// in one move. Errors and cost are as for Component.AddTo. For an idle world; within a system use
// Component.Remove.
func (q *Query) Remove(parts ...ComponentSet) error { return (*engine.Query)(q).Remove(parts...) }

// ChunksSince is Chunks for the rows that may have changed since a tick. It yields the chunks
// in which, in that tick or later, a row came or was replaced, or a component that the query
// accesses was handed out for writing, by a Writer or a request. Its cost depends on the number
// of chunks; a chunk in which one row changed is yielded whole. What a transaction has moved comes
// when the refresh has ended the tick, so it counts for the next one.
func (q *Query) ChunksSince(tick uint64) iter.Seq[Chunk] { return (*engine.Query)(q).ChunksSince(tick) }

// Delta returns the simulated time from one turn of an entity to the next, in seconds:
// Context.Delta times the number of runs of Turns or TurnsFor, or times 1 without them. For a query
// of an idle world or of a frame it is the time of that number of ticks. After TurnsFor has changed
// the number, the first result does not fit the time that passed.
func (q *Query) Delta() float64 { return (*engine.Query)(q).Delta() }

// Chunk is a view of rows: see shard.Chunk.
type Chunk = shard.Chunk
