package near_test

import (
	"context"
	"fmt"
	"math"

	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	// Place is where somebody is, on a map.
	Place struct{ X, Y float64 }
	// Level is how far somebody has come.
	Level  struct{ Number int }
	player struct {
		Place
		Level
	}
)

func (p Place) point() near.Point { return near.Point{X: p.X, Y: p.Y} }

// newMap is a map with three players.
func newMap() (*world.World, *near.Index) {
	w := world.MustNew(world.Options{Shards: 2})
	world.Register[Place](w, "place")
	world.Register[Level](w, "level")
	index := near.New(w, Place.point, near.Options{Max: near.Point{X: 100, Y: 100}, Cell: 10})
	players := world.NewBundle[player](w)
	for i, p := range []Place{{10, 10}, {13, 14}, {50, 10}} {
		if _, err := players.Create(w, player{p, Level{i + 1}}); err != nil {
			panic(err)
		}
	}
	return w, index
}

// levels says who was found, and where.
func levels(w *world.World, hits []near.Hit) {
	level := world.Read[Level](w)
	for _, h := range hits {
		fmt.Println("level", level.Get(h.Handle).Number, "at", h.At.X, h.At.Y, "distance", math.Sqrt(h.Distance2))
	}
}

// A system finds who is near, in all shards.
func Example() {
	w, index := newMap()
	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("greet", func(b *world.Build) func(*world.Context) {
		around := index.Read(b)
		var hits []near.Hit
		return func(c *world.Context) {
			if hits = around.AppendWithin(hits[:0], near.Point{X: 12, Y: 12}, 5); c.Shard() == 0 {
				fmt.Println(len(hits), "are here")
			}
		}
	})
	if err := s.Step(context.Background()); err != nil {
		panic(err)
	}
	// Output: 2 are here
}

// Who must not be found is left out by terms.
func ExampleNew() {
	const hidden = world.Flags(1)
	w, _ := newMap()
	seen := near.New(w, Place.point, near.Options{Max: near.Point{X: 100, Y: 100}, Cell: 10}, world.WithoutFlags(w, hidden))
	for _, h := range seen.Read(w).AppendNearest(nil, near.Point{}, 1, math.Inf(1)) {
		_ = world.AddFlags(w, h.Handle, hidden)
	}
	levels(w, seen.Read(w).AppendNearest(nil, near.Point{X: 10, Y: 10}, 1, math.Inf(1)))
	// Output: level 2 at 13 14 distance 5
}

// Frames of a view that names the index have it, for any goroutine.
func ExampleIndex_Read() {
	w, index := newMap()
	view, err := w.NewView(index)
	if err != nil {
		panic(err)
	}
	frame, err := view.Now()
	if err != nil {
		panic(err)
	}
	defer frame.Release()
	w.Clear() // the frame stays as it is
	fmt.Println(len(index.Read(frame).AppendWithin(nil, near.Point{X: 50, Y: 50}, 100)))
	// Output: 3
}

// Viewers are asked for in the order of their cells.
func ExampleIndex_Cell() {
	_, index := newMap()
	fmt.Println(index.Cell(near.Point{}), index.Cell(near.Point{X: 25}), index.Cell(near.Point{X: 25, Y: 10}))
	fmt.Println(index.Cell(near.Point{X: -1000, Y: 1000}), index.Options().Cell)
	// Output:
	// 0 2 12
	// 90 10
}

func ExampleReader_AppendWithin() {
	w, index := newMap()
	levels(w, index.Read(w).AppendWithin(nil, near.Point{X: 10, Y: 10}, 20))
	// Output:
	// level 1 at 10 10 distance 0
	// level 2 at 13 14 distance 5
}

func ExampleReader_AppendBox() {
	w, index := newMap()
	levels(w, index.Read(w).AppendBox(nil, near.Point{X: 40}, near.Point{X: 60, Y: 10}))
	// Output: level 3 at 50 10 distance 0
}

func ExampleReader_AppendNearest() {
	w, index := newMap()
	levels(w, index.Read(w).AppendNearest(nil, near.Point{X: 50, Y: 10}, 2, 100))
	// Output:
	// level 3 at 50 10 distance 0
	// level 2 at 13 14 distance 37.21558813185679
}

// A shot along a line hits the first one that is close enough to it.
func ExampleReader_AppendAlong() {
	w, index := newMap()
	levels(w, index.Read(w).AppendAlong(nil, near.Point{Y: 10}, near.Point{X: 100, Y: 10}, 1))
	// Output:
	// level 1 at 10 10 distance 10
	// level 3 at 50 10 distance 50
}
