package store

import "github.com/atoll-sim/atoll/internal/slots"

// partialMigration is a decision that any n atoms leave for another shard.
type partialMigration struct{ to, n int }

// MigrateSome decides that n atoms leave for another shard in CollectOutgoing of this refresh,
// after those that requests name. Each table that has none of the components in stay gives its last
// rows, in proportion to its number of rows, rounded down. The largest such table, or the first of
// several, gives the remainder. Rows that are marked, or leave anyway, are skipped. Fewer than n
// may leave.
func (s *Shard) MigrateSome(to, n int, stay *Set) {
	m := &s.migration
	m.partials = append(m.partials, partialMigration{to, n})
	m.stay = stay
}

// collectPartials finds the atoms that leave by partial migrations.
func (s *Shard) collectPartials() {
	m := &s.migration
	if len(m.partials) == 0 {
		return
	}
	total, largest := 0, 0
	m.rows, m.cursors = m.rows[:0], m.cursors[:0]
	for i, t := range s.tables {
		n := t.Rows()
		if t.set.Meets(m.stay) {
			n = 0
		}
		total += n
		m.rows, m.cursors = append(m.rows, n), append(m.cursors, n)
		if n > m.rows[largest] {
			largest = i
		}
	}
	for _, x := range m.partials {
		if total == 0 {
			break
		}
		left := min(x.n, total)
		x.n = left
		for i, rows := range m.rows {
			if part := int(int64(x.n) * int64(rows) / int64(total)); i != largest && part > 0 {
				left -= part
				s.collectFrom(i, part, x.to)
			}
		}
		s.collectFrom(largest, left, x.to)
	}
	m.partials = m.partials[:0]
}

// collectFrom makes n atoms of a table outgoing, from its cursor down.
func (s *Shard) collectFrom(table, n, to int) {
	m, t := &s.migration, s.tables[table]
	for k := t.cur.order; k >= 0 && n > 0; k-- {
		c := t.chunks[k]
		for row := min(m.cursors[table]-c.first, c.n) - 1; row >= 0 && n > 0; row-- {
			m.cursors[table] = c.first + row
			if h := c.handles[row]; !c.isMarked(row) && !isTombstone(h) {
				m.outgoing = append(m.outgoing, outgoing{h, c.base + slots.Loc(row), -1})
				m.to = append(m.to, uint16(to))
				c.handles[row] = tombstone(to)
				n--
			}
		}
	}
}
