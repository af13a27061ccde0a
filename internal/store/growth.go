package store

import "github.com/atoll-sim/atoll/internal/slots"

// Growth says in what steps a world takes memory. It affects no result except the order of
// rows after a Retag, which takes over whole chunks.
type Growth struct {
	// RowsFirst is the number of rows of a table's first chunk, RowsMax that of the
	// largest; each chunk has RowsFactor times the rows of the one before it. All are
	// powers of two.
	RowsFirst, RowsFactor, RowsMax int
}

// DefaultGrowth is what a new Space has.
var DefaultGrowth = Growth{RowsFirst: 16, RowsFactor: 4, RowsMax: slots.RowsMax}

// next returns the number of rows of the chunk after one with the given number.
func (g *Growth) next(rows int) int { return min(rows*g.RowsFactor, g.RowsMax) }

// holding returns the number of rows of the smallest chunk that holds n, or of the largest.
func (g *Growth) holding(n int) int {
	rows := g.RowsFirst
	for rows < n && g.next(rows) > rows {
		rows = g.next(rows)
	}
	return rows
}
