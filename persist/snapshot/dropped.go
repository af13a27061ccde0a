package snapshot

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
)

// This file skips what is dropped. Entities that had different components may have the same ones
// when some are dropped, so it also puts the rows of several tables in one.

// merge makes tables with the same components one table, in the image and in the plans of a shard.
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
			m := &mergedTable{shard: shard, to: len(tables)}
			for _, k := range group {
				plans[k].merged, plans[k].to = m, len(tables)
			}
			t, err := l.mergeGroup(m, x, plans, group)
			if err != nil {
				return err
			}
			tables = append(tables, t)
			l.merged = append(l.merged, m)
		}
	}
	return l.mergeMarks(x, plans, tables)
}

// mergeGroup returns the image of a table with the rows of several.
func (l *loading) mergeGroup(m *mergedTable, x *store.Image, plans []tablePlan, group []int) (t store.TableImage, err error) {
	t = store.TableImage{Components: x.Tables[group[0]].Components, Current: -1}
	now := uint32(l.head.Tick) + 2 // after all stamps
	younger := func(a, b uint32) uint32 {
		if now-a < now-b {
			return a
		}
		return b
	}
	written, changed, rows := slices.Repeat([]uint32{now + 1}, len(t.Components)), now+1, 0 // the oldest possible
	t.Left = now + 1
	for _, k := range group {
		from := &x.Tables[k]
		t.Listed, t.Fragmented = true, t.Fragmented || from.Fragmented
		t.Left = younger(t.Left, from.Left)
		for _, c := range from.Chunks {
			if c.Rows > c.Cap || c.Cap > slots.RowsMax {
				return t, fmt.Errorf("a chunk has %d rows of %d", c.Rows, c.Cap)
			}
			plans[k].first = append(plans[k].first, rows)
			rows += c.Rows
			changed = younger(changed, c.Changed)
			for i, w := range c.Written {
				written[i] = younger(written[i], w)
			}
		}
		plans[k].first = append(plans[k].first, rows)
	}
	left := rows
	for _, k := range group {
		for _, c := range x.Tables[k].Chunks {
			if left == 0 && !c.Reserved {
				continue
			}
			n := min(left, c.Cap)
			if n > 0 {
				t.Current = len(t.Chunks)
			}
			m.first = append(m.first, rows-left)
			t.Chunks = append(t.Chunks, store.ChunkImage{Cap: c.Cap, Rows: n, Reserved: c.Reserved, Changed: changed, Written: slices.Clone(written)})
			left -= n
		}
	}
	m.handles, m.chunks = make([]handle.Handle, rows), t.Chunks
	for _, k := range group {
		for i := range x.Tables[k].Chunks {
			c, first := &x.Tables[k].Chunks[i], plans[k].first[i]
			err = errors.Join(err, m.copyBits(func(to *store.ChunkImage) *[]uint64 { return &to.Marks }, c.Marks, first, c.Rows))
			for f := range c.Flags {
				err = errors.Join(err, m.copyBits(func(to *store.ChunkImage) *[]uint64 { return &to.Flags[f] }, c.Flags[f], first, c.Rows))
			}
		}
	}
	return t, err
}

// copyBits copies a set of the n rows of a chunk that begin at a row of the table.
func (m *mergedTable) copyBits(set func(to *store.ChunkImage) *[]uint64, from []uint64, first, n int) error {
	for i, w := range from {
		for ; w != 0; w &= w - 1 {
			row := i*64 + bits.TrailingZeros64(w)
			if row >= n {
				return fmt.Errorf("a mark or flag is of row %d, of %d", row, n)
			}
			to := m.chunkOf(first + row)
			words, at := set(&m.chunks[to]), first+row-m.first[to]
			if need := at/64 + 1 - len(*words); need > 0 {
				*words = append(*words, make([]uint64, need)...)
			}
			(*words)[at/64] |= 1 << (at % 64)
		}
	}
	return nil
}

// mergeMarks gives the image its tables, and updates the order of marks to them.
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
			for i, c := range p.merged.chunks {
				if len(c.Marks) > 0 {
					m.Chunks = append(m.Chunks, i)
				}
			}
		}
		marked = append(marked, m)
	}
	x.Tables, x.Marked = tables, marked
	return nil
}

// mergedRows loads the rows of a chunk, which are part of a larger table of the world.
func (l *loading) mergedRows(c *extend.Cursor, p *tablePlan, chunk int, hs []handle.Handle) error {
	m := p.merged
	first, end := p.first[chunk], p.first[chunk+1]
	if len(hs) != end-first {
		return fmt.Errorf("%d handles for %d rows", len(hs), end-first)
	}
	copy(m.handles[first:], hs)
	for i := range p.columns {
		for at := first; at < end; {
			k := m.chunkOf(at)
			n := min(end, m.first[k]+m.chunks[k].Rows) - at
			if err := l.column(c, &p.columns[i], l.into.Chunk(m.shard, m.to, k), at-m.first[k], n); err != nil {
				return err
			}
			at += n
		}
	}
	return nil
}

// fillMerged gives the merged tables their handles.
func (l *loading) fillMerged() error {
	for _, m := range l.merged {
		rest := m.handles
		for k, c := range m.chunks {
			if c.Rows == 0 {
				continue
			}
			if err := l.into.Fill(l.into.Chunk(m.shard, m.to, k), rest[:c.Rows]); err != nil {
				return format.Altered("shard %d: %w", m.shard, err)
			}
			rest = rest[c.Rows:]
		}
	}
	return nil
}
