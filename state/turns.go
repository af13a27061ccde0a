package state

import (
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/driver"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

func init() {
	drive.NewTurns = func(w, codecs any) drive.Turns {
		h := NewHasher(w.(*world.World), codecs.(*Codecs))
		return &turns{h: h, v: driver.Of(h.w).Survey()}
	}
}

// turns hashes a part of the state at each tick, at little cost, so that a log can show soon that a
// replay differs. Chunks of rows, the slots of a shard and plain resources take turns:
// each is hashed once in often ticks. Types that must be encoded and may be large take turns once in seldom ticks.
// Messages and requests under way are left out: their effects show in a later tick.
//
// Ownership: the coordinator, at the end of a refresh.
type turns struct {
	h          *Hasher
	v          drive.Survey
	counts     drive.Counts // when the types were learnt
	components []*writer    // by number
	resources  []*writer
	extensions []Stateful
}

const (
	often  = 64
	seldom = 16 * often
)

// rowsOften is up to how many rows a type that must be encoded is hashed as often as others.
const rowsOften = 64

// Sum hashes the parts whose turn it is at the world's tick. It returns ErrNoCodec, or the value of a codec's
// panic.
func (x *turns) Sum() (sum uint64, err error) {
	defer asError(&err)
	if x.counts != x.v.Counts() {
		if err := x.learn(); err != nil {
			return 0, err
		}
	}
	h, tick, shards := x.h, x.h.w.Tick(), x.h.w.Shards()
	turn := func(n, of int) bool { return (tick+uint64(n))%uint64(of) == 0 }
	h.sum.Reset()
	cursor, run := x.v.Placement()
	for _, n := range [...]uint64{tick, uint64(cursor), uint64(run)} {
		h.sum.number(n)
	}
	for i := range shards {
		s := x.v.Shard(i)
		if turn(i, often) {
			h.numbers = s.AppendSlots(h.numbers[:0])
			h.slots(h.numbers, s.FreeList())
		}
		x.shard(s, tick+7*uint64(i))
	}
	if turn(shards, often) {
		h.numbers = x.v.PortSlots().AppendUses(h.numbers[:0])
		h.list(h.numbers)
	}
	for i, r := range x.resources {
		if of := r.turns(); turn(i, of) {
			value, parts := x.v.Resource(i)
			h.cells(value)
			h.cells(parts)
		}
	}
	for i := range x.counts.Extensions {
		if turn(seldom/2+i, seldom) {
			h.scratch = x.extensions[i].AppendState(h.scratch[:0])
			h.sum.bytes(h.scratch)
		}
	}
	return h.sum.Sum64(), nil
}

// learn makes writers for all types.
func (x *turns) learn() error {
	components, resources := x.v.Components(), x.v.Resources()
	if err := x.h.learn("component", components); err != nil {
		return err
	}
	if err := x.h.learn("resource", resources); err != nil {
		return err
	}
	var err error
	if x.extensions, err = x.h.stateful(x.v.Extensions()); err != nil {
		return err
	}
	x.components, x.resources = x.components[:0], x.resources[:0]
	for _, c := range components {
		x.components = append(x.components, x.h.writers[c.Type])
	}
	for _, r := range resources {
		x.resources = append(x.resources, x.h.writers[r.Type])
	}
	x.counts = x.v.Counts()
	return nil
}

// turns returns in how many ticks values are hashed once.
func (x *writer) turns() int {
	if x.layout != nil {
		return often
	}
	return seldom
}

// shard hashes the chunks whose turn it is: of each table one in often. Each table begins with another one.
func (x *turns) shard(s *store.Shard, at uint64) {
	h := x.h
	for k, t := range s.Tables() {
		at, chunks := at+11*uint64(k), t.Chunks()
		for c := int(at % often); c < len(chunks); c += often {
			chunk := chunks[c]
			changed, written := chunk.Stamps()
			h.sum.number(uint64(k))
			h.chunk(chunk.Cap(), chunk.Handles(), changed, chunk.Marks(), chunk.Flagged)
			for i, id := range t.Components() {
				switch w := x.components[id]; {
				case w.layout != nil:
					h.sum.number(uint64(written[i]))
					h.plain(w.layout, chunk.Bytes(i))
				case len(chunk.Handles()) <= rowsOften || (at-uint64(c))%seldom == 0:
					h.rows(written[i], chunk.Cells(i))
				}
			}
		}
	}
}
