package realm

import "github.com/atoll-sim/atoll/world"

// wander moves everything that has a velocity. Each creature changes its
// direction now and then: which ones in this tick, their handles tell.
func (r *Realm) wander(b *world.Build) func(*world.Context) {
	pos, vel := world.Write[Position](b), world.Write[Velocity](b)
	creatures := b.Query(vel, world.With[Creature](b))
	moving := b.Query(pos, vel)
	isle := r.island(b)
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
				p[i].X, v[i].X = step(p[i].X, v[i].X, delta)
				p[i].Y, v[i].Y = step(p[i].Y, v[i].Y, delta)
			}
		}
	}
}

// step moves along one axis, and turns around at the shore.
func step(at, velocity, delta float32) (float32, float32) {
	at += velocity * delta
	switch {
	case at < 0:
		return -at, -velocity
	case at > Side:
		return 2*Side - at, -velocity
	}
	return at, velocity
}
