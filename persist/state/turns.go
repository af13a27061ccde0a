package state

import (
	"errors"
	"fmt"
	"math"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

func init() {
	extend.NewTurns = func(w, codecs any) extend.Turns {
		h := NewHasher(w.(*world.World), codecs.(*Codecs))
		return &turns{h: h, v: engine.Of(h.w).Survey()}
	}
}

// turns hashes a part of the state at each tick, at little cost, so that a log can show soon that a
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
type turns struct {
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

// Sum hashes the parts whose turn it is at the world's tick.
func (x *turns) Sum() (sum uint64) {
	if x.counts != x.v.Counts() {
		x.learn()
	}
	h, tick, shards := x.h, x.h.w.Tick(), x.h.w.Shards()
	turn := func(n, of int) bool { return (tick+uint64(n))%uint64(of) == 0 }
	h.sum.Reset()
	cursor, run := x.v.Placement()
	for _, n := range [...]uint64{tick, uint64(cursor), uint64(run)} {
		h.sum.number(n)
	}
	rows := 0
	for i := range shards {
		rows += x.v.Shard(i).Alive()
	}
	each := uint64(1) // in how many ticks chunks take turns
	for each < often && each*rowsEach < uint64(rows) {
		each *= 2
	}
	for i := range shards {
		s := x.v.Shard(i)
		if turn(i, often) {
			h.numbers = s.AppendSlots(h.numbers[:0])
			h.slots(h.numbers, s.FreeList())
		}
		x.shard(s, tick+7*uint64(i), each)
	}
	if turn(shards, often) {
		h.numbers = x.v.PortSlots().AppendUses(h.numbers[:0])
		h.list(h.numbers)
	}
	for i, r := range x.resources {
		if r != nil && turn(i, r.turns()) {
			x.resource(i)
		}
	}
	for i := range x.extensions {
		if turn(seldom/2+i, seldom) {
			x.extension(i)
		}
	}
	x.walk()
	return h.sum.Sum64()
}

// Wrong returns which types are left out because they have no codec, and how a codec has failed, or
// nil.
func (x *turns) Wrong() error { return errors.Join(x.lacks, x.failed) }

// contain is deferred where codecs are called.
func (x *turns) contain() {
	if v := recover(); v != nil {
		x.failed = fmt.Errorf("state: a codec failed: %v", v)
		x.h.sum.number(codecFailed)
	}
}

// codecFailed is hashed for a part whose codec has failed.
const codecFailed = math.MaxUint64

func (x *turns) resource(i int) {
	defer x.contain()
	x.h.resource(x.v, i)
}

func (x *turns) extension(i int) {
	defer x.contain()
	x.h.scratch = x.extensions[i].AppendState(x.h.scratch[:0])
	x.h.sum.bytes(x.h.scratch)
}

func (x *turns) rows(written uint32, cells mem.Cells) {
	defer x.contain()
	x.h.rows(written, cells)
}

// walk hashes some of what must be encoded, and resources: up to walkBytes in a tick, and after a
// large part nothing until it is made up for.
func (x *turns) walk() {
	x.credit = min(x.credit, 0) + walkBytes
	from := x.next
	x.walkTo(from, math.MaxInt)
	x.walkTo(0, from)
}

// walkTo hashes the parts from number from on, up to the one before to, while there is credit. The
// parts are 64 rows each of the chunks of each table that has components to encode, resources, and
// extensions.
func (x *turns) walkTo(from, to int) {
	at := 0
	for i := range x.h.w.Shards() {
		for _, t := range x.v.Shard(i).Tables() {
			if !x.anyEncoded(t) {
				continue
			}
			for _, c := range t.Chunks() {
				parts := (len(c.Handles()) + walkRows - 1) / walkRows
				for k := max(0, from-at); k < min(parts, to-at) && x.credit > 0; k++ {
					size := x.h.sum.size
					x.someRows(t, c, k*walkRows)
					x.spend(size, at+k)
				}
				at += parts
			}
		}
	}
	for i, r := range x.resources {
		if r != nil && at >= from && at < to && x.credit > 0 {
			size := x.h.sum.size
			x.resource(i)
			x.spend(size, at)
		}
		at++
	}
	for i := range x.extensions {
		if at >= from && at < to && x.credit > 0 {
			size := x.h.sum.size
			x.extension(i)
			x.spend(size, at)
		}
		at++
	}
}

// anyEncoded reports whether a component of a table must be encoded.
func (x *turns) anyEncoded(t *store.Table) bool {
	for _, id := range t.Components() {
		if x.components[id].encoded() {
			return true
		}
	}
	return false
}

// someRows hashes the encoded components of walkRows rows of a chunk, or as many as there are.
func (x *turns) someRows(t *store.Table, c *store.Chunk, row int) {
	defer x.contain()
	n := min(walkRows, len(c.Handles())-row)
	for i, id := range t.Components() {
		if x.components[id].encoded() {
			x.h.cells(c.CellsFrom(i, row, n))
		}
	}
}

// spend counts what a part has cost, since the sum had a size.
func (x *turns) spend(size, part int) {
	x.credit -= x.h.sum.size - size + walkPart
	x.next = part + 1
}

// learn makes writers for all types that have a codec or need none.
func (x *turns) learn() {
	components, resources := x.v.Components(), x.v.Resources()
	x.lacks = errors.Join(x.h.learn("component", components), x.h.learn("resource", resources))
	x.extensions = x.extensions[:0]
	for i, e := range x.v.Extensions() {
		s, err := x.h.statefulOf(e, i)
		if err != nil {
			x.lacks = errors.Join(x.lacks, err)
			continue
		}
		x.extensions = append(x.extensions, s)
	}
	x.components, x.resources = x.components[:0], x.resources[:0]
	for _, c := range components {
		x.components = append(x.components, x.h.writers[c.Type])
	}
	for _, r := range resources {
		x.resources = append(x.resources, x.h.writers[r.Type])
	}
	x.counts = x.v.Counts()
}

// encoded reports whether values have a codec that encodes them.
func (x *writer) encoded() bool { return x != nil && x.layout == nil }

// turns returns in how many ticks values are hashed once.
func (x *writer) turns() int {
	if x.layout != nil {
		return often
	}
	return seldom
}

// shard hashes the chunks whose turn it is: of each table one in so many. Each table begins with
// another one.
func (x *turns) shard(s *store.Shard, at, each uint64) {
	h := x.h
	for k, t := range s.Tables() {
		at, chunks := at+11*uint64(k), t.Chunks()
		for c := int(at % each); c < len(chunks); c += int(each) {
			chunk := chunks[c]
			changed, written := chunk.Stamps()
			h.sum.number(uint64(k))
			h.chunk(chunk.Cap(), chunk.Handles(), changed, chunk.Marks(), chunk.Flagged)
			for i, id := range t.Components() {
				switch w := x.components[id]; {
				case w == nil:
				case w.layout != nil:
					h.sum.number(uint64(written[i]))
					h.plain(w.layout, chunk.Bytes(i))
				case (at-uint64(c))%seldom == 0:
					x.rows(written[i], chunk.Cells(i))
				}
			}
		}
	}
}
