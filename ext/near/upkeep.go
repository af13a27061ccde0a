package near

import (
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/store"
)

// upkeep keeps an index up to date.
//
// Ownership: as for extend.Derived.
type upkeep struct {
	builder
	valid  bool    // the last update was completed
	seen   uint64  // the tick of the last update
	walks  uint32  // how many times all chunks were looked at
	chunks []chunk // by number
	all    []source
	dirty  []source
	moved  []source
	rows   int // in all chunks
	hot    int // in those that have changed
	shrunk bool
	where  []uint32 // by row of base: the entry of base that it became, or none
	cells  []uint32 // by row of the delta: its cell, while the delta is made
	tick   uint64

	table    func(*store.Table) // bound once
	diffPart func(int)
	pool
}

// chunk is what an index knows of a chunk of the world. It has the chunk's number.
type chunk struct {
	walk  uint32 // the last walk that has seen it
	table *store.Table
	n     int      // rows, when it was looked at
	out   []uint64 // rows that did not match, if flags count
	where []uint32 // the entry of base that each row became, or none
	rows  []uint32 // those that are not as in base
	dead  []uint32 // the entries of base that their rows no longer match
}

func (u *upkeep) init(x *Index) {
	u.builder.Index = x
	u.countPart, u.putPart = u.count, u.put
	u.table, u.diffPart = u.look, u.diff
}

// update brings the index up to date.
func (u *upkeep) update(tick uint64, step extend.Step) {
	whole := u.current == nil || !u.valid
	u.valid, u.tick = false, tick
	u.walk()
	switch {
	case whole || u.hot > u.rows/4:
		u.rebuild(step)
	case len(u.dirty) > 0 || u.shrunk:
		u.patch(step)
	}
	u.seen, u.valid = tick, true
}

// walk looks at all chunks: which exist, and in which something may have changed.
func (u *upkeep) walk() {
	u.walks++
	u.all, u.dirty = u.all[:0], u.dirty[:0]
	u.rows, u.hot, u.shrunk = 0, 0, false
	u.filter = (*engine.Query)(u.query).Tables(u.table)
	for i := range u.chunks {
		if c := &u.chunks[i]; c.walk != u.walks && c.n > 0 {
			u.shrunk = true
			c.n, c.table, c.rows, c.dead = 0, nil, c.rows[:0], c.dead[:0]
			c.markDead(0)
		}
	}
}

// look looks at the chunks of a table.
func (u *upkeep) look(t *store.Table) {
	column := u.columnIn(t)
	for _, of := range t.Chunks() {
		n := len(of.Handles())
		if n == 0 {
			return
		}
		number := of.Number()
		for number >= len(u.chunks) {
			u.chunks = append(u.chunks, chunk{})
		}
		c := &u.chunks[number]
		changed, written := of.Stamps()
		dirty := c.n != n || c.table != t || u.young(changed) || u.young(written[column])
		if !u.filter.All() {
			dirty = c.reflag(of, &u.filter, n) || dirty
		}
		c.walk, c.table, c.n = u.walks, t, n
		s := source{chunk: of, column: column, number: number, n: n}
		u.all = append(u.all, s)
		u.rows += n
		if dirty {
			u.dirty = append(u.dirty, s)
			u.hot += n
		}
	}
}

// young reports whether a stamp is as new as the last update. A chunk stamped with the tick of that
// update may have been written after it.
func (u *upkeep) young(stamp uint32) bool { return uint64(uint32(u.tick)-stamp) <= u.tick-u.seen }

// reflag notes which rows match, and reports whether they differ from those noted before.
func (c *chunk) reflag(of *store.Chunk, f *store.Filter, n int) (changed bool) {
	words := (n + 63) / 64
	if changed = len(c.out) != words; changed {
		c.out = sized(c.out, words)
	}
	for i := range c.out {
		if w := of.Unmatched(f, i); w != c.out[i] {
			c.out[i], changed = w, true
		}
	}
	return changed
}

// markDead adds to dead the entries of base that rows from n on became.
func (c *chunk) markDead(n int) {
	for _, at := range c.where[min(n, len(c.where)):] {
		if at != none {
			c.dead = append(c.dead, at)
		}
	}
}

// rebuild makes base of all rows. It reuses the memory of the present one unless frames have that:
// nobody reads it now, and it is in the cache.
func (u *upkeep) rebuild(step extend.Step) {
	u.trim()
	for i := range u.chunks {
		c := &u.chunks[i]
		c.where, c.rows, c.dead = nil, c.rows[:0], c.dead[:0]
	}
	if was := u.current; was != nil && !was.copied {
		u.current = nil
		u.recycle(was)
	}
	base := u.takeBase()
	u.where = sized(u.where, u.rows)
	u.build(base, u.all, u.where, step)
	for i := range u.all {
		s := &u.all[i]
		u.chunks[s.number].where = u.where[s.offset : s.offset+s.n]
	}
	u.publish(u.take(base))
}

// patch makes the delta of the rows that are not as in base. It rebuilds base instead if many rows
// differ but few of them change now, or if many entries of base are gone.
func (u *upkeep) patch(step extend.Step) {
	u.divide(u.dirty)
	step(len(u.ends), u.hot, u.diffPart)
	moved, dead, late := 0, 0, 0
	u.moved = u.moved[:0]
	for i := range u.dirty {
		late -= len(u.chunks[u.dirty[i].number].rows)
	}
	for _, s := range u.all {
		c := &u.chunks[s.number]
		if n := len(c.rows); n > 0 {
			moved += n
			if s.rows = c.rows; n == s.n {
				s.rows = nil
			}
			s.n = n
			u.moved = append(u.moved, s)
		}
	}
	for i := range u.chunks {
		dead += len(u.chunks[i].dead)
	}
	if late += moved; max(late, dead-u.hot) > u.rows/16+partRows { // a row that changes makes mostly one entry dead
		u.rebuild(step)
		return
	}
	v := u.take(u.current.base)
	v.dead = sized(v.dead, (len(v.base.entries)+63)/64)
	clear(v.dead)
	for i := range u.chunks {
		c := &u.chunks[i]
		for _, at := range c.dead {
			v.dead[at/64] |= 1 << (at % 64)
		}
	}
	if dead == 0 {
		v.dead = v.dead[:0]
	}
	u.cells = sized(u.cells, moved)
	u.build(&v.delta, u.moved, u.cells, step)
	u.publish(v)
}

// diff finds which rows of a part's chunks are not as in base.
func (u *upkeep) diff(part int) {
	points := u.parts[part].points[:64]
	sources := u.part(part)
	entries := u.current.base.entries
	for k := range sources {
		s := &sources[k]
		c := &u.chunks[s.number]
		c.rows, c.dead = c.rows[:0], c.dead[:0]
		handles := s.chunk.Handles()
		for from := 0; from < s.n; from += 64 {
			some := points[:min(64, s.n-from)]
			out := u.read(s, from, some)
			for i := range some {
				row, at := from+i, uint32(none)
				if row < len(c.where) {
					at = c.where[row]
				}
				there := out>>i&1 == 0
				if at != none {
					if there && entries[at].is(handles[row], &some[i]) {
						continue
					}
					c.dead = append(c.dead, at)
				}
				if there {
					c.rows = append(c.rows, uint32(row))
				}
			}
		}
		c.markDead(s.n)
	}
}

// pool keeps the memory of versions that nobody reads.
type pool struct {
	free   []*version
	bases  []*layer
	newest *version // of those that frames have
}

// spareMax is how many layers or versions are kept; others are left to the collector.
const spareMax = 2

// takeBase returns a layer that no version has.
func (p *pool) takeBase() *layer {
	if n := len(p.bases); n > 0 {
		l := p.bases[n-1]
		p.bases = p.bases[:n-1]
		return l
	}
	return new(layer)
}

// take returns a version with a base. Its delta and dead are empty.
func (u *upkeep) take(base *layer) *version {
	var v *version
	if n := len(u.free); n > 0 {
		v, u.free = u.free[n-1], u.free[:n-1]
	} else {
		v = new(version)
	}
	v.grid, v.base = u.grid, base
	v.reader = Reader{index: u.Index, frozen: v}
	base.users++
	v.delta.entries, v.dead = v.delta.entries[:0], v.dead[:0]
	return v
}

// publish makes a version the current one.
func (u *upkeep) publish(v *version) {
	if was := u.current; was != nil && !was.copied {
		u.recycle(was)
	}
	u.current = v
}

// recycle takes the memory of a version that nobody reads any more.
func (u *upkeep) recycle(v *version) {
	fit := u.fit(cap(v.base.entries))
	if v.base.users--; v.base.users == 0 && fit && len(u.bases) < spareMax {
		u.bases = append(u.bases, v.base)
	}
	if v.base = nil; fit && len(u.free) < spareMax {
		u.free = append(u.free, v)
	}
}

// fit reports whether memory for so many rows is worth keeping: it is not if that is far more than
// there are now.
func (u *upkeep) fit(rows int) bool { return rows <= 8*u.rows+partRows }

// trim leaves memory to the collector that is for far more rows than there are.
func (u *upkeep) trim() {
	if u.fit(cap(u.where)) {
		return
	}
	u.where, u.cells, u.bases, u.free = nil, nil, nil, nil
	for i := range u.chunks {
		c := &u.chunks[i]
		c.where, c.rows, c.dead = nil, nil, nil
	}
}
