package snapshot

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
)

// This file loads shards, and rows on several goroutines.

// shard makes the tables and chunks of a shard.
func (l *loading) shard(s *format.Section, c *extend.Cursor, i int, made func(c *store.Chunk, table, chunk int)) error {
	if s.Kind != format.ShardSection || s.Number != i {
		return format.Altered("%v is not in its place", s)
	}
	x := format.ReadShard(c)
	err := c.End()
	if err != nil {
		return l.within(s, err)
	}
	rows := int64(0)
	l.tables[i] = make([]tablePlan, len(x.Tables))
	for k := range x.Tables {
		if err == nil {
			err = l.table(&l.tables[i][k], &x.Tables[k], &rows)
			l.tables[i][k].to = k
		}
	}
	for k := range x.Changes {
		if err == nil {
			x.Changes[k].Components, err = l.sorted(x.Changes[k].Components)
		}
	}
	stored := x.Stored[:0]
	for _, n := range x.Stored {
		own, e := l.components([]int{n.Component})
		if err = errors.Join(err, e); err == nil && len(own) > 0 {
			stored = append(stored, store.StoredImage{Handle: n.Handle, Component: own[0]})
		}
	}
	x.Stored = stored
	if err == nil && l.from == nil { // a Captured needs no check, and is loaded by several goroutines
		err = l.mayTake(int64(s.Length), rows)
	}
	if err == nil {
		err = l.merge(i, &x)
	}
	if err == nil {
		err = l.into.Shard(i, x, made)
	}
	if err != nil {
		return l.within(s, err)
	}
	return nil
}

// mayTake checks the memory of rows, after that many bytes described them.
func (l *loading) mayTake(read, rows int64) error {
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

// table makes the plan of a table, and converts its image to this world's. It adds up the bytes of
// its rows.
func (l *loading) table(p *tablePlan, t *store.TableImage, rows *int64) error {
	saved := t.Components
	own, err := l.components(saved)
	if err != nil {
		return err
	}
	t.Components = slices.Sorted(slices.Values(own))
	row := int64(8)
	for _, id := range saved {
		n := &l.names.components[id]
		p.columns = append(p.columns, columnPlan{n, slices.Index(t.Components, n.at)})
		if n.at >= 0 {
			row += int64(n.rows.Size())
		}
	}
	*rows += format.BytesOfTable
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
		*rows += format.BytesOfChunk + row*int64(min(c.Cap, slots.RowsMax))
	}
	return nil
}

// sorted is components, in order.
func (l *loading) sorted(saved []int) ([]int, error) {
	own, err := l.components(saved)
	slices.Sort(own)
	return own, err
}

// allFilled checks that no chunk lacks its rows.
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

// allRows loads the sections of rows, and leaves the next section in s.
func (l *loading) allRows(s *format.Section) error {
	type block struct {
		format.Section
		buf []byte
	}
	free, full := make(chan *block, 2*l.o.Workers), make(chan *block)
	for range cap(free) {
		free <- new(block)
	}
	var wrong wrong
	var all sync.WaitGroup
	var worker func()
	worker = func() {
		var x *block
		defer func() {
			if x != nil { // a codec has ended this goroutine: another replaces it
				free <- x
				all.Go(worker)
			}
		}()
		for x = range full {
			wrong.watch(x.At, func() error { return l.someRows(&x.Section, &x.buf) })
			free <- x
			x = nil
		}
	}
	for range l.o.Workers {
		all.Go(worker)
	}
	read := false
	defer func() { // if the source panics or ends this goroutine
		if !read {
			close(full)
			all.Wait()
		}
	}()
	shard := 0
	err := error(nil)
	for !wrong.any.Load() {
		x := <-free
		if err = l.r.Next(&x.Section); err != nil {
			break
		}
		if x.Kind != format.RowsSection {
			*s = x.Section
			break
		}
		if x.Number < shard || x.Number >= l.w.Shards() {
			err = format.Altered("%v is not in its place", &x.Section)
			break
		}
		shard = x.Number
		full <- x
	}
	close(full)
	read = true
	all.Wait()
	if e := wrong.first(); e != nil {
		return e
	}
	return err
}

// someRows loads a section of rows.
func (l *loading) someRows(s *format.Section, buf *[]byte) error {
	body, err := s.Unpack(buf)
	if err != nil {
		return err
	}
	c := extend.Cursor{Rest: body}
	for len(c.Rest) > 0 && c.Err == nil {
		if err := l.chunk(&c, s.Number); err != nil {
			return l.within(s, err)
		}
	}
	if c.Err != nil {
		return l.within(s, c.Err)
	}
	return nil
}

// chunk loads the rows of a chunk.
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

// column loads n values of a column, to rows of a chunk.
func (l *loading) column(c *extend.Cursor, x *columnPlan, to *store.Chunk, row, n int) (err error) {
	if x.to < 0 {
		err = l.pass(c, x.named, n)
	} else {
		err = l.values(c, x.form, to.Cells(x.to).Slice(row, n))
	}
	if err != nil {
		return fmt.Errorf("component %q: %w", x.Name, err)
	}
	return nil
}
