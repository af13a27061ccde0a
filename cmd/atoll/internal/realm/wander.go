package realm

import "github.com/atoll-sim/atoll/world"

// wander moves everything that has a velocity. Each creature changes its
// direction now and then, in ticks that follow from its handle.
func (r *Realm) wander(b *world.Build) func(*world.Context) {
	pos, vel := world.Write[Position](b), world.Write[Velocity](b)
	creatures := b.Query(vel, world.With[Creature](b))
	moving := b.Query(pos, vel)
	isle, shore := r.island(b), r.extent()
	return func(c *world.Context) {
		turn := uint32(c.Tick() % turnPeriod)
		for ch := range creatures.Chunks() {
			v := vel.Slice(ch)
			for i, h := range ch.Handles() {
				if h.Index()%turnPeriod == turn {
					v[i] = isle.heading()
				}
			}
		}
		delta := float32(c.Delta())
		for ch := range moving.Chunks() {
			p, v := pos.Slice(ch), vel.Slice(ch)
			for i := range p {
				p[i].X, v[i].X = step(p[i].X, v[i].X, delta, shore.X)
				p[i].Y, v[i].Y = step(p[i].Y, v[i].Y, delta, shore.Y)
			}
		}
	}
}

// step moves along one axis, and turns around at the shore.
func step(at, velocity, delta, shore float32) (float32, float32) {
	at += velocity * delta
	switch {
	case at < 0:
		return -at, -velocity
	case at > shore:
		return 2*shore - at, -velocity
	}
	return at, velocity
}
