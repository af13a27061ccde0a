package region_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/ext/region"
	"github.com/atoll-sim/atoll/world"
)

type point struct{ X, Y float64 }

func (p point) at() (x, y float64) { return p.X, p.Y }

// An option that is wrong is an error that says so.
func ExampleNew() {
	w := world.MustNew(world.Options{Shards: 6})
	_, err := region.New(w, point.at, region.Options{})
	fmt.Println(err != nil)

	grid, err := region.New(w, point.at, region.Options{Width: 300, Height: 200})
	fmt.Println(err, grid.Options().Columns, grid.Options().Rows)
	// Output:
	// true
	// <nil> 3 2
}

// A grid knows which shard a position is in, and which shards are around it.
func ExampleGrid() {
	w := world.MustNew(world.Options{Shards: 6})
	grid, _ := region.New(w, point.at, region.Options{Width: 300, Height: 200})
	fmt.Println(grid.Shard(point{50, 50}), grid.Shard(point{250, 150}), grid.Shard(point{-1000, 50}))
	fmt.Println(grid.AppendNeighbours(nil, 0))
	fmt.Println(grid.Corner(4))
	// Output:
	// 0 5 0
	// [1 3 4]
	// 100 100
}

// By default regions lie as nearly in a square as their number allows.
func ExampleDivide() {
	for _, shards := range []int{4, 6, 7, 12} {
		columns, rows := region.Divide(shards)
		fmt.Print(columns, "x", rows, " ")
	}
	// Output: 2x2 3x2 7x1 4x3
}
