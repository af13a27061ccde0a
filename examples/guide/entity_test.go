package guide_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/world"
)

func Example_entity() {
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	world.Register[Hull](w, "hull")
	ships := world.NewBundle[Ship](w)

	h, err := ships.Create(w, Ship{Position: Position{10, 20}, Hull: Hull{100}})
	fmt.Println(h, err)

	hull := world.Write[Hull](w)
	hull.Get(h).Points -= 30
	fmt.Println(*hull.Get(h))

	w.Destroy(h)
	fmt.Println(w.Status(h), w.Count())
	w.Refresh()
	fmt.Println(w.Status(h), w.Count(), hull.Get(h))

	next, _ := ships.Create(w, Ship{})
	fmt.Println(next, w.Alive(next), w.Alive(h))
	// Output:
	// 0:0@1 <nil>
	// {70}
	// dying 1
	// stale 0 <nil>
	// 0:0@2 true false
}

func Example_query() {
	w, ships := newSea()
	err := ships.CreateN(w, 1000, func(i int, s *Ship) {
		s.Velocity = Velocity{1, 0}
		s.Hull.Points = i % 10
	})

	pos, vel, hull := world.Write[Position](w), world.Read[Velocity](w), world.Read[Hull](w)
	fleet := w.Query(pos, vel, hull)
	for ch := range fleet.Chunks() {
		p, v, points := pos.Slice(ch), vel.Slice(ch), hull.Slice(ch)
		for i := range p {
			p[i].X += v[i].X
			if points[i].Points == 0 {
				w.Destroy(ch.Handle(i))
			}
		}
	}
	w.Refresh()
	fmt.Println(fleet.Count(), "ships", err)
	// Output: 900 ships <nil>
}

func Example_change() {
	w, ships := newSea()
	anchored := world.Register[Anchored](w, "anchored")
	_ = ships.CreateN(w, 999, nil)
	h, _ := ships.Create(w, Ship{})

	_ = anchored.Add(w, h, Anchored{})
	fmt.Println(w.Has(h, anchored))

	fleet := w.Query(world.With[Hull](w))
	sailing := w.Query(world.Write[Position](w), world.Without[Anchored](w))
	_ = anchored.AddTo(sailing.Limit(99), nil)
	fmt.Println(fleet.Count(), sailing.Count())
	_ = fleet.Remove(anchored)
	fmt.Println(fleet.Count(), sailing.Count())
	// Output:
	// true
	// 1000 900
	// 1000 1000
}
