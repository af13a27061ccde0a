package world

import "math/rand/v2"

// random is a system's random numbers on one shard in one tick.
//
// Ownership: as for the Context.
type random struct {
	source rand.PCG
	rand   *rand.Rand
}

func (s *random) init() { s.rand = rand.New(&s.source) }

// Rand returns the random numbers of the running system or hook on this shard in this tick. They
// are a stream of their own, made from the world's Seed, the tick, the system's name and the shard.
// So they are the same on any number of workers, and other systems do not affect them. A hook that
// is called for two events in a tick gets the same numbers twice. The first call in a run costs
// some tens of nanoseconds; Rand allocates nothing.
func (c *Context) Rand() *rand.Rand {
	c.mustRun("Context.Rand")
	if s := &c.random; !c.acting.Seeded {
		c.acting.Seeded = true
		seed := mix(c.w.options.Seed)
		for i := 0; i < len(c.acting.System); i++ { // FNV-1a over the name
			seed = (seed ^ uint64(c.acting.System[i])) * 1099511628211
		}
		seed = mix(mix(seed) + c.Tick())
		seed = mix(seed + uint64(c.Shard()+1))
		s.source.Seed(seed, mix(seed))
	}
	return c.random.rand
}

// mix is a bijection in which each bit of x changes about half of the others: the
// next value of SplitMix64 (Steele, Lea and Flood, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
