package engine

import (
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/shard"
)

// Query selects entities by their components.
//
// Ownership: the system and shard it was built for, or the idle world; any goroutine for a query of
// a Frame.
type Query struct {
	with, without, named store.Set
	any                  []store.Set // the entity must have a component of each set
	accessed             store.Set   // by readers and writers, optional ones among them
	parts                []queryPart
	w                    *World
	access               *extend.Access // of the system
	idle                 bool
	frame                bool // it is of a Frame: its parts have all tables, and nothing changes
	limited              bool // by Limit
	limit                int
	filter               store.Filter // selects rows of its tables; see matching
	turns                turns
	guard                check.Guard
	asked                []uintptr // the callers that last asked for a loop on the idle world; check build only
}

// queryPart is a query in one shard.
type queryPart struct {
	shard  *store.Shard
	tables []*store.Table // tables that match, of those seen
	// made is the number of the shard's last table when it was looked at; removals is how often
	// tables had been taken out by then. Their sum is the version of the shard's list of
	// tables.
	made, removals uint64
	meant          []int // by table: how many of its rows a call is about
}

// Query selects all entities that match the terms, for use between ticks. It panics unless the
// world is idle.
func (w *World) Query(terms ...Term) *Query {
	return newQuery(w.binding("World.Query"), w.shards, terms)
}

// newQuery makes a query over shards of what the terms select. It panics about terms that
// contradict each other or were asked of another Binder.
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

// findTables makes the query of a frame remember the tables that match, because several goroutines
// will use it.
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

// Limit returns a query for the first n of the entities that match, in the order of Chunks, marked
// ones included. It is used where q may be.
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

// matches reports whether entities with these components match.
func (q *Query) matches(set store.Set) bool {
	for i := range q.any {
		if !set.Meets(&q.any[i]) {
			return false
		}
	}
	return set.Contains(&q.with) && !set.Meets(&q.without)
}

// update looks at the tables that were made, given back or numbered anew since the last time, on
// the goroutine that has the shard.
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

// Chunks yields the rows that match, as they are when the loop begins. On the idle world no call
// may move rows until the loop ends.
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

// head yields the first rows that match, as many as Limit allows, for Chunks.
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

// ownChunks is Chunks of a system. It gives the loop a number, by which a table knows what rows it
// had then.
func (q *Query) ownChunks(yield func(Chunk) bool) {
	if len(q.parts) > 1 {
		q.allChunks(yield)
		return
	}
	s := q.parts[0].shard
	s.Loop++
	q.each(s.Loop, yield)
}

// allChunks is Chunks of a global system, which has all shards to itself.
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

// idleChunks is Chunks of the idle world. It panics if the world is not idle when the loop begins.
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

// mustBeIn panics about an iterator that was made in an earlier tick. Check build only.
func (w *World) mustBeIn(made uint64) {
	if now := w.engine.Tick.Load(); now != made {
		panic(fmt.Sprintf("world: an iterator made in tick %d is used in tick %d; ask for a new one in each tick", made, now))
	}
}

// look is update if there are tables to look at. The caller has the shard.
func (p *queryPart) look(q *Query) {
	if p.made+p.removals != p.shard.TablesVersion() {
		p.update(q)
	}
}

// each yields the rows that match, as they were when the loop began, to the goroutine that has the
// shards. It is short for a table of one chunk, because a small world has many: there the price of
// a table is most of the loop's.
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

// runs yields the rows that match, among the first left rows of a table. It returns false when
// yield does.
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

// Count returns the number of rows that match, dying ones included, without visiting them. A query
// of the idle world panics at another time.
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

// At returns the i-th of the entities that match, counted from 0, as a Chunk of one row, for
// Handle(0) and the accessors' Slice; or false if there are fewer. A query of the idle world panics
// at another time.
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
// location for the accessors' At. What Chunks forbids in a loop, it forbids.
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

// ChunksSince is Chunks for the rows that may have changed since a tick, chunk by chunk.
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

// loop is a loop over a query that runs on the idle world.
type loop struct {
	over  *Query
	asked []uintptr // the callers that asked for it; check build only
}

// enterLoop notes that a loop of the idle world begins: from now on calls that move rows panic.
func (w *World) enterLoop(q *Query) {
	w.open++
	w.loops = append(w.loops, loop{q, q.asked})
}

// leaveLoop notes that a loop of the idle world has ended, also by a panic: the last one over the
// query. Loops of iter.Pull may end in any order.
func (w *World) leaveLoop(q *Query) {
	w.closeLoop()
	last := len(w.loops) - 1
	i := last
	for i > 0 && w.loops[i].over != q {
		i--
	}
	copy(w.loops[i:], w.loops[i+1:])
	w.loops[last] = loop{}
	w.loops = w.loops[:last]
}

// closeLoop undoes adding 1 to open, for what has kept rows of the idle world from moving.
func (w *World) closeLoop() { w.open-- }

// mustNotLoop panics about a call that moves rows of the idle world, within a query loop or
// something else that must not see that.
func (w *World) mustNotLoop(call string) {
	switch {
	case w.open == 0:
	case w.calling != "":
		panic(fmt.Sprintf("world: %s inside function %q would move the row it works on; call it after the function, or use its EntityContext", call, w.calling))
	case w.within != "":
		panic(fmt.Sprintf("world: %s inside %s; call it after that", call, w.within))
	case len(w.loops) == 0:
		panic(fmt.Sprintf("world: %s inside a query loop would move the rows it walks; call it after the loop", call))
	default:
		l := &w.loops[len(w.loops)-1]
		panic(fmt.Sprintf("world: %s inside a query loop would move the rows it walks; call it after the loop, which is over %s%s; if it is in no loop, an iterator of iter.Pull is still open: call its stop",
			call, l.over.describe(), l.begun()))
	}
}

// describe says what a query selects by its components, for messages.
func (q *Query) describe() string {
	names := q.w.ComponentNames(q.with)
	if names == "" {
		return "all entities"
	}
	return "entities with " + names
}

// begun says where the program asked for the loop, for mustNotLoop, if that is known.
func (l *loop) begun() string {
	if !check.Enabled {
		return " (a build with -race says where it began)"
	}
	for frames := runtime.CallersFrames(l.asked); ; {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, module+"world.") && !strings.HasPrefix(f.Function, module+"internal/engine.") {
			return fmt.Sprintf(" and began at %s:%d", f.File, f.Line)
		}
		if !more {
			return ""
		}
	}
}

// module begins the name of each function of this module.
const module = "github.com/atoll-sim/atoll/"

// note notes where the program asks for a loop, for loop.begun. Check build only.
func (q *Query) note() {
	var callers [8]uintptr
	q.asked = append([]uintptr(nil), callers[:runtime.Callers(3, callers[:])]...)
}

// Destroy marks all entities that match and returns how many were not marked before. The query must
// be of the idle world.
func (q *Query) Destroy() int {
	w := q.ofWorld("Query.Destroy")
	w.mustIdle("Query.Destroy")
	w.refuseSealed()
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
	w.touched = w.touched || n > 0
	return n
}

// Remove takes the components of the parts from all entities that match, as far as they have them,
// in one move, as exchange does.
func (q *Query) Remove(parts ...ComponentSet) error {
	w := q.ofWorld("Query.Remove")
	return q.exchange("Query.Remove", nil, store.Set{}, w.SetOf("Query.Remove", parts))
}

// AddTo gives the components of a set to all entities that match, and takes away what remove names,
// as exchange does. init, if not nil, fills in the rows.
func (q *Query) AddTo(call string, init func(rows Chunk), of ComponentSet, remove []ComponentSet) error {
	w := q.ofWorld(call)
	return q.exchange(call, init, w.SetOf(call, []ComponentSet{of}), w.SetOf(call, remove))
}

// exchange adds the components of plus to all entities that match, and removes the components of
// minus. A component that is in both stays. ofWorld has accepted the query; the world must be idle.
// An error of too few chunks changes nothing; init, which may create, can still use them up: then
// the tables before the error are changed.
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
		w.Touched()
		set := t.Set()
		set.Exchange(&minus, &plus)
		if most == t.Rows() {
			return t.Retag(set, added)
		}
		return t.RetagMatching(&q.filter, most, set, added)
	})
}

// mayExchange returns ErrChunks if there may be too few chunks for an exchange. It changes nothing.
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

// has reports whether the atom at l, if that is not 0, has all components of x. It does not make
// the set of x, which would take longer than the rest. The caller may read the row.
func (w *World) has(call string, l slots.Loc, x ComponentSet) bool {
	if isNil(x) {
		mustPart(call, 0, x)
	}
	if l == 0 {
		x.components(w) // may panic
		return false
	}
	return x.in(w, w.space.Set(l))
}

// mean finds the tables that match now, and how many of their first matching rows a call on the
// idle world is about. It returns the sum.
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

// eachMeant calls f with what mean has found, until f returns an error. It does not visit tables
// that f makes, nor count rows again that f moves.
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
