package realm

import (
	"github.com/atoll-sim/atoll/ext/region"
	"github.com/atoll-sim/atoll/world"
)

// newChart places the islands of a world side by side, each of them the region of
// one shard.
func newChart(w *world.World) *region.Grid[Position] {
	columns, rows := region.Divide(w.Shards())
	chart, err := region.New(w, Position.coordinates, region.Options{
		Width: Side * float64(columns), Height: Side * float64(rows), Columns: columns, Rows: rows, Margin: cellSide,
	})
	if err != nil { // the realm's options cannot cause it
		panic(err)
	}
	return chart
}

func (p Position) coordinates() (x, y float64) { return float64(p.X), float64(p.Y) }

// corner returns the least coordinates of an island.
func (r *Realm) corner(island int) Position {
	x, y := r.chart.Corner(island)
	return Position{float32(x), float32(y)}
}

// extent returns the greatest coordinates of all islands: the shore.
func (r *Realm) extent() Position {
	o := r.chart.Options()
	return Position{float32(o.Width), float32(o.Height)}
}
