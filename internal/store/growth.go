package store

// Growth says in what steps a world takes memory. It shapes no outcome but the order of
// rows after a Retag, which takes whole chunks over.
type Growth struct {
	// RowsFirst is the number of rows of a table's first chunk, RowsMax that of the
	// largest; each chunk has RowsFactor times the rows of the one before it. All are
	// powers of two.
	RowsFirst, RowsFactor, RowsMax int
	// HugePages is whether the system is asked for huge pages for what is large.
	HugePages bool
}

// PageSlots is the number of slots that are allocated at one time, at the least.
const PageSlots = pageSize

// DefaultGrowth is what a new Space has.
var DefaultGrowth = Growth{RowsFirst: 16, RowsFactor: 4, RowsMax: RowsMax}

// next returns the rows of the chunk behind one of so many.
func (g *Growth) next(rows int) int { return min(rows*g.RowsFactor, g.RowsMax) }

// holding returns the rows of the smallest chunk that holds n, or of the largest.
func (g *Growth) holding(n int) int {
	rows := g.RowsFirst
	for rows < n && g.next(rows) > rows {
		rows = g.next(rows)
	}
	return rows
}

// ReserveSlots makes room for n more handles.
func (s *Shard) ReserveSlots(n int) error { return s.reserve(n) }
