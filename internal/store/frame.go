package store

import (
	"bytes"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Frame has the rows of all shards as they were at a refresh. Any number of goroutines may read
// Space and Shards, like those of a world. Nothing is ever stored in them.
//
// Their chunks have the numbers, and so their atoms the locations, of the world at that time. The
// rows are in buffers, which frames share: see package copies.
//
// Invariants: tables are in the order of those of the world, with the same positions. It has only
// chunks with rows, and only the columns that were asked for.
//
// Ownership: who makes it, package copies, during the capture; after that nobody writes.
type Frame struct {
	Space  *Space
	Shards []*Shard
	Number uint64 // of the capture, from 1
	homes  int    // how many the world has
}

// LeaveColumns removes all rows but the handles from a frame that nobody uses any more. Whoever
// makes frames calls it.
func (f *Frame) LeaveColumns() {
	for _, s := range f.Shards {
		for _, t := range s.tables {
			for _, c := range t.chunks {
				for _, col := range t.columns {
					col.leave(c.number())
				}
			}
		}
	}
}

// Empty removes the handles and the chunks as well: the frame keeps no buffer in memory.
func (f *Frame) Empty() {
	f.LeaveColumns()
	for _, s := range f.Shards {
		for _, t := range s.tables {
			for _, c := range t.chunks {
				(*f.Space.chunks.Load())[c.number()], c.handles = chunkEntry{}, nil
			}
			t.chunks, t.cur = t.chunks[:0], noChunk
		}
	}
}

// NewFrame makes a frame of a world with so many shards. It has no rows. The coordinator calls it
// in a capture.
func NewFrame(of *Space, shards int) *Frame {
	f := &Frame{Space: &Space{Growth: of.Growth}, Shards: make([]*Shard, shards)}
	for i := range f.Shards {
		f.Shards[i] = &Shard{space: f.Space, id: i}
	}
	return f
}

// Begin makes an empty frame the one with a number, for some components. Its lists get as long as
// those of the world, which is the result. Components that the frame will not have share one list.
// The coordinator calls it at the beginning of a capture.
func (f *Frame) Begin(number uint64, of *Space, components *Set) (length int) {
	f.Number, f.Space.now, f.homes = number, of.now, of.Homes()
	n := len(*of.chunks.Load())
	if list := f.Space.chunks.Load(); list == nil || len(*list) < n {
		f.Space.chunks.Store(new(make([]chunkEntry, n)))
		f.Space.noRuns = newRuns(n)
	}
	for i, col := range of.Columns {
		if i == len(f.Space.Columns) {
			f.Space.Columns = append(f.Space.Columns, col.frozen(f.Space, of.Shards()))
		}
		f.Space.Columns[i].reach(f.Space.noRuns, components.Has(i), col)
	}
	return n
}

// Follow makes the tables of shard number i those of the world's shard, with the chunks that have
// rows. It calls each with every such chunk of the frame, which then needs its rows by Enter, and
// the one of the world. In a capture, the worker of the shard calls it.
func (f *Frame) Follow(i int, shard *Shard, each func(to, from *Chunk)) {
	to := f.Shards[i]
	to.tables = to.tables[:min(len(to.tables), len(shard.tables))]
	for k, t := range shard.tables {
		if k == len(to.tables) {
			to.tables = append(to.tables, &Table{shard: to})
		}
		of := to.tables[k]
		of.set, of.ids, of.columns = t.set, t.ids, of.columns[:0]
		for _, id := range t.ids {
			of.columns = append(of.columns, f.Space.Columns[id])
		}
		of.follow(t, each)
	}
}

// follow makes a frame's table the same as a world's: it takes over marks, flags and stamps of each
// chunk with rows. Only the worker of the shard calls it, in a capture.
func (t *Table) follow(from *Table, each func(to, from *Chunk)) {
	chunks := from.chunks[:from.used()]
	spare := t.chunks[:cap(t.chunks)]
	t.chunks, t.cur = t.chunks[:0], noChunk
	list := *t.shard.space.chunks.Load()
	for i, c := range chunks {
		var x *Chunk
		if i < len(spare) {
			x = spare[i]
		}
		if x == nil {
			x = new(Chunk)
		}
		t.chunks = append(t.chunks, x)
		t.cur = x
		x.table, x.base, x.n, x.order, x.first, x.changed = t, c.base, c.n, i, c.first, c.changed
		x.written = append(x.written[:0], c.written...)
		x.copyBits(c)
		list[c.number()] = chunkEntry{x, t.shard.id}
		c.framed = true
		each(x, c)
	}
}

// Enter gives a chunk of a frame the rows of its i-th component or, at -1, the handles. They must
// stay as they are.
func (c *Chunk) Enter(i int, rows mem.Address) {
	if i < 0 {
		c.handles = mem.Slice[handle.Handle](rows, c.n)
	} else {
		c.table.columns[i].enter(c.number(), rows, c.n)
	}
}

// CopyRows copies the rows of the i-th component or, at -1, the handles to memory for a frame. Any
// worker of a capture calls it; each run of rows is copied by one.
func (c *Chunk) CopyRows(i int, to mem.Address) {
	if i < 0 {
		copy(mem.Slice[handle.Handle](to, c.n), c.handles[:c.n])
	} else {
		c.table.columns[i].copyOut(to, c.number(), c.n)
	}
}

// copyBits copies the marks and flags of a chunk.
func (c *Chunk) copyBits(from *Chunk) {
	if c.marked = from.marked; c.marked > 0 {
		c.marks = append(c.marks[:0], from.marks...)
	}
	if from.flags.none() {
		if c.flags != nil {
			*c.flags = flagSets{}
		}
		return
	}
	if c.flags == nil {
		c.flags = new(flagSets)
	}
	c.flags.n, c.flags.used = from.flags.n, from.flags.used
	for i, set := range from.flags.sets {
		c.flags.sets[i] = append(c.flags.sets[i][:0], set...)
		if set == nil {
			c.flags.sets[i] = nil
		}
	}
}

// Index makes the index of the frame's handles, from that of an older or younger frame, or from
// nothing. Its cost grows with the rows of the chunks in which handles came or went. Any one
// goroutine may call it, since neither frame changes.
func (f *Frame) Index(from *Frame, index *slots.Index) *slots.Index {
	if index == nil {
		from = &Frame{Space: &Space{}}
	}
	next := slots.NewIndex(f.homes, index)
	have := from.chunkList()
	for number, e := range have {
		if e.chunk == nil {
			continue
		}
		if same := f.chunkAt(number); !sameRows(e.chunk, same) {
			for row, h := range e.chunk.handles {
				if same == nil || row >= same.n || same.handles[row] != h {
					next.Leave(h)
				}
			}
		}
	}
	for number, e := range f.chunkList() {
		if e.chunk == nil {
			continue
		}
		var was *Chunk
		if number < len(have) {
			was = have[number].chunk
		}
		if sameRows(e.chunk, was) {
			continue
		}
		for row, h := range e.chunk.handles {
			if was == nil || row >= was.n || was.handles[row] != h {
				next.Enter(h, e.chunk.base+slots.Loc(row))
			}
		}
	}
	return next.Complete()
}

// chunkList returns the frame's chunks by number; missing ones are nil.
func (f *Frame) chunkList() []chunkEntry {
	if list := f.Space.chunks.Load(); list != nil {
		return *list
	}
	return nil
}

// chunkAt returns the frame's chunk with a number, or nil.
func (f *Frame) chunkAt(number int) *Chunk {
	if list := f.chunkList(); number < len(list) {
		return list[number].chunk
	}
	return nil
}

// sameRows reports whether two chunks of frames share their handles.
func sameRows(a, b *Chunk) bool {
	return a != nil && b != nil && a.n == b.n && mem.AddressOf(a.handles) == mem.AddressOf(b.handles)
}

// frozen makes a frame's column for values of the same type. It shares its buffers with other
// frames, and has no strips and no stamps.
func (c *Column) frozen(space *Space, world int) *Column {
	x := &Column{of: c.of, clone: c.clone, world: uint32(world), now: &space.now}
	runs := newRuns(1)
	x.publish(&columnDir{own: runs, all: runs})
	return x
}

// reach makes the lists of a frame's column as long as runs, which has no rows and is shared. If
// the column will have rows, it gets lists of its own. of is the world's column.
func (c *Column) reach(runs []Run, rows bool, of *Column) {
	c.clone = of.clone
	d := c.dir.Load()
	switch {
	case len(d.rows) >= len(runs):
		return
	case d.rows == nil && !rows:
		c.publish(&columnDir{own: runs, all: runs})
		return
	}
	next := &columnDir{rows: make([]rowList, len(runs)), all: newRuns(len(runs))}
	next.own = next.all
	c.publish(next)
}

// enter gives a chunk its rows, in a frame's column.
func (c *Column) enter(number int, rows mem.Address, n int) {
	d := c.dir.Load()
	d.rows[number] = listOf(rows, n)
	low := slots.Loc(number)<<slots.RowBits + slots.Loc(n) - slots.RowsMax
	d.all[number] = Run{First: rows, Low: low, Owner: c.world + 1}
}

// leave takes a chunk's rows away, in a frame's column.
func (c *Column) leave(number int) {
	if d := c.dir.Load(); d.rows != nil {
		d.rows[number], d.all[number] = rowList{}, Run{}
	}
}

// copyOut copies the first rows of a chunk to a buffer.
func (c *Column) copyOut(to mem.Address, number, n int) { c.copyRows(to, c.row(number, 0), n) }

// Diff is the difference between two frames of one world.
//
// Ownership: its caller.
type Diff struct {
	Created   []handle.Handle
	Destroyed []handle.Handle
	Retyped   []handle.Handle
	Changed   [ComponentsMax][]handle.Handle // by component
}

// Diff finds the differences from an earlier frame. was and is find where the entities are in the
// frames. It looks only at the rows of chunks whose copies the frames do not share. Any one
// goroutine that holds both frames may call it.
func (f *Frame) Diff(d *Diff, before *Frame, components *Set, was, is *slots.Lookup) {
	for _, s := range f.Shards {
		for _, t := range s.tables {
			for _, c := range t.chunks {
				old := before.chunkAt(c.number())
				if sameRows(c, old) && old.table.set == t.set {
					d.columns(c, old, components)
				} else {
					d.rows(c, before, components, was)
				}
			}
		}
	}
	for _, s := range before.Shards {
		for _, t := range s.tables {
			for _, c := range t.chunks {
				if sameRows(c, f.chunkAt(c.number())) {
					continue
				}
				for _, h := range c.handles {
					if !is.Alive(h) {
						d.Destroyed = append(d.Destroyed, h)
					}
				}
			}
		}
	}
}

// columns compares two chunks with the same entities and components. Both frames have the
// components that are asked for: other columns have no rows.
func (d *Diff) columns(c, old *Chunk, components *Set) {
	for at, id := range c.table.ids {
		now, before := c.table.columns[at], old.table.columns[at]
		if !components.Has(id) || now.address(c.number()) == before.address(c.number()) {
			continue
		}
		for row, h := range c.handles {
			if l := c.base + slots.Loc(row); !now.same(l, before, l) {
				d.Changed[id] = append(d.Changed[id], h)
			}
		}
	}
}

// rows compares each entity of a chunk with its former state.
func (d *Diff) rows(c *Chunk, before *Frame, components *Set, was *slots.Lookup) {
	for row, h := range c.handles {
		l := was.Locate(h)
		if l == 0 {
			d.Created = append(d.Created, h)
			continue
		}
		old := before.Space.chunk(l).table
		if old.set != c.table.set {
			d.Retyped = append(d.Retyped, h)
		}
		for at, id := range c.table.ids {
			if components.Has(id) && old.set.Has(id) && !c.table.columns[at].same(c.base+slots.Loc(row), old.columns[old.position(id)], l) {
				d.Changed[id] = append(d.Changed[id], h)
			}
		}
	}
}

// address returns the address of a chunk's first row, in a frame's column.
func (c *Column) address(number int) mem.Address { return c.dir.Load().rows[number].first }

// same reports whether a row is known to hold the same value as one in another frame's column.
func (c *Column) same(l slots.Loc, in *Column, at slots.Loc) bool {
	a, b := c.At(l), in.At(at)
	switch {
	case a == nil || b == nil:
		return a == b
	case c.of.Plain:
		return bytes.Equal(c.of.Bytes(a, 1), c.of.Bytes(b, 1))
	case c.clone == nil && c.of.Of.Comparable():
		return c.of.Value(a) == c.of.Value(b)
	}
	return false
}
