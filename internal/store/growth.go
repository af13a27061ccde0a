package store

// Growth says in what steps a world takes memory. It affects no result except the order of
// rows after a Retag, which takes over whole chunks.
type Growth struct {
	// RowsFirst is the number of rows of a table's first chunk, RowsMax that of the
	// largest; each chunk has RowsFactor times the rows of the one before it. All are
	// powers of two.
	RowsFirst, RowsFactor, RowsMax int
	// HugePages says whether to ask the operating system for huge pages for large blocks.
	HugePages bool
}

// PageSlots is the least number of slots that are allocated at one time.
const PageSlots = pageSize

// DefaultGrowth is what a new Space has.
var DefaultGrowth = Growth{RowsFirst: 16, RowsFactor: 4, RowsMax: RowsMax}

// next returns the number of rows of the chunk behind one with the given number.
func (g *Growth) next(rows int) int { return min(rows*g.RowsFactor, g.RowsMax) }

// holding returns the number of rows of the smallest chunk that holds n, or of the largest.
func (g *Growth) holding(n int) int {
	rows := g.RowsFirst
	for rows < n && g.next(rows) > rows {
		rows = g.next(rows)
	}
	return rows
}

// ReserveSlots makes room for n more handles.
func (s *Shard) ReserveSlots(n int) error { return s.reserve(n) }
