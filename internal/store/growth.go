package store

import (
	"math/bits"

	"github.com/atoll-sim/atoll/internal/slots"
)

// Growth says in what steps a world takes memory. It affects no result except the order of
// rows after a Retag, which takes over whole chunks. Nothing else that a request does not say does
// so: neither hooks, flags and marks, nor which rows of a chunk are ready.
type Growth struct {
	// RowsFirst is the number of rows of a table's first chunk, RowsMax that of the
	// largest, unless its rows are so large that they exceed chunkBytesMax; each chunk has
	// RowsFactor times the rows of the one before it. All are powers of two.
	RowsFirst, RowsFactor, RowsMax int
}

// DefaultGrowth is what a new Space has.
var DefaultGrowth = Growth{RowsFirst: 16, RowsFactor: 4, RowsMax: slots.RowsMax}

// chunkBytesMax is the most memory that a chunk takes, unless one row takes more.
const chunkBytesMax = 4 << 20

// of returns the steps of a table with such rows: the same, but for large rows with fewer rows in a
// chunk.
func (g Growth) of(rowBytes uintptr) Growth {
	for g.RowsMax > 1 && uint64(g.RowsMax)*uint64(rowBytes) > chunkBytesMax {
		g.RowsMax /= 2
	}
	g.RowsFirst = min(g.RowsFirst, g.RowsMax)
	return g
}

// stepBytes is the memory of the largest column of a table that is made ready at a time.
const stepBytes = 16 << 10

// stepOf returns how many rows of a chunk are made ready at a time, where columns have these sizes.
func stepOf(sizes []uintptr) int {
	size := uintptr(rowBytes)
	for _, s := range sizes {
		size = max(size, s)
	}
	return 1 << (bits.Len64(uint64(max(stepBytes/size, 1))) - 1)
}

// growthOf returns the steps in which a table of these components grows.
func (s *Space) growthOf(set Set) Growth {
	bytes := uintptr(0)
	for c := range set.All {
		bytes += s.Columns[c].of.Size
	}
	return s.Growth.of(bytes)
}

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
