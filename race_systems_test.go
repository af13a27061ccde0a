package atoll_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// The actors that are systems. They say what is wrong by panicking, which the
// tick returns as an error: ending the test from a worker would end the worker.

// beatOnce counts the ticks of everybody who has a beat. Its invariant: each
// atom is walked once per tick.
func beatOnce(b *world.Build) func(*world.Context) {
	beats := world.Write[beat](b)
	all := b.Query(beats)
	return func(*world.Context) {
		for ch := range all.Chunks() {
			s := beats.Slice(ch)
			for i := range s {
				s[i].N++
			}
		}
	}
}

// obey adds up the orders that veterans hear. Its invariant: each veteran hears
// the orders of one commander in the order sent, none twice.
func (s *stage) obey(b *world.Build) func(*world.Context) {
	orders, sums := world.Receive[order](b), world.Write[sum](b)
	type pair struct {
		veteran   handle.Handle
		commander int64
	}
	newest := map[pair]int64{}
	return func(c *world.Context) {
		for _, e := range orders.All() {
			if !c.Owns(e.To) {
				panic(fmt.Sprintf("%v hears an order in shard %d", e.To, c.Shard()))
			}
			at := pair{e.To, e.Body.Commander}
			if newest[at] >= e.Body.Seq {
				panic(fmt.Sprintf("%v hears order %d of commander %d after %d", e.To, e.Body.Seq, e.Body.Commander, newest[at]))
			}
			newest[at] = e.Body.Seq
			sums.Get(e.To).N += e.Body.Seq
		}
	}
}

// watch reads the veterans of all shards. Its invariant: it sees what this
// tick's systems before it wrote, in whichever shard.
func (s *stage) watch(b *world.Build) func(*world.Context) {
	beats, sums := world.ReadForeign[beat](b), world.ReadForeign[sum](b)
	heard := make([]int64, len(s.veterans))
	return func(c *world.Context) {
		for i, h := range s.veterans {
			if x, ok := beats.Get(h); !ok || x.N != c.Tick()+1 {
				panic(fmt.Sprintf("veteran %v has %d beats in tick %d, found %t", h, x.N, c.Tick(), ok))
			}
			x, _ := sums.Get(h)
			if x.N < heard[i] {
				panic(fmt.Sprintf("veteran %v heard %d, and then %d", h, heard[i], x.N))
			}
			heard[i] = x.N
		}
	}
}

// breeder is one shard's breed: it makes mayflies and destroys them some ticks
// later. Its invariant: they live for exactly the ticks given to them, and their
// handles tell.
type breeder struct {
	living []handle.Handle // oldest first
}

const (
	brood      = 30 // mayflies made by a shard in a tick
	broodTicks = 4  // ticks that they are seen in
)

func (s *stage) breed(b *world.Build) func(*world.Context) {
	me := &s.breeders[b.Shard()]
	b.Creates(s.mayflies)
	beats := world.Write[beat](b)
	var dying []handle.Handle
	return func(c *world.Context) {
		for _, h := range dying {
			if c.Alive(h) || c.Status(h) != world.Stale || beats.Get(h) != nil {
				panic(fmt.Sprintf("mayfly %v is %v a tick after its end", h, c.Status(h)))
			}
		}
		dying = dying[:0]
		if len(me.living) == brood*broodTicks {
			for _, h := range me.living[:brood] {
				if x := beats.Get(h); x == nil || x.N != broodTicks {
					panic(fmt.Sprintf("mayfly %v is %v and not %d ticks old", h, c.Status(h), broodTicks))
				}
				if err := c.Destroy(h); err != nil || !c.Alive(h) || c.Status(h) != world.Dying {
					panic(fmt.Sprintf("mayfly %v is destroyed: %v; it is %v", h, err, c.Status(h)))
				}
				dying = append(dying, h)
			}
			me.living = append(me.living[:0], me.living[brood:]...)
		}
		for range brood {
			h, err := s.mayflies.Create(c, mayfly{})
			if err != nil {
				panic(err)
			}
			me.living = append(me.living, h)
		}
	}
}
