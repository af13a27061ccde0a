package near

import "github.com/atoll-sim/atoll/internal/drive"

// version is an index as readers see it, from one update to the next, or as a frame has it.
//
// Invariants: nothing writes to it while it is the current one or frames have it.
type version struct {
	grid   grid
	base   *layer
	delta  layer
	dead   []uint64 // the entries of base that are not valid; empty if there are none
	copied bool     // frames have it, or may have it again
	reader Reader   // of frames
}

// Part does nothing: a version is not copied in parts.
func (v *version) Part(int) {}

// Bytes returns the memory that the version takes. Frames share that of base.
func (v *version) Bytes() uint64 {
	return v.delta.bytes() + 8*uint64(cap(v.dead)) + v.base.bytes()/uint64(max(1, v.base.copies))
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

// Changed reports whether the newest version is not one that frames have.
func (a adapter) Changed() bool { return a.current != a.upkeep.newest }

// CopySize returns how many bytes the newest version takes.
func (a adapter) CopySize() uint64 { return a.current.Bytes() }

// Copy gives frames the newest version, and takes back the memory of one that they no longer need.
func (a adapter) Copy(old drive.Copy) (c drive.Copy, parts, bytes int) {
	if was, ok := old.(*version); ok && was != a.current {
		was.copied = false
		was.base.copies--
		a.upkeep.recycle(was)
	}
	if a.current.copied { // an unknown frame may have it: its memory is never reused
		a.upkeep.rebuild(drive.Alone)
	}
	a.current.copied = true
	a.current.base.copies++
	a.upkeep.newest = a.current
	return a.current, 0, 0
}

// Forget forgets the versions that frames have, which are left to the collector.
func (a adapter) Forget() { a.upkeep.newest = nil }
