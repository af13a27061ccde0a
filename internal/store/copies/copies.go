// Package copies copies the rows that the frames of a world show: it finds which must be copied for
// one more frame, and memory for them. What a frame is to its readers is store.Frame.
package copies

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
)

// copied is the newest copy of some rows of a chunk: one column, or the handles. A frame shares it
// if the rows have not changed since.
//
// Ownership: as for Frames.
type copied struct {
	rows mem.Address // nil for none
	at   uint64      // the tick in progress after the refresh in which it was made
	made uint64      // the number of the frame for which it was made
}

// kept has the copies of a chunk.
//
// Ownership: as for Frames.
type kept struct {
	ids     []int // of the components of the chunk's table
	cap     int   // rows of each copy
	handles copied
	columns []copied // by position in ids
}

// at returns the newest copy of the i-th component or, at -1, of the handles.
func (k *kept) at(i int) *copied {
	if i < 0 {
		return &k.handles
	}
	return &k.columns[i]
}

// copyJob is a run of rows to copy for a frame: a column of a chunk or, at -1, its handles.
//
// Ownership: as for Frames.
type copyJob struct {
	from, to *store.Chunk // the world's, the frame's
	kept     *kept        // of from
	at       int
}

// copied returns the entry for the copy that the job makes.
func (c *copyJob) copied() *copied { return c.kept.at(c.at) }

// key says which buffers the job can copy into.
func (c *copyJob) key() poolKey {
	if c.at < 0 {
		return poolKey{handleColumn, c.kept.cap}
	}
	return poolKey{c.kept.ids[c.at], c.kept.cap}
}

// handleColumn stands for the handles, in place of a component.
const handleColumn = store.ComponentsMax

var handleType = mem.TypeOf[handle.Handle]()

// Frames makes the frames of a world.
//
//	chunk ── kept ──▶ buffer ◀── frame 7          written since frame 7: the next frame
//	                         ◀── frame 8          copies into another buffer
//
// A frame copies the rows that were handed out for writing, added or replaced since they were
// copied last. It shares the other copies with the frames before it. A buffer that was replaced is
// used again when no frame that can see it is held. Which rows exist is never shared: each frame
// has the number of rows of the chunk.
//
// Ownership: the coordinator, in a refresh or on an idle world. In steps that run in parallel, each
// goroutine works on one shard, or on one part of the jobs.
type Frames struct {
	BytesMax uint64 // limit for all buffers
	Bytes    uint64 // of all existing buffers
	space    *store.Space
	shards   []*store.Shard
	kept     []*kept // by number of the chunk; nil for none
	memory   mem.Memory
	number   uint64 // of the newest frame
	now      uint64 // the tick in progress
	trimmed  uint64 // the value of number when pools were trimmed last
	pools    map[poolKey]*pool
	replaced []replaced
	held     []uint64    // the numbers of the frames that are held
	indexed  uint64      // the number of the frame that an index is made from, or 0
	lost     uint64      // the number of the newest frame that is not held but may still be read
	found    [][]copyJob // by shard
	jobs     []copyJob   // all of them
	ends     []int       // of the parts of jobs
}

// poolKey says which buffers are interchangeable.
type poolKey struct{ component, rows int }

// pool has the buffers that no frame uses.
type pool struct {
	free []mem.Address
	low  int // the lowest number of free buffers since the last trim
}

// replaced is a buffer that the frames number made to until-1 may see.
type replaced struct {
	poolKey
	rows        mem.Address
	made, until uint64
}

// trimEvery is the number of frames after which buffers that none of them needed are given back.
const trimEvery = 64

// New prepares to make frames of a world.
func New(space *store.Space, shards []*store.Shard, bytesMax uint64) *Frames {
	return &Frames{BytesMax: bytesMax, space: space, shards: shards, pools: map[poolKey]*pool{}, found: make([][]copyJob, len(shards))}
}

// Begin begins a frame of some components, in a tick. old is an empty frame whose memory is used
// again, or nil. held has the numbers of the frames that are held. indexed is the number of the one
// whose handles are still needed, or 0. Frames with numbers up to lost may still be read although
// they are not held: their buffers are left to the collector and not used again. After Begin come
// Walk for each shard, Plan, Copy for each part, and End, or Drop if the frame is not wanted after
// all.
func (f *Frames) Begin(old *store.Frame, components *store.Set, tick uint64, held []uint64, indexed, lost uint64) *store.Frame {
	f.held, f.indexed, f.lost, f.now = append(f.held[:0], held...), indexed, lost, tick
	x := old
	if x == nil {
		x = store.NewFrame(f.space, len(f.shards))
	}
	if n := x.Begin(f.number+1, f.space, components); n > len(f.kept) {
		f.kept = append(f.kept, make([]*kept, n-len(f.kept))...)
	}
	f.reclaim()
	f.number++
	return x
}

// Walk finds the rows of a shard that the frame has, and which of them must be copied. In a
// capture, the worker of the shard calls it; the shards of a world are walked at the same time.
func (f *Frames) Walk(x *store.Frame, i int, components *store.Set) {
	jobs := f.found[i][:0]
	x.Follow(i, f.shards[i], func(to, from *store.Chunk) {
		ids := from.Table().Components()
		k := f.kept[from.Number()]
		if k == nil {
			k = &kept{ids: ids, cap: from.Cap(), columns: make([]copied, len(ids))}
			f.kept[from.Number()] = k
		}
		changed, written := from.Stamps()
		share := func(at int, stamp uint32) {
			if of := k.at(at); f.good(of, stamp) {
				to.Enter(at, of.rows)
			} else {
				jobs = append(jobs, copyJob{from, to, k, at})
			}
		}
		share(-1, changed)
		for at, id := range ids {
			if components.Has(id) {
				share(at, f.younger(changed, written[at]))
			}
		}
	})
	f.found[i] = jobs
}

// age is how many ticks a stamp is old.
func (f *Frames) age(stamp uint32) uint32 { return uint32(f.now) - stamp }

// younger returns the stamp of the later tick.
func (f *Frames) younger(a, b uint32) uint32 {
	if f.age(a) < f.age(b) {
		return a
	}
	return b
}

// good reports whether a copy is of rows that have not changed since. A stamp of the tick in
// progress when the copy was made does not count as good: the rows may have been written after it.
func (f *Frames) good(k *copied, stamp uint32) bool {
	return k.rows != nil && uint64(f.age(stamp)) > f.now-k.at
}

// Plan finds buffers for the rows that must be copied. It returns the number of parts of the
// copying, and the bytes. If the buffers would take more than BytesMax it returns false, and the
// caller must Drop the frame. Coordinator only.
func (f *Frames) Plan() (parts, bytes int, ok bool) {
	f.jobs, f.ends = f.jobs[:0], f.ends[:0]
	begun := 0
	for _, found := range f.found {
		for _, j := range found {
			rows, fits := f.buffer(j)
			if !fits {
				return 0, 0, false
			}
			k := j.copied()
			*k = copied{rows, f.now, f.number}
			j.to.Enter(j.at, rows)
			f.jobs = append(f.jobs, j)
			bytes += len(j.from.Handles()) * int(f.size(j.key().component))
			if bytes-begun >= partBytes {
				f.ends, begun = append(f.ends, len(f.jobs)), bytes
			}
		}
	}
	if n := len(f.ends); len(f.jobs) > 0 && (n == 0 || f.ends[n-1] < len(f.jobs)) {
		f.ends = append(f.ends, len(f.jobs))
	}
	return len(f.ends), bytes, true
}

// partBytes is about how much one part of the copying copies.
const partBytes = 256 << 10

// Copy copies one part. Any worker calls it; the parts are copied at the same time. It sets
// component to the component of the rows that it works on, to name it if the user's function
// panics.
func (f *Frames) Copy(part int, component *int) {
	from := 0
	if part > 0 {
		from = f.ends[part-1]
	}
	for _, j := range f.jobs[from:f.ends[part]] {
		if j.at >= 0 {
			*component = j.key().component
		}
		j.from.CopyRows(j.at, j.copied().rows)
	}
}

// End ends a frame: it forgets the chunks that were copied, so that they can be given back.
func (f *Frames) End() {
	clear(f.jobs)
	for _, found := range f.found {
		clear(found)
	}
}

// Drop gives up a frame that could not be completed, and the copies that were made for it.
func (f *Frames) Drop(x *store.Frame) {
	x.Empty()
	for _, j := range f.jobs {
		f.release(j.key(), j.copied().rows, f.number)
		*j.copied() = copied{}
	}
	f.End()
	f.jobs = f.jobs[:0]
}

// buffer returns where a job copies to: the buffer of the last time, if no frame sees that, or
// another. It returns false, without taking a buffer, if the buffers would take more than BytesMax.
func (f *Frames) buffer(j copyJob) (mem.Address, bool) {
	key, k := j.key(), j.copied()
	if k.rows != nil {
		switch {
		case f.seen(key.component, k.made, f.number):
			f.replaced = append(f.replaced, replaced{key, k.rows, k.made, f.number})
		case k.made > f.lost:
			return k.rows, true
		default:
			f.release(key, k.rows, k.made)
		}
		*k = copied{}
	}
	p := f.pools[key]
	if p != nil && len(p.free) > 0 {
		last := len(p.free) - 1
		rows := p.free[last]
		p.free[last], p.free = nil, p.free[:last]
		p.low = min(p.low, last)
		return rows, true
	}
	bytes := f.bytes(key)
	if f.Bytes+bytes > f.BytesMax {
		return nil, false
	}
	f.Bytes += bytes
	if key.component == handleColumn {
		return f.memory.Reserve(handleType, key.rows), true
	}
	return f.memory.Reserve(f.space.TypeOf(key.component), key.rows), true
}

// bytes is the size of a buffer.
func (f *Frames) bytes(key poolKey) uint64 { return uint64(key.rows) * uint64(f.size(key.component)) }

// size is the size of a row of a component, or of a handle.
func (f *Frames) size(component int) uintptr {
	if component == handleColumn {
		return handleType.Size
	}
	return f.space.TypeOf(component).Size
}

// release makes a buffer free, or leaves it to the collector.
func (f *Frames) release(key poolKey, rows mem.Address, made uint64) {
	if made <= f.lost {
		f.Bytes -= f.bytes(key)
		return
	}
	p := f.pools[key]
	if p == nil {
		p = new(pool)
		f.pools[key] = p
	}
	p.free = append(p.free, rows)
}

// seen reports whether one of the frames number made to until-1 is held.
func (f *Frames) seen(component int, made, until uint64) bool {
	for _, n := range f.held {
		if made <= n && n < until {
			return true
		}
	}
	return component == handleColumn && made <= f.indexed && f.indexed < until
}

// reclaim frees the buffers that no held frame sees. Every trimEvery frames it gives back those
// that were not needed for a while.
func (f *Frames) reclaim() {
	for _, number := range f.space.TakeDropped() {
		if k := f.kept[number]; k != nil {
			f.replace(poolKey{handleColumn, k.cap}, k.handles)
			for at, c := range k.columns {
				f.replace(poolKey{k.ids[at], k.cap}, c)
			}
			f.kept[number] = nil
		}
	}
	f.replaced = slices.DeleteFunc(f.replaced, func(r replaced) bool {
		free := !f.seen(r.component, r.made, r.until)
		if free {
			f.release(r.poolKey, r.rows, r.made)
		}
		return free
	})
	if f.number-f.trimmed < trimEvery {
		return
	}
	f.trimmed = f.number
	for key, p := range f.pools {
		n := len(p.free) - p.low
		clear(p.free[n:])
		p.free = p.free[:n]
		f.Bytes -= uint64(p.low) * f.bytes(key)
		if p.low = n; n == 0 {
			delete(f.pools, key)
		}
	}
}

// replace notes that no later frame will see a copy.
func (f *Frames) replace(key poolKey, c copied) {
	if c.rows != nil {
		f.replaced = append(f.replaced, replaced{key, c.rows, c.made, f.number + 1})
	}
}

// Forget gives all copies and buffers back. Frames that are held keep theirs.
func (f *Frames) Forget() {
	clear(f.kept)
	clear(f.pools)
	f.replaced, f.Bytes = nil, 0
}
