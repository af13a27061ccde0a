package soak

import (
	"math/rand/v2"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

const (
	sampledN   = 64  // animals and dead of each herd, after each tick
	chunksEach = 16  // one of so many chunks is sampled
	rowsMax    = 128 // of a chunk
)

// sampler checks a part of the world after each tick. The herds' books are exact
// while no tick runs.
//
// Ownership: the conductor.
type sampler struct {
	s     *stage
	rand  *rand.Rand
	tags  *world.Reader[tag]
	twins *world.Reader[twin]
	herd  *world.Query
	all   *world.Query
	stats world.Stats
}

func newSampler(s *stage) *sampler {
	tags, pos := world.Read[tag](s.w), world.Read[position](s.w)
	return &sampler{
		s: s, rand: s.config.newRand(1 << 30), tags: tags, twins: world.Read[twin](s.w),
		herd: s.w.Query(pos), all: s.w.Query(tags, world.WithoutFlags(s.w, hidden)),
	}
}

// sample is called after a tick.
func (p *sampler) sample() {
	s := p.s
	s.w.Stats(&p.stats)
	living := 0
	for _, d := range s.herds {
		living += len(d.places) - len(d.vacant)
		for range min(sampledN, len(d.places)) {
			at := p.rand.IntN(len(d.places))
			p.animal(d, uint32(at))
			if n := len(d.graves.graves); n > 0 {
				p.dead(d.graves.graves[p.rand.IntN(n)])
			}
		}
	}
	s.expect("animals in tables", uint64(p.herd.Count()), uint64(living))
	s.expect("entities of the world", uint64(p.stats.Entities), p.stats.Created-p.stats.Destroyed)
	p.chunks()
}

// animal checks an animal against its herd's book.
func (p *sampler) animal(d *herd, at uint32) {
	x := &d.places[at]
	if x.h == handle.None {
		return
	}
	t, w := p.tags.Get(x.h), p.twins.Get(x.h)
	if t == nil || w == nil || *t != (tag{d.maker, at, x.serial}) || w.Serial != x.serial {
		p.s.violate("animal %v, number %d of shard %d, is %v with tag %v", x.h, x.serial, d.maker, p.s.w.Status(x.h), t)
	}
}

func (p *sampler) dead(g grave) {
	if st := p.s.w.Status(g.h); p.s.w.Tick() >= g.due && st != world.Stale {
		p.s.violate("dead animal %v is %v", g.h, st)
	}
}

// chunks checks that rows and their handles match.
func (p *sampler) chunks() {
	n := p.rand.IntN(chunksEach)
	for ch := range p.all.Chunks() {
		if n++; n%chunksEach != 0 {
			continue
		}
		t, h := p.tags.Slice(ch), ch.Handles()
		from := p.rand.IntN(len(h))
		for i := from; i < min(from+rowsMax, len(h)); i++ {
			p.s.row(p.tags, h[i], &t[i])
		}
	}
}

// row checks that the handle of a row is alive and locates that row.
func (s *stage) row(tags *world.Reader[tag], h handle.Handle, t *tag) {
	if tags.Get(h) != t || !s.w.Alive(h) || s.w.Status(h) != world.Alive {
		s.violate("the row of %v, of tag %v, is not found by its handle, which is %v", h, *t, s.w.Status(h))
	}
}
