package snapshot

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
)

// This file loads shards, and rows on several goroutines, from a file or a capture.

// shard makes the tables and chunks of a shard, by its section s with the body in c. made is called
// for each chunk with rows. The goroutine of the load calls it, or with a Captured several do, each
// for a shard. An error ends the load.
func (l *loading) shard(s *format.Section, c *extend.Cursor, i int, made func(c *store.Chunk, table, chunk int)) error {
	if s.Kind != format.ShardSection || s.Number != i {
		return format.Altered("%v is not in its place", s)
	}
	x := format.ReadShard(c)
	if err := c.End(); err != nil {
		return format.Within(s, err)
	}
	rows := int64(0)
	l.tables[i] = make([]tablePlan, len(x.Tables))
	for k := range x.Tables {
		rows += l.table(c, &l.tables[i][k], &x.Tables[k])
		l.tables[i][k].to = k
	}
	for k := range x.Changes {
		x.Changes[k].Components = l.components(c, x.Changes[k].Components)
		slices.Sort(x.Changes[k].Components)
	}
	stored := x.Stored[:0]
	for _, n := range x.Stored {
		for _, own := range l.components(c, []int{n.Component}) {
			stored = append(stored, store.StoredImage{Handle: n.Handle, Component: own})
		}
	}
	x.Stored = stored
	build := func() error {
		return inOrder(func() error { return l.merge(i, &x) }, func() error { return l.into.Shard(i, x, made) })
	}
	if l.reshards() {
		build = func() error {
			l.images[i], l.images[i].HomeImage, l.images[i].More = x, slots.HomeImage{}, nil
			return nil
		}
	}
	if err := inOrder(
		func() error { return c.Err },
		func() error { return l.mayTake(int64(s.Length), rows) },
		func() error { return l.into.Slots(i, l.shardCount, &x) },
		build,
	); err != nil {
		return format.Within(s, err)
	}
	return nil
}

// mayTake checks how much memory all rows take, after that many more bytes described them. The
// error is ErrTooLarge, and ends the load before the rows are made.
func (l *loading) mayTake(read, rows int64) error {
	if l.from != nil {
		return nil // a Captured needs no check, and is loaded by several goroutines
	}
	l.read += read
	l.rows += rows
	if most := l.bytesMax(0); l.rows > most {
		return fmt.Errorf("%w: rows take %d bytes, with BytesMax = %d", ErrTooLarge, l.rows, most)
	}
	return nil
}

// bytesMax is Options.BytesMax, or the default after that many more bytes are read.
func (l *loading) bytesMax(read int64) int64 {
	return format.BytesMax(l.o.BytesMax, l.read+read)
}

// mayList returns how much memory the lists of a section may take while it is read.
func (l *loading) mayList(s *format.Section) int64 {
	if l.from != nil {
		return 0
	}
	return max(1, l.bytesMax(int64(s.Length))-l.rows)
}

// table makes the plan of a table, and converts its image to this world's. It returns the bytes of
// its rows. An error is in the cursor.
func (l *loading) table(c *extend.Cursor, p *tablePlan, t *store.TableImage) (rows int64) {
	saved := t.Components
	own := l.components(c, saved)
	if c.Err != nil {
		return 0
	}
	t.Components = slices.Sorted(slices.Values(own))
	row := int64(8)
	for _, id := range saved {
		n := &l.names.Components[id]
		p.columns = append(p.columns, columnPlan{n, slices.Index(t.Components, n.At)})
		if n.At >= 0 {
			row += int64(n.Of.Size())
		}
	}
	rows = format.BytesOfTable
	p.filled = make([]atomic.Bool, len(t.Chunks))
	for k := range t.Chunks {
		c := &t.Chunks[k]
		written := make([]uint32, len(own))
		for i, x := range p.columns {
			if x.to >= 0 {
				written[x.to] = c.Written[i]
			}
		}
		c.Written = written
		p.filled[k].Store(c.Rows == 0)
		rows += format.BytesOfChunk + row*int64(min(c.Cap, slots.RowsMax))
	}
	return rows
}

// allFilled checks that no chunk lacks its rows. The error is ErrAltered, and ends the load.
func (l *loading) allFilled() error {
	for i, tables := range l.tables {
		for k := range tables {
			for n := range tables[k].filled {
				if !tables[k].filled[n].Load() {
					return format.Altered("chunk %d of table %d of shard %d has no rows", n, k, i)
				}
			}
		}
	}
	return nil
}

// shards loads all shards with their rows, and leaves the next section in l.s. An error ends the
// load.
func (l *loading) shards() error {
	if l.reshards() {
		l.images = make([]store.Image, l.shardCount)
	}
	if l.from != nil {
		return inOrder(l.copyShards, func() error { return l.r.Next(&l.s) })
	}
	for i := range l.shardCount {
		if err := inOrder(l.next, func() error { return l.shard(&l.s, &l.c, i, nil) }); err != nil {
			return err
		}
	}
	return inOrder(l.reshard, l.allRows, l.fillMerged)
}

// allRows loads the sections of rows on several goroutines, one for each because a codec may end
// it, and leaves the next section in l.s. It returns when they have ended. An error ends the load.
func (l *loading) allRows() error {
	type block struct {
		format.Section
		buf []byte
	}
	free, running := make(chan *block, 2*l.o.Workers), make(chan struct{}, l.o.Workers)
	for range cap(free) {
		free <- new(block)
	}
	var wrong wrong
	var all sync.WaitGroup
	defer all.Wait() // also if the source panics or ends this goroutine
	var err error
	for shard := 0; !wrong.any.Load(); {
		x := <-free
		if err = l.r.Next(&x.Section); err != nil {
			break
		}
		if x.Kind != format.RowsSection {
			l.s = x.Section
			break
		}
		if x.Number < shard || x.Number >= l.shardCount {
			err = format.Altered("%v is not in its place", &x.Section)
			break
		}
		shard = x.Number
		running <- struct{}{}
		all.Go(func() {
			defer func() {
				<-running
				free <- x
			}()
			wrong.watch(x.At, func() error { return l.someRows(&x.Section, &x.buf) })
		})
	}
	all.Wait()
	if e := wrong.first(); e != nil {
		return e
	}
	return err
}

// someRows loads a section of rows, on a goroutine of its own. An error ends the load.
func (l *loading) someRows(s *format.Section, buf *[]byte) error {
	body, err := s.Unpack(buf)
	if err != nil {
		return err
	}
	c := extend.Cursor{Rest: body}
	for len(c.Rest) > 0 && c.Err == nil {
		if err := l.chunk(&c, s.Number); err != nil {
			return format.Within(s, err)
		}
	}
	if c.Err != nil {
		return format.Within(s, c.Err)
	}
	return nil
}

// chunk loads the rows of a chunk. The goroutine of its section calls it; each chunk comes once.
func (l *loading) chunk(c *extend.Cursor, shard int) error {
	table, at := c.Int(), c.Int()
	hs := extend.WordsOf[handle.Handle](c)
	if c.Err != nil {
		return c.Err
	}
	if tables := l.tables[shard]; table >= len(tables) || at >= len(tables[table].filled) {
		return fmt.Errorf("there is no chunk %d in table %d of shard %d", at, table, shard)
	}
	p := &l.tables[shard][table]
	if p.filled[at].Swap(true) {
		return fmt.Errorf("chunk %d of table %d of shard %d has no rows, or has them twice", at, table, shard)
	}
	if p.merged != nil {
		return l.mergedRows(c, p, at, hs)
	}
	to := l.into.Chunk(shard, p.to, at)
	if err := l.into.Fill(to, hs); err != nil {
		return err
	}
	for _, x := range p.columns {
		if err := l.column(c, &x, to, 0, len(hs)); err != nil {
			return err
		}
	}
	return nil
}

// column loads n values of a column, to rows of a chunk, or passes over them if the component is
// dropped. An error names the component.
func (l *loading) column(c *extend.Cursor, x *columnPlan, to *store.Chunk, row, n int) error {
	if x.to < 0 {
		l.pass(c, x.Named, n)
	} else {
		l.values(c, x.Form, x.Form.ReadAll, to.Cells(x.to).Slice(row, n))
	}
	if c.Err != nil {
		return fmt.Errorf("component %q: %w", x.Name, c.Err)
	}
	return nil
}

// What follows skips what is dropped. Entities that had different components may have the same ones
// when some are dropped, so it also puts the rows of several tables in one.

// merge makes tables with the same components one table, in the image and in the plans of a shard.
// An error ends the load.
func (l *loading) merge(shard int, x *store.Image) error {
	if !l.drops() {
		return nil // the world refuses two tables with the same components
	}
	plans := l.tables[shard]
	groups, merged := map[string][]int{}, false
	for i := range x.Tables {
		key := fmt.Sprint(x.Tables[i].Components)
		groups[key] = append(groups[key], i)
		merged = merged || len(groups[key]) > 1
	}
	if !merged {
		return nil
	}
	var tables []store.TableImage
	for i := range x.Tables {
		switch group := groups[fmt.Sprint(x.Tables[i].Components)]; {
		case group[0] != i:
		case len(group) == 1:
			plans[i].to = len(tables)
			tables = append(tables, x.Tables[i])
		default:
			m, parts := new(mergedTable), make([]tablePart, len(group))
			for k, at := range group {
				parts[k] = tablePart{&plans[at], &x.Tables[at]}
				plans[at].to = len(tables)
			}
			rows, err := m.gather(parts)
			if err != nil {
				return err
			}
			t := m.table(parts, shard, len(tables), m.rooms(parts, rows), uint32(l.head.Tick))
			if err := m.bits(parts); err != nil {
				return err
			}
			tables = append(tables, t)
			l.merged = append(l.merged, m)
		}
	}
	return l.mergeMarks(x, plans, tables)
}

// tablePart is a table of the snapshot whose rows go to a mergedTable.
type tablePart struct {
	*tablePlan
	from *store.TableImage
}

// gather makes tables parts of the mergedTable, and says in their plans where their rows are in it. It
// returns how many they have. An error says that a chunk cannot be.
func (m *mergedTable) gather(parts []tablePart) (rows int, err error) {
	for _, p := range parts {
		p.merged = m
		for _, c := range p.from.Chunks {
			if c.Rows < 0 || c.Rows > c.Cap || c.Cap > slots.RowsMax {
				return 0, fmt.Errorf("a chunk has %d rows of %d", c.Rows, c.Cap)
			}
			p.first = append(p.first, rows)
			rows += c.Rows
		}
		p.first = append(p.first, rows)
	}
	m.handles = make([]handle.Handle, rows)
	return rows, nil
}

// room is a chunk that is to be made.
type room struct {
	rows, most int
	reserved   bool
}

// rooms returns the chunks of a table that has the room of all parts.
func (m *mergedTable) rooms(parts []tablePart, rows int) (all []room) {
	for _, p := range parts {
		for _, c := range p.from.Chunks {
			if rows == 0 && !c.Reserved {
				continue
			}
			n := min(rows, c.Cap)
			all = append(all, room{n, c.Cap, c.Reserved})
			rows -= n
		}
	}
	return all
}

// table returns the image of a table of a shard that has the next rows of the mergedTable, in chunks
// like these. A chunk has changed when the youngest of those that its rows come from has. Of stamps the
// tick is the newest.
func (m *mergedTable) table(parts []tablePart, shard, number int, rooms []room, tick uint32) (t store.TableImage) {
	now := tick + 2 // after all stamps
	younger := func(a, b uint32) uint32 {
		if now-a < now-b {
			return a
		}
		return b
	}
	t = store.TableImage{Components: parts[0].from.Components, Listed: true, Left: now + 1, Current: -1, Chunks: make([]store.ChunkImage, len(rooms))}
	for _, p := range parts {
		t.Fragmented, t.Left = t.Fragmented || p.from.Fragmented, younger(t.Left, p.from.Left)
	}
	first := 0
	if n := len(m.chunks); n > 0 {
		first = m.chunks[n-1].first + m.chunks[n-1].Rows
	}
	for i, r := range rooms {
		c := &t.Chunks[i]
		*c = store.ChunkImage{Cap: r.most, Rows: r.rows, Reserved: r.reserved, Changed: now + 1, Written: slices.Repeat([]uint32{now + 1}, len(t.Components))} // the oldest possible
		for _, p := range parts {
			from, to := 0, len(p.from.Chunks)
			if r.rows > 0 { // the first that ends behind the first row, up to the last that begins before the last
				from, _ = slices.BinarySearch(p.first[1:], first+1)
				to, _ = slices.BinarySearch(p.first[:to], first+r.rows)
			}
			for k := from; k < to; k++ {
				c.Changed = younger(c.Changed, p.from.Chunks[k].Changed)
				for w, stamp := range p.from.Chunks[k].Written {
					c.Written[w] = younger(c.Written[w], stamp)
				}
			}
		}
		if r.rows > 0 {
			t.Current = i
		}
		m.chunks = append(m.chunks, mergedChunk{c, shard, format.Place{Table: number, Chunk: i}, first})
		first += r.rows
	}
	return t
}

// bits copies the marks and flags of all rows, once all chunks are there. An error says that there are
// some of other rows.
func (m *mergedTable) bits(parts []tablePart) (err error) {
	for _, p := range parts {
		for i := range p.from.Chunks {
			c, first := &p.from.Chunks[i], p.first[i]
			err = errors.Join(err, m.copyBits(func(to *store.ChunkImage) *[]uint64 { return &to.Marks }, c.Marks, first, c.Rows))
			for f := range c.Flags {
				err = errors.Join(err, m.copyBits(func(to *store.ChunkImage) *[]uint64 { return &to.Flags[f] }, c.Flags[f], first, c.Rows))
			}
		}
	}
	return err
}

// copyBits copies a set of the n rows of a chunk that begin at a row of the table. An error says
// that the set has other rows.
func (m *mergedTable) copyBits(set func(to *store.ChunkImage) *[]uint64, from []uint64, first, n int) error {
	for i, w := range from {
		for ; w != 0; w &= w - 1 {
			row := i*64 + bits.TrailingZeros64(w)
			if row >= n {
				return fmt.Errorf("a mark or flag is of row %d, of %d", row, n)
			}
			to := m.chunkOf(first + row)
			words, at := set(m.chunks[to].ChunkImage), first+row-m.chunks[to].first
			if need := at/64 + 1 - len(*words); need > 0 {
				*words = append(*words, make([]uint64, need)...)
			}
			(*words)[at/64] |= 1 << (at % 64)
		}
	}
	return nil
}

// mergeMarks gives the image its tables, and updates the order of marks to them. An error says that
// there is no such table.
func (l *loading) mergeMarks(x *store.Image, plans []tablePlan, tables []store.TableImage) error {
	var marked []store.MarkedTable
	for _, m := range x.Marked {
		if m.Table >= len(plans) {
			return fmt.Errorf("table %d has marked rows, of %d", m.Table, len(plans))
		}
		p := &plans[m.Table]
		m.Table = p.to
		if p.merged != nil {
			if slices.ContainsFunc(marked, func(m store.MarkedTable) bool { return m.Table == p.to }) {
				continue
			}
			m.Chunks = nil
			for _, c := range p.merged.chunks {
				if len(c.Marks) > 0 {
					m.Chunks = append(m.Chunks, c.Chunk)
				}
			}
		}
		marked = append(marked, m)
	}
	x.Tables, x.Marked = tables, marked
	return nil
}

// mergedRows loads the rows of a chunk, which are parts of other chunks of the world. The goroutine of
// its section calls it: others load other rows of those.
func (l *loading) mergedRows(c *extend.Cursor, p *tablePlan, chunk int, hs []handle.Handle) error {
	if len(hs) != p.first[chunk+1]-p.first[chunk] {
		return fmt.Errorf("%d handles for %d rows", len(hs), p.first[chunk+1]-p.first[chunk])
	}
	copy(p.merged.handles[p.first[chunk]:], hs)
	for i := range p.columns {
		if err := l.mergedRuns(p, chunk, func(to *store.Chunk, row, _, n int) error { return l.column(c, &p.columns[i], to, row, n) }); err != nil {
			return err
		}
	}
	return nil
}

// mergedRuns calls f with the chunks of the world that get the rows of a chunk of the snapshot: n of
// them, from at on, go to the rows from row on. An error is one of f.
func (l *loading) mergedRuns(p *tablePlan, chunk int, f func(to *store.Chunk, row, at, n int) error) error {
	first, end := p.first[chunk], p.first[chunk+1]
	for k, at := p.merged.chunkOf(first), first; at < end; k++ {
		x := &p.merged.chunks[k]
		n := min(end, x.first+x.Rows) - at
		if err := f(l.into.Chunk(x.shard, x.Table, x.Chunk), at-x.first, at-first, n); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// fillMerged gives the merged tables their handles. All rows are loaded by then. An error ends the
// load.
func (l *loading) fillMerged() error {
	return spread(l.o.Workers, len(l.merged), func(i int) error {
		m := l.merged[i]
		for _, c := range m.chunks {
			if c.Rows == 0 {
				continue
			}
			if err := l.into.Fill(l.into.Chunk(c.shard, c.Table, c.Chunk), m.handles[c.first:][:c.Rows]); err != nil {
				return format.Altered("shard %d: %w", c.shard, err)
			}
		}
		return nil
	})
}

// memory is the source of a capture. It leaves out shards and rows: see copyShards.
//
// Ownership: the goroutine of the load.
type memory struct {
	c  *Captured
	at int // of the next part
}

// Begin does nothing: what is in memory is whole.
func (m *memory) Begin() error { return nil }

// Next makes s the next section that is neither of a shard nor of rows. It returns no error.
func (m *memory) Next(s *format.Section) error {
	for ; m.at < len(m.c.parts); m.at++ {
		if kind := m.c.parts[m.at].Kind; kind != format.ShardSection && kind != format.RowsSection {
			*s = m.c.section(m.at)
			m.at++
			return nil
		}
	}
	*s = format.Section{Kind: format.EndSection, How: format.None, Sure: true}
	return nil
}

// Finish does nothing: what is in memory is whole.
func (m *memory) Finish(*format.Section) error { return nil }

// chunkJob is a chunk whose rows are to be copied to another world.
type chunkJob struct {
	to    *store.Chunk // nil: to those that the plan of its table says
	shard int
	format.Place
}

// copyShards loads the captured shards, on several goroutines, and returns when they have ended. A
// goroutine that has made and cleared a chunk copies its components at once, while it is in the
// cache, unless another goroutine is idle. An error ends the load.
func (l *loading) copyShards() error {
	if l.reshards() {
		return l.copyAnew()
	}
	workers := l.o.Workers
	var next, making atomic.Int64
	making.Store(int64(workers))
	spare := make(chan chunkJob) // for idle goroutines
	var wrong wrong
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			func() {
				defer func() {
					if making.Add(-1) == 0 {
						close(spare)
					}
				}()
				for i := next.Add(1) - 1; i < int64(l.w.Shards()) && !wrong.any.Load(); i = next.Add(1) - 1 {
					wrong.watch(i, func() error { return l.copyShard(int(i), spare, &wrong) })
				}
			}()
			for x := range spare {
				wrong.watch(int64(x.shard), func() error { return l.copyChunk(x) })
			}
		})
	}
	all.Wait()
	if err := wrong.first(); err != nil {
		return err
	}
	return l.placeRows()
}

// copyShard makes a shard and copies its chunks, or passes them to idle goroutines.
func (l *loading) copyShard(i int, spare chan<- chunkJob, wrong *wrong) error {
	s := l.from.shard(i)
	return l.shard(&s, &extend.Cursor{Rest: s.Body}, i, func(c *store.Chunk, table, chunk int) {
		x := chunkJob{c, i, format.Place{Table: table, Chunk: chunk}}
		select {
		case spare <- x:
		default:
			wrong.watch(int64(i), func() error { return l.copyChunk(x) })
		}
	})
}

// copyChunk loads the components of a captured chunk. Any goroutine of the load; each chunk once.
// An error names the component.
func (l *loading) copyChunk(x chunkJob) error {
	s := l.from.s
	t, from := &s.images[x.shard].Tables[x.Table], l.from.frozen.Chunk(x.shard, x.Table, x.Chunk)
	p := &l.tables[x.shard][x.Table]
	runs := func(f func(to *store.Chunk, row, at, n int)) {
		if x.to != nil {
			f(x.to, 0, 0, t.Chunks[x.Chunk].Rows)
			return
		}
		_ = l.mergedRuns(p, x.Chunk, func(to *store.Chunk, row, at, n int) error { f(to, row, at, n); return nil })
	}
	for at, id := range t.Components {
		own := &p.columns[at]
		bytes, kept := s.kept[column{x.Place, x.shard, at}]
		if !kept {
			if s.names.Components[id].Of == own.Of {
				runs(func(to *store.Chunk, row, first, n int) { to.FillColumn(own.to, row, from, at, first, n) })
				continue
			}
			bytes = s.appendCells(nil, s.names.Components[id].Form, t.Chunks[x.Chunk].Columns[at])
		}
		c := extend.Cursor{Rest: bytes}
		runs(func(to *store.Chunk, row, _, n int) {
			l.values(&c, own.Form, own.Form.ReadAll, to.Cells(own.to).Slice(row, n))
		})
		if err := c.End(); err != nil {
			return format.Altered("component %q: %w", own.Name, err)
		}
	}
	return nil
}

// placeRows loads the handles of all rows, once all shards have their slots. Several goroutines do
// it.
func (l *loading) placeRows() error {
	var all []chunkJob
	for i := range l.from.s.images {
		for p := range format.ChunksOf(&l.from.s.images[i]) {
			all = append(all, chunkJob{l.into.Chunk(i, p.Table, p.Chunk), i, p})
		}
	}
	l.into.Trust()
	return spread(l.o.Workers, len(all), func(i int) error {
		x := &all[i]
		l.tables[x.shard][x.Table].filled[x.Chunk].Store(true)
		return l.into.Fill(x.to, l.from.s.images[x.shard].Tables[x.Table].Chunks[x.Chunk].Handles)
	})
}

// inOrder calls functions until one returns an error.
func inOrder(all ...func() error) error {
	for _, f := range all {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// spread calls f(0) … f(n-1) on some goroutines. It returns the error with the lowest number. It
// returns when they have ended. A panic goes to the caller.
func spread(workers, n int, f func(i int) error) error {
	var next atomic.Int64
	var wrong wrong
	var all sync.WaitGroup
	for range min(workers, n) {
		all.Go(func() {
			for !wrong.any.Load() {
				i := next.Add(1) - 1
				if i >= int64(n) {
					return
				}
				wrong.watch(i, func() error { return f(int(i)) })
			}
		})
	}
	all.Wait()
	return wrong.first()
}

// wrong is the first failure, by number, of work on several goroutines.
type wrong struct {
	any      atomic.Bool
	mu       sync.Mutex
	at       int64
	err      error
	panicked any
}

// watch calls a function that may fail or panic, on any goroutine of the work, and notes that.
func (w *wrong) watch(at int64, f func() error) {
	returned := false
	defer func() {
		if v := recover(); v != nil {
			w.note(at, nil, v)
		} else if !returned {
			w.note(at, format.ErrGoexit, nil)
		}
	}()
	err := f()
	if returned = true; err != nil {
		w.note(at, err, nil)
	}
}

// note keeps the failure with the lowest number.
func (w *wrong) note(at int64, err error, v any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.any.Swap(true) || at < w.at {
		w.at, w.err, w.panicked = at, err, v
	}
}

// first returns the error, or repeats the panic, when all goroutines are done.
func (w *wrong) first() error {
	if w.panicked != nil {
		panic(w.panicked)
	}
	return w.err
}
