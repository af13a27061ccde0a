package world

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/shard"
)

// Query selects entities by their components. A Query of a Build covers the shard that the system
// runs on, one of a World all shards. It remembers the tables that match, so make it once and use
// it again.
//
// Ownership: as for the accessors.
type Query struct {
	with, without, named store.Set
	any                  []store.Set // the entity must have a component of each set
	accessed             store.Set   // by readers and writers, optional ones among them
	parts                []queryPart
	w                    *World
	access               *drive.Access // of the system
	idle                 bool
	frame                bool // it is of a Frame: its parts have all tables, and nothing changes
	limited              bool // by Limit
	limit                int
	filter               store.Filter // selects rows of its tables; see matching
	turns                turns
	guard                check.Guard
	asked                []uintptr // the callers that last asked for a loop on the idle world; check build only
}

type queryPart struct {
	shard  *store.Shard
	tables []*store.Table // tables that match, of those seen
	// made is the number of the shard's last table when it was looked at; removals is how often
	// tables had been taken out by then. Their sum is the version of the shard's list of
	// tables.
	made, removals uint64
	meant          []int // by table: how many of its rows a call is about
}

// Query selects all entities that match the terms, for use between ticks. It panics if a
// component is named twice, or if a term was asked of another world or of a Build.
func (w *World) Query(terms ...Term) *Query { return newQuery(w.bind("World.Query"), w.shards, terms) }

func newQuery(b binding, shards []*store.Shard, terms []Term) *Query {
	q := &Query{w: b.w, access: b.access, idle: b.idle, frame: b.frame != nil, guard: b.guard("a Query"), limit: math.MaxInt, parts: make([]queryPart, len(shards))}
	for i, s := range shards {
		q.parts[i].shard = s
	}
	for i, t := range terms {
		q.add(&b, i, t)
	}
	if q.frame {
		q.findTables()
		if q.turns.n != 0 {
			q.findTurn()
		}
	}
	return q
}

// findTables makes the query of a frame remember the tables that match.
func (q *Query) findTables() {
	for i := range q.parts {
		p := &q.parts[i]
		for _, t := range p.shard.Tables() {
			if t.Rows() > 0 && q.matches(t.Set()) {
				p.tables = append(p.tables, t)
			}
		}
	}
}

// Limit returns a query for the first n of the entities that match, in the order of Chunks,
// marked ones included. Chunks, Count, Destroy, AddTo and all other operations on it concern
// those entities alone. Limit allocates; its query may be kept like any other. It panics if n
// is negative.
func (q *Query) Limit(n int) *Query {
	if n < 0 {
		panic(fmt.Sprintf("world: Query.Limit of %d; want 0 or more", n))
	}
	limited := *q
	limited.parts = slices.Clone(q.parts)
	for i := range limited.parts {
		if q.frame {
			break
		}
		limited.parts[i] = queryPart{shard: q.parts[i].shard}
	}
	limited.limited, limited.limit = true, min(n, q.limit)
	return &limited
}

func (q *Query) matches(set store.Set) bool {
	for i := range q.any {
		if !set.Meets(&q.any[i]) {
			return false
		}
	}
	return set.Contains(&q.with) && !set.Meets(&q.without)
}

// update looks at the tables that were made, given back or numbered anew since the last time.
func (p *queryPart) update(q *Query) {
	s := p.shard
	if p.removals != s.Removals() {
		p.removals = s.Removals()
		p.tables = slices.DeleteFunc(p.tables, func(t *store.Table) bool { return t.Gone() || t.Serial() > p.made })
	}
	for _, t := range s.TablesSince(p.made) {
		if q.matches(t.Set()) {
			p.tables = append(p.tables, t)
		}
	}
	p.made = s.Made()
}

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
func (q *Query) Chunks() iter.Seq[Chunk] {
	var made uint64
	if check.Enabled {
		made = q.began()
	}
	return func(yield func(Chunk) bool) {
		if check.Enabled {
			yield = q.watch(made, yield)
		}
		switch {
		case q.limited:
			q.head(yield)
		case q.idle:
			q.idleChunks(yield)
		case q.frame:
			q.frameChunks(yield)
		default:
			q.ownChunks(yield)
		}
	}
}

// head yields the first rows that match.
func (q *Query) head(yield func(Chunk) bool) {
	left := q.limit
	if left == 0 {
		return
	}
	some := func(ch Chunk) bool {
		if n := ch.Len(); n < left {
			left -= n
			return yield(ch)
		}
		yield(Chunk(store.Rows(ch).Head(left)))
		return false
	}
	switch {
	case q.idle:
		q.idleChunks(some)
	case q.frame:
		q.frameChunks(some)
	default:
		q.ownChunks(some)
	}
}

// frameChunks is Chunks of a frame, for several goroutines at once.
func (q *Query) frameChunks(yield func(Chunk) bool) {
	q.each(math.MaxUint64, yield)
}

func (q *Query) ownChunks(yield func(Chunk) bool) {
	if len(q.parts) > 1 {
		q.allChunks(yield)
		return
	}
	s := q.parts[0].shard
	s.Loop++
	q.each(s.Loop, yield)
}

// allChunks is Chunks of a global system.
func (q *Query) allChunks(yield func(Chunk) bool) {
	loop := uint64(0)
	for i := range q.parts {
		loop = max(loop, q.parts[i].shard.Loop+1)
	}
	for i := range q.parts { // the loop begins at once on all shards
		q.parts[i].shard.Loop = loop
	}
	q.each(loop, yield)
}

func (q *Query) idleChunks(yield func(Chunk) bool) {
	w := q.w
	w.mustIdle("Query.Chunks")
	w.enterLoop(q)
	defer w.leaveLoop(q)
	w.loop++
	q.each(w.loop, yield)
}

// mustBeOf panics if a query of the idle world is used while a tick runs. Calls that are
// implemented by Chunks use it, because the panic of Chunks would name Chunks.
func (q *Query) mustBeOf(call string) {
	if q.idle {
		q.w.mustIdle(call)
	}
}

// began checks that the query may be used, notes who asks, and returns the tick. Check build
// only.
func (q *Query) began() uint64 {
	if q.idle {
		q.w.mustIdle("Query.Chunks")
		q.note()
	}
	q.guard.Must()
	return q.w.engine.Tick.Load()
}

// watch wraps yield. The wrapper panics if an iterator that was made in one tick is used in a
// later one, or out of turn. Check build only.
func (q *Query) watch(made uint64, yield func(Chunk) bool) func(Chunk) bool {
	look := func() {
		q.guard.Must()
		q.w.mustBeIn(made)
	}
	look()
	return func(ch Chunk) bool {
		more := yield(ch)
		if more {
			look()
		}
		return more
	}
}

// mustBeIn panics about an iterator that was made in an earlier tick.
func (w *World) mustBeIn(made uint64) {
	if now := w.engine.Tick.Load(); now != made {
		panic(fmt.Sprintf("world: an iterator made in tick %d is used in tick %d; ask for a new one in each tick", made, now))
	}
}

// look is update if there are tables to look at.
func (p *queryPart) look(q *Query) {
	if p.made+p.removals != p.shard.TablesVersion() {
		p.update(q)
	}
}

// each yields the rows that match, as they were when the loop began. It is short for a table of
// one chunk, because a small world has many: there the price of a table is most of the loop's.
func (q *Query) each(loop uint64, yield func(Chunk) bool) {
	filter := *q.matching() // code in the loop may change the query's filter
	all := filter.All()
	for i := range q.parts {
		p := &q.parts[i]
		p.look(q)
		for _, t := range p.tables {
			left := t.RowsAt(loop)
			if left == 0 {
				continue
			}
			if rows, only := t.Only(left); only && all {
				if !yield(Chunk(rows)) {
					return
				}
			} else if !runs(t, left, &filter, yield) {
				return
			}
		}
	}
}

// runs yields those of the first left rows of a table that match.
func runs(t *store.Table, left int, f *store.Filter, yield func(Chunk) bool) bool {
	for i := 0; left > 0; i++ {
		rows := t.Run(i, left)
		left -= rows.Len()
		if !rows.Matching(f, func(r store.Rows) bool { return yield(Chunk(r)) }) {
			return false
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
	if check.Enabled {
		q.guard.Must()
	}
	n, f := 0, q.matching()
	for i := range q.parts {
		p := &q.parts[i]
		p.look(q)
		for _, t := range p.tables {
			n += t.MatchingRows(f)
		}
	}
	return min(n, q.limit)
}

// Chunk is a view of rows: see shard.Chunk.
type Chunk = shard.Chunk
