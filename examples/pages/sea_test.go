// The snippets of docs/determinism.md and docs/hierarchy.md, in examples that run. Package guide has
// the snippets of the guide.

package pages_test

import "github.com/atoll-sim/atoll/world"

type (
	Position struct{ X, Y float64 }
	Velocity struct{ X, Y float64 }
	Ship     struct {
		Position
		Velocity
	}
)

func Move(b *world.Build) func(*world.Context) {
	pos, vel := world.Write[Position](b), world.Read[Velocity](b)
	moving := b.Query(pos, vel)
	return func(c *world.Context) {
		for ch := range moving.Chunks() {
			p, v := pos.Slice(ch), vel.Slice(ch)
			for i := range p {
				p[i].X += v[i].X * c.Delta()
				p[i].Y += v[i].Y * c.Delta()
			}
		}
	}
}
