package state

import (
	"slices"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

func init() {
	extend.HashLater = func(w, codecs any, has func(component int) bool) (extend.Hashing, error) {
		return hashLater(w.(*world.World), codecs.(*Codecs), has)
	}
}

// later is the hash of a state whose shards are hashed after the world has gone on, from an
// image of them: their slots, the entity of each row, and the components that the image has.
//
// Ownership: any goroutine, one at a time.
type later struct {
	h      *Hasher
	has    []bool   // by component: it is hashed later
	sums   []uint64 // of all sections in order
	shards []laterShard
}

// laterShard is what an image lacks for the hash.
type laterShard struct {
	at             int      // its first section
	spare          [][]byte // by table, as Table.AppendSpare appends it
	marks, changes []byte
}

func hashLater(w *world.World, codecs *Codecs, has func(component int) bool) (*later, error) {
	l := &later{h: NewHasher(w, codecs)}
	for id := range engine.Of(w).Survey().Components() {
		l.has = append(l.has, has(id))
	}
	err := l.h.sections("snapshot.Capture", l, func(int, string, string) { l.sums = append(l.sums, l.h.sum.Sum64()) })
	return l, err
}

// note keeps what the hash needs of a shard besides its image.
func (l *later) note(s *store.Shard) {
	x := laterShard{at: len(l.sums), marks: s.AppendMarks(nil), changes: s.AppendChanges(nil)}
	for _, t := range s.Tables() {
		x.spare = append(x.spare, t.AppendSpare(nil))
	}
	l.shards = append(l.shards, x)
}

// Hash hashes the rest.
func (l *later) Hash(image func(shard int) *store.Image) uint64 {
	h := l.h
	for i := range l.shards {
		from, to := image(i), &l.shards[i]
		sums := l.sums[to.at:]
		section := func(k int, f func()) {
			h.sum.Reset()
			f()
			sums[k] = h.sum.Sum64()
		}
		section(0, func() { h.slots(from.Slots, from.Free) })
		section(1, func() {
			for k := range from.Tables {
				t := &from.Tables[k]
				h.table(t.Components, to.spare[k], len(t.Chunks))
				for n := range t.Chunks {
					c := &t.Chunks[n]
					h.chunk(c.Cap, c.Handles, c.Changed, c.Marks, func(flag int) []uint64 { return c.Flags[flag] })
				}
			}
			h.sum.bytes(to.marks)
			h.changes(to.changes)
		})
		for id, has := range l.has {
			if has {
				section(2+id, func() { l.component(from, id) })
			}
		}
	}
	h.total.Reset()
	for _, sum := range l.sums {
		h.total.number(sum)
	}
	return h.total.Sum64()
}

func (l *later) component(from *store.Image, id int) {
	for k := range from.Tables {
		t := &from.Tables[k]
		at := slices.Index(t.Components, id)
		if at < 0 {
			continue
		}
		for n := range t.Chunks {
			if c := &t.Chunks[n]; c.Rows > 0 {
				l.h.rows(c.Written[at], c.Columns[at])
			}
		}
	}
}
