package scheduler_test

import (
	"math/rand/v2"

	"github.com/atoll-sim/atoll/world"
)

// The systems of the simulation.

// follow takes up the pushes and moves.
func (s *hunting) follow(b *world.Build) func(*world.Context) {
	position, pushes := world.Write[Position](b), world.Receive[Push](b)
	all := b.Query(position)
	return func(*world.Context) {
		pause()
		for i, e := range pushes.All() {
			if p := position.Get(e.To); p != nil {
				p.X = p.X*1.01 + e.Body.X*float64(i+1) // the order shows
			}
		}
		for ch := range all.Chunks() {
			for i := range position.Slice(ch) {
				position.Slice(ch)[i].Y *= 0.99
			}
		}
	}
}

// near reads the targets, wherever they are, and pushes some.
func (s *hunting) near(b *world.Build) func(*world.Context) {
	hunters, position := world.Write[Hunter](b), world.ReadForeign[Position](b)
	all := b.Query(hunters)
	return func(c *world.Context) {
		pause()
		n := 0
		for ch := range all.Chunks() {
			for i, h := range hunters.Slice(ch) {
				p, ok := position.Get(h.Target)
				if !ok {
					continue
				}
				hunters.Slice(ch)[i].Near = p.X - p.Y + h.Near/2
				if n++; n%3 == 0 && s.push.Send(c, h.Target, Push{h.Near}) != nil {
					panic("refused")
				}
			}
		}
	}
}

// breed makes a hunter for one in some, following it.
func (s *hunting) breed(b *world.Build) func(*world.Context) {
	b.Creates(s.hunters)
	all := b.Query(world.With[Hunter](b))
	season := world.ReadResource[Season](b)
	return func(c *world.Context) {
		pause()
		r := c.Rand()
		for ch := range all.Chunks() {
			for _, h := range ch.Handles() {
				if r.IntN(season.Get().Odds) == 0 {
					if _, err := s.hunters.Create(c, hunter{Position{r.Float64(), 1}, Hunter{Target: h}}); err != nil {
						panic(err)
					}
				}
			}
		}
	}
}

// die destroys some by the shard's own hand, and some targets elsewhere.
func (s *hunting) die(b *world.Build) func(*world.Context) {
	hunters := world.Read[Hunter](b)
	all := b.Query(hunters)
	r := rand.New(rand.NewPCG(2, uint64(b.Shard())))
	return func(c *world.Context) {
		pause()
		for ch := range all.Chunks() {
			for i, h := range ch.Handles() {
				odds := 50
				if c.Tick()%10 == 7 { // enough for a sweep in parallel
					odds = 4
				}
				switch r.IntN(odds) {
				case 0, 1:
					_ = c.Destroy(h)
				case 2:
					_ = c.Destroy(hunters.Slice(ch)[i].Target) // may be stale, or destroyed by others, too
				}
			}
		}
	}
}

// roam moves hunters to the shards of their targets, some of its own and some of
// others.
func (s *hunting) roam(b *world.Build) func(*world.Context) {
	hunters := world.Read[Hunter](b)
	all := b.Query(hunters)
	return func(c *world.Context) {
		pause()
		r := c.Rand()
		odds := 60
		if c.Tick()%10 == 3 { // enough for moves in parallel
			odds = 5
		}
		for ch := range all.Chunks() {
			for i, h := range ch.Handles() {
				switch target := hunters.Slice(ch)[i].Target; r.IntN(odds) {
				case 0, 1:
					if to, ok := c.Owner(target); ok && world.Move(c, h, to) != nil {
						panic("refused")
					}
				case 2:
					_ = world.Move(c, target, c.Shard()) // may be stale
				}
			}
		}
	}
}

// count adds up the hunters, and what they have come near to.
func (s *hunting) count(b *world.Build) func(*world.Context) {
	mine, hunters := world.Accumulate[Census](b), world.Read[Hunter](b)
	all := b.Query(hunters)
	return func(*world.Context) {
		pause()
		for ch := range all.Chunks() {
			for _, h := range hunters.Slice(ch) {
				mine.Hunters++
				mine.Sum += h.Near
			}
		}
	}
}

// drift moves hunters whose target is in this shard or the next one.
func (s *hunting) drift(b *world.Build) func(*world.Context) {
	position, near := world.Write[Position](b), world.ReadForeign[Hunter](b, (b.Shard()+1)%b.Shards())
	census := world.ReadResource[Census](b)
	all := b.Query(position, world.With[Hunter](b))
	return func(c *world.Context) {
		pause()
		r := c.Rand()
		for ch := range all.Chunks() {
			p := position.Slice(ch)
			for i, h := range ch.Handles() {
				if x, ok := near.Get(h); ok {
					if _, ok := near.Get(x.Target); ok {
						p[i].X += r.Float64() + float64(census.Get().Hunters%7)
					}
				}
			}
		}
	}
}

// turn changes the season.
func (s *hunting) turn(b *world.Build) func(*world.Context) {
	season := world.WriteResource[Season](b)
	return func(c *world.Context) { season.Odds = 18 + c.Rand().IntN(5) }
}

// cull destroys some wherever they are, and makes one of each ten anew.
func (s *hunting) cull(b *world.Build) func(*world.Context) {
	b.Creates(s.hunters)
	position := world.Write[Position](b)
	all := b.Query(position, world.With[Hunter](b))
	return func(c *world.Context) {
		n := 0
		for ch := range all.Chunks() {
			for i, h := range ch.Handles() {
				switch n++; n % 30 {
				case 0:
					if c.Destroy(h) != nil {
						panic("not alive")
					}
				case 7:
					position.Slice(ch)[i].Y++
				case 9:
					if _, err := s.hunters.Create(c, hunter{Position{float64(n), 0}, Hunter{Target: h}}); err != nil {
						panic(err)
					}
				}
			}
		}
	}
}
