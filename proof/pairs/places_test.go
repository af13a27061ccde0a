package pairs_test

import (
	"math"
	"slices"

	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/world"
)

// anywhere is all of space, and has the cells of what places divides.
var (
	anywhere = struct{ Min, Max near.Point }{
		near.Point{X: math.Inf(-1), Y: math.Inf(-1), Z: math.Inf(-1)}, near.Point{X: math.Inf(1), Y: math.Inf(1), Z: math.Inf(1)},
	}
	divided = near.Options{Max: near.Point{X: 64, Y: 64}, Cell: 4}
)

// hidden is the flag of those who have no place.
const hidden = world.Flags(2)

func where(a Alpha) near.Point {
	return near.Point{X: float64(a.N % 67), Y: float64(a.N / 67 % 67)}
}

// makePlaces returns the index of a world, which the first to ask makes.
func makePlaces(o *objects) *near.Index {
	if o.made["places"] == nil {
		o.made["places"] = near.New(o.World, where, divided, world.WithoutFlags(o.World, hidden))
	}
	return o.made["places"].(*near.Index)
}

// places has an index of a component, as if that were a place. Systems note what they find, which
// other worlds must find, too; and after each refresh it has whom the model has.
func places() *feature {
	return &feature{
		name: "places",
		prepare: func(o *objects) {
			x := makePlaces(o)
			o.ticks.MustAdd("places", func(b *world.Build) func(*world.Context) {
				r := x.Read(b)
				return func(c *world.Context) {
					at := near.Point{X: float64(c.Tick() % 64), Y: float64(c.Shard() * 9)}
					hits := r.AppendWithin(nil, at, 9)
					for _, h := range r.AppendNearest(hits, at, 5, 50) {
						o.note(c, "near", h.Handle, int64(h.At.X)<<32|int64(h.At.Y))
					}
				}
			})
		},
		check: func(s *scene) {
			found := s.made["places"].(*near.Index).Read(s.World).AppendBox(nil, anywhere.Min, anywhere.Max)
			hash := uint64(0)
			for _, h := range found {
				hash = mix(hash, uint64(h.Handle))
			}
			s.see("order of places", 0, hash)
			slices.SortFunc(found, func(a, b near.Hit) int { return int(int64(a.Handle) - int64(b.Handle)) })
			want := s.model.matching(1, 0, hidden)
			s.must(len(want) == len(found), "%d have a place, by the model %d", len(found), len(want))
			pos := world.Read[Alpha](s.World)
			for i, h := range found {
				s.must(h.Handle == want[i], "%v has a place, by the model %v", h.Handle, want[i])
				s.must(h.At == where(*pos.Get(h.Handle)), "%v is at %v, and is found at %v", h.Handle, where(*pos.Get(h.Handle)), h.At)
			}
		},
	}
}
