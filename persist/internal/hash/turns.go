package hash

import (
	"errors"
	"fmt"
	"math"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/form"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

// Turns hashes a part of the state at each tick, at little cost, so that a log can show soon that a
// replay differs. Chunks of rows, the slots of a shard and plain resources take turns: each is
// hashed once in often ticks, chunks of a world with few entities more often. Types that must be
// encoded and may be large take turns once in seldom ticks, and besides as many of them as fit in
// walkBytes a tick: all of a small world in a few ticks. Messages and requests under way are left
// out: their effects show in a later tick. So are types without a codec. Where a codec fails, the
// failure is hashed.
//
// What is hashed in a tick depends on the state, and on the ticks since the turns were made: a
// Recorder and a Player make them where a log begins.
//
// Ownership: the coordinator, at the end of a refresh.
type Turns struct {
	h          *Hasher
	v          *engine.Survey
	counts     extend.Counts // when the types were learnt
	components []*writer     // by number; nil: it has no codec
	resources  []*writer     // as components
	extensions []Stateful
	lacks      error // which types have no codec
	failed     error // how a codec has failed, the last time

	next   int // the part with which the walk goes on
	credit int // how many bytes it may hash; less than 0 if it has hashed more
}

const (
	often  = 64
	seldom = 16 * often

	walkBytes = 8 << 10
	// walkRows is how many rows are a part of the walk.
	walkRows = 64
	// walkPart is what a part counts for besides its bytes.
	walkPart = 64
	// rowsEach is how many entities a world has for each tick in which all their chunks are hashed
	// once.
	rowsEach = 512
)

// NewTurns makes the turns of an idle world.
func NewTurns(w *world.World, codecs *form.Codecs) *Turns {
	return &Turns{h: New(w, codecs), v: engine.Of(w).Survey()}
}

// Sum hashes the parts whose turn it is at the world's tick. It is called when a log begins, with
// the idle world, and then once a tick, at the time of a Recorder's Settled.
func (t *Turns) Sum() (sum uint64) {
	if t.counts != t.v.Counts() {
		t.learn()
	}
	h, tick, shards := t.h, t.h.w.Tick(), t.h.w.Shards()
	turn := func(n, of int) bool { return (tick+uint64(n))%uint64(of) == 0 }
	h.sum.Reset()
	cursor, run := t.v.Placement()
	h.sum.numbers(tick, uint64(cursor), uint64(run))
	rows := 0
	for i := range shards {
		rows += t.v.Shard(i).Alive()
	}
	each := uint64(1) // in how many ticks chunks take turns
	for each < often && each*rowsEach < uint64(rows) {
		each *= 2
	}
	for i := range shards {
		s := t.v.Shard(i)
		if turn(i, often) {
			more, at := s.Drawing()
			for k := range more + 1 {
				h.numbers = s.AppendSlots(h.numbers[:0], k)
				h.slots(h.numbers, s.FreeList(k))
			}
			h.drawing(more, at)
		}
		t.shard(s, tick+7*uint64(i), each)
	}
	if turn(shards, often) {
		h.numbers = t.v.PortSlots().AppendUses(h.numbers[:0])
		h.list(h.numbers)
	}
	for i, r := range t.resources {
		if r != nil && turn(i, r.turns()) {
			t.resource(i)
		}
	}
	for i := range t.extensions {
		if turn(seldom/2+i, seldom) {
			t.extension(i)
		}
	}
	t.walk()
	return h.sum.Sum64()
}

// Wrong returns which types are left out because they have no codec, and how a codec has failed, or
// nil.
func (t *Turns) Wrong() error { return errors.Join(t.lacks, t.failed) }

// contain is deferred where codecs of the user are called: a panic is hashed, kept for Wrong, and
// goes no further.
func (t *Turns) contain() {
	if v := recover(); v != nil {
		t.failed = fmt.Errorf("state: a codec failed: %v", v)
		t.h.sum.number(codecFailed)
	}
}

// codecFailed is hashed for a part whose codec has failed.
const codecFailed = math.MaxUint64

// resource hashes a resource, and contains its codec.
func (t *Turns) resource(i int) {
	defer t.contain()
	t.h.resource(t.v, i)
}

// extension hashes the state of an extension, and contains its codecs.
func (t *Turns) extension(i int) {
	defer t.contain()
	t.h.scratch = t.extensions[i].AppendState(t.h.scratch[:0])
	t.h.sum.bytes(t.h.scratch)
}

// rows hashes a component of a chunk's rows, and contains its codec.
func (t *Turns) rows(written uint32, cells mem.Cells) {
	defer t.contain()
	t.h.rows(written, cells)
}

// walk hashes some of what must be encoded, and resources: up to walkBytes in a tick, and after a
// large part nothing until it is made up for.
func (t *Turns) walk() {
	t.credit = min(t.credit, 0) + walkBytes
	from := t.next
	t.walkTo(from, math.MaxInt)
	t.walkTo(0, from)
}

// walkTo hashes the parts from number from on, up to the one before to, while there is credit. The
// parts are 64 rows each of the chunks of each table that has components to encode, resources, and
// extensions.
func (t *Turns) walkTo(from, to int) {
	at := 0
	for i := range t.h.w.Shards() {
		for _, table := range t.v.Shard(i).Tables() {
			if !t.anyEncoded(table) {
				continue
			}
			for _, c := range table.Chunks() {
				parts := (len(c.Handles()) + walkRows - 1) / walkRows
				for k := max(0, from-at); k < min(parts, to-at) && t.credit > 0; k++ {
					t.spend(at+k, func() { t.someRows(table, c, k*walkRows) })
				}
				at += parts
			}
		}
	}
	for i, r := range t.resources {
		if r != nil && at >= from && at < to && t.credit > 0 {
			t.spend(at, func() { t.resource(i) })
		}
		at++
	}
	for i := range t.extensions {
		if at >= from && at < to && t.credit > 0 {
			t.spend(at, func() { t.extension(i) })
		}
		at++
	}
}

// anyEncoded reports whether a component of a table must be encoded.
func (t *Turns) anyEncoded(table *store.Table) bool {
	for _, id := range table.Components() {
		if t.components[id].encoded() {
			return true
		}
	}
	return false
}

// someRows hashes the encoded components of walkRows rows of a chunk, or as many as there are.
func (t *Turns) someRows(table *store.Table, c *store.Chunk, row int) {
	defer t.contain()
	n := min(walkRows, len(c.Handles())-row)
	for i, id := range table.Components() {
		if t.components[id].encoded() {
			t.h.cells(c.CellsFrom(i, row, n))
		}
	}
}

// spend hashes a part, and counts what it costs. The next walk begins behind it.
func (t *Turns) spend(part int, hash func()) {
	size := t.h.sum.size
	hash()
	t.credit -= t.h.sum.size - size + walkPart
	t.next = part + 1
}

// learn makes writers for all types that have a codec or need none. What lacks a codec is left out,
// and in lacks.
func (t *Turns) learn() {
	components, resources := t.v.Components(), t.v.Resources()
	t.lacks = errors.Join(t.h.learn("component", components), t.h.learn("resource", resources))
	t.extensions = t.extensions[:0]
	for _, e := range t.v.Extensions() {
		s, err := t.h.statefulOf(e)
		if err != nil {
			t.lacks = errors.Join(t.lacks, err)
			continue
		}
		t.extensions = append(t.extensions, s)
	}
	t.components, t.resources = t.components[:0], t.resources[:0]
	for _, c := range components {
		t.components = append(t.components, t.h.writers[c.Type])
	}
	for _, r := range resources {
		t.resources = append(t.resources, t.h.writers[r.Type])
	}
	t.counts = t.v.Counts()
}

// encoded reports whether values have a codec that encodes them.
func (w *writer) encoded() bool { return w != nil && w.Layout == nil }

// turns returns in how many ticks values are hashed once.
func (w *writer) turns() int {
	if w.Layout != nil {
		return often
	}
	return seldom
}

// shard hashes the chunks whose turn it is: of each table one in so many. Each table begins with
// another one.
func (t *Turns) shard(s *store.Shard, at, each uint64) {
	h := t.h
	for k, table := range s.Tables() {
		at, chunks := at+11*uint64(k), table.Chunks()
		for c := int(at % each); c < len(chunks); c += int(each) {
			chunk := chunks[c]
			changed, written := chunk.Stamps()
			h.sum.number(uint64(k))
			h.chunk(chunk.Cap(), chunk.Handles(), changed, chunk.Marks(), chunk.Flagged)
			for i, id := range table.Components() {
				switch w := t.components[id]; {
				case w == nil:
				case w.Layout != nil:
					h.sum.number(uint64(written[i]))
					h.plain(w.Layout, chunk.Bytes(i))
				case (at-uint64(c))%seldom == 0:
					t.rows(written[i], chunk.Cells(i))
				}
			}
		}
	}
}
