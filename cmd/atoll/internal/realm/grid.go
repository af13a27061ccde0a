package realm

import (
	"math"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

const (
	// Side is the length of an island's sides, whatever the number of islands.
	Side = 1024
	// cellSide is the length of the sides of a cell. Entities in the same cell, or
	// in cells that touch, are near each other.
	cellSide = 16
	cells    = Side / cellSide // in a row
)

// grid has the entities of an island, sorted by cell.
//
//	starts:  0  2  2  5 …      cell c is entries[starts[c]:starts[c+1]]
//	entries: a b | | c d e …
//
// Ownership: the island's. It is valid from the sense system until the
// refresh.
type grid struct {
	corner  Position // of the island
	starts  []uint32
	entries []entry
}

type entry struct {
	who handle.Handle
	at  Position
}

// newGrid makes a grid of the island with that corner, with room for n entries.
func newGrid(corner Position, n int) grid {
	return grid{corner: corner, starts: make([]uint32, cells*cells+1), entries: make([]entry, 0, n)}
}

// rebuild rebuilds the grid by counting sort: it counts the entities of each cell,
// then copies each to the cell's next place.
func (g *grid) rebuild(all *world.Query, pos *world.Reader[Position]) {
	clear(g.starts)
	n := 0
	for ch := range all.Chunks() {
		for _, p := range pos.Slice(ch) {
			g.starts[g.cellOf(p)]++
		}
		n += ch.Len()
	}
	g.room(n)
	for ch := range all.Chunks() {
		who := ch.Handles()
		for i, p := range pos.Slice(ch) {
			at := &g.starts[g.cellOf(p)]
			*at--
			g.entries[*at] = entry{who[i], p}
		}
	}
}

// sort rebuilds the grid from a list.
func (g *grid) sort(list []entry) {
	clear(g.starts)
	for i := range list {
		g.starts[g.cellOf(list[i].at)]++
	}
	g.room(len(list))
	for _, e := range list {
		at := &g.starts[g.cellOf(e.at)]
		*at--
		g.entries[*at] = e
	}
}

// room turns the counts of cells into their ends, and makes room for all entries.
func (g *grid) room(n int) {
	end := uint32(0)
	for c, count := range g.starts {
		end += count
		g.starts[c] = end // of the cell: it is filled from the end
	}
	if cap(g.entries) < n {
		g.entries = make([]entry, n+n/4)
	}
	g.entries = g.entries[:n]
}

// cell returns the entities in the same cell as p.
func (g *grid) cell(p Position) []entry {
	c := g.cellOf(p)
	return g.entries[g.starts[c]:g.starts[c+1]]
}

// nearest returns the entity nearest to p in its cell and those that touch it,
// except one, or none.
func (g *grid) nearest(p Position, except handle.Handle) handle.Handle {
	best, who := float32(math.Inf(1)), handle.None
	x, y := column(p.X-g.corner.X), column(p.Y-g.corner.Y)
	for row := max(y-1, 0); row <= min(y+1, cells-1); row++ {
		first, last := row*cells+max(x-1, 0), row*cells+min(x+1, cells-1)
		for _, e := range g.entries[g.starts[first]:g.starts[last+1]] {
			dx, dy := e.at.X-p.X, e.at.Y-p.Y
			if d := dx*dx + dy*dy; d < best && e.who != except {
				best, who = d, e.who
			}
		}
	}
	return who
}

// cellOf returns the number of p's cell. A place just outside of the island
// counts as in the cell at the edge.
func (g *grid) cellOf(p Position) int {
	return column(p.Y-g.corner.Y)*cells + column(p.X-g.corner.X)
}

func column(x float32) int { return min(max(int(x)/cellSide, 0), cells-1) }
