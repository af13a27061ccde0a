package soak

import (
	"math/rand/v2"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

const (
	herdGraves = 4096 // how many dead handles of a herd are kept
	catchUp    = 2    // a late tick replaces at most so many times more
)

// herd is the book of one shard's systems about the animals there. It is correct after
// each line of a system, so a panic leaves no gap.
type herd struct {
	s         *stage
	maker     uint32
	rand      *rand.Rand
	places    []place
	vacant    []uint32
	serial    uint32
	created   uint64
	destroyed uint64
	debt      float64 // animals that are due to be replaced
	atOnce    float64 // how many in one tick, at most
	graves    graveyard
	shouted   []uint32 // accepted, by veteran
	rejected  uint64
	seen      []uint32 // what each veteran had received when it was last checked
}

// place is where an animal is in the book.
type place struct {
	h      handle.Handle // none: vacant
	serial uint32
	seen   uint32 // number of the audit that found it
}

func newHerd(s *stage, maker uint32, size int) *herd {
	h := &herd{
		s: s, maker: maker, rand: s.config.newRand(maker), places: make([]place, size), vacant: make([]uint32, size),
		debt: float64(size*s.config.Churn) / 100, atOnce: catchUp * float64(size*s.config.Churn) / 100 / float64(s.config.Hz),
		graves: newGraveyard(herdGraves), shouted: make([]uint32, veteransN), seen: make([]uint32, veteransN),
	}
	for i := range h.vacant {
		h.vacant[i] = uint32(i)
	}
	return h
}

// breed replaces animals: as many each second as the churn says. It first creates those that a
// panic prevented. A herd begins with the debt of a second,
// so that the warm-up has the largest tick.
func (s *stage) breed(b *world.Build) func(*world.Context) {
	b.Creates(s.animals)
	herd := s.herds[b.Shard()]
	return func(c *world.Context) {
		herd.refill(c)
		herd.debt += float64(len(herd.places)) * float64(s.config.Churn) / 100 * s.elapsed
		for n := int(min(herd.debt, herd.atOnce)); n > 0; n-- {
			herd.debt--
			herd.cull(c)
			if n%64 == 0 {
				herd.stumble()
				herd.refill(c)
			}
		}
		herd.refill(c)
	}
}

// cull destroys an animal.
func (d *herd) cull(c *world.Context) {
	at := d.rand.Uint32N(uint32(len(d.places)))
	p := &d.places[at]
	if p.h == handle.None {
		return
	}
	if err := c.Destroy(p.h); err != nil {
		d.s.violate("animal %v of shard %d cannot be destroyed: %v; it is %v", p.h, d.maker, err, c.Status(p.h))
	}
	d.destroyed++
	d.graves.add(p.h, c.Tick()+1)
	p.h = handle.None
	d.vacant = append(d.vacant, at)
}

// refill creates an animal for each vacant place.
func (d *herd) refill(c *world.Context) {
	for n := len(d.vacant) - 1; n >= 0; n-- {
		at := d.vacant[n]
		serial := d.serial + 1
		h, err := d.s.animals.Create(c, animal{
			tag{d.maker, at, serial}, twin{serial},
			position{d.rand.Float32(), d.rand.Float32()}, velocity{d.rand.Float32() - 0.5, d.rand.Float32() - 0.5},
		})
		if err != nil {
			d.s.violate("shard %d cannot create an animal: %v", d.maker, err)
			return
		}
		d.created++
		d.serial = serial
		d.places[at].h, d.places[at].serial = h, serial
		d.vacant = d.vacant[:n]
		if !c.Alive(h) {
			d.s.violate("new animal %v of shard %d is %v", h, d.maker, c.Status(h))
		}
	}
}
