package transit_test

import (
	"context"
	"iter"
	"testing"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/seed"
)

// underWay yields what is under way to a world: to one that was given up, all that its sender has.
func underWay[T any](to *node, waiting func(transit.World) iter.Seq2[uint64, T], unaccepted func(*transit.Roads) iter.Seq2[uint64, T]) iter.Seq2[uint64, T] {
	if to.buried {
		return waiting(to.number)
	}
	return unaccepted(to.roads)
}

// somewhere returns a node that something is sent to: seldom one that was given up.
func (s *sim) somewhere(to int) *node {
	if y := s.nodes[s.dice.IntN(len(s.nodes))]; y.buried && s.dice.IntN(3) == 0 {
		return y
	}
	return s.nodes[to]
}

// isLate reports whether a parcel is of a world that its receiver has forgotten.
func (s *sim) isLate(p parcel) bool {
	way := p.between()
	return s.nodes[p.at].roads.HasForgotten(s.nodes[way[0]+way[1]-p.at].number)
}

// living returns the nodes that were not given up.
func (s *sim) living() (all []*node) {
	for _, x := range s.nodes {
		if !x.buried {
			all = append(all, x)
		}
	}
	return all
}

// giveUp has worlds closed, one after another. Each is given up as soon as it may be, and forgotten by
// the others at some time. Others begin.
func (s *sim) giveUp() {
	switch s.dice.IntN(16) {
	case 0:
		if s.ending != nil {
			break
		}
		if len(s.living()) == 2 && s.births > 0 {
			s.births--
			s.add()
			s.log("world %d begins", len(s.nodes))
		}
		if len(s.living()) > 2 {
			s.closeOne()
		}
	case 1, 2:
		s.forgetOne(s.one(), s.nodes[s.dice.IntN(len(s.nodes))])
	case 3, 4, 5:
		if s.ending != nil {
			for _, y := range s.living() {
				if y != s.ending {
					s.carrySome(s.ending, y, 1)
					s.carrySome(y, s.ending, 1)
				}
			}
		}
	}
	s.bury()
}

// closeOne closes a world while others send to it.
func (s *sim) closeOne() {
	x := s.one()
	for _, y := range s.living() {
		if x == y {
			continue
		}
		if s.dice.IntN(2) == 0 {
			s.payFrom(y, x)
		} else {
			s.sailFrom(y, x)
		}
		s.carrySome(x, y, 6)
		s.carrySome(y, x, 2)
	}
	s.ending = x
	s.log("world %d is to be closed", x.number)
}

// carrySome carries a few times, and leaves the rest to others.
func (s *sim) carrySome(from, to *node, least int) {
	p, ok := s.ask(int(from.number)-1, int(to.number)-1), true
	for range least + s.dice.IntN(4) {
		if p, ok = s.deliver(p); !ok {
			return
		}
	}
	s.pool = append(s.pool, p)
}

// bury gives up the world that is closed, if it may be. What is on its disk does not matter any more.
func (s *sim) bury() {
	x := s.ending
	if x == nil {
		return
	}
	if !x.roads.IsClosed() { // it has died since, perhaps
		if x.byPort() && x.openPorts() {
			_ = x.roads.Close(x.port)
			x.step()
		} else if !x.byPort() {
			s.must(x.roads.Close(x.World))
		}
	}
	if !x.roads.Done() {
		return
	}
	for range 3 { // what has come last comes to where it belongs
		if !x.step() {
			return
		}
	}
	s.log("world %d is given up", x.number)
	things, _ := x.things(true)
	for _, v := range things {
		s.gold -= v.gold
		s.fleet[v.serial]--
	}
	s.gold -= x.chest.Get()
	for _, h := range x.people {
		if x.Alive(h) {
			s.gold -= x.gold(h)
		}
	}
	x.end()
	x.World.Close()
	x.buried, s.ending = true, nil
}

// byPort reports whether an operator must use a port, as the idle world cannot be changed, or its
// disk may fail then.
func (x *node) byPort() bool { return x.sealed || x.disk != nil }

// forgetOne has a world forget one that was given up.
func (s *sim) forgetOne(x, y *node) {
	if !y.buried || x.roads.HasForgotten(y.number) {
		return
	}
	s.log("world %d forgets world %d", x.number, y.number)
	if !x.byPort() && s.dice.IntN(2) == 0 {
		_, err := x.roads.Resolve(context.Background(), x.World, y.number, transit.Forget)
		s.must(err)
	} else if a, ok := request(x, x.roads.Resolving(), transit.Resolve{Peer: y.number, How: transit.Forget}); ok {
		did, err := a.Get(context.Background())
		if x.survives(err) && did.Left > 0 {
			s.fail("world %d has %d items for world %d after all were resolved", x.number, did.Left, y.number)
		}
	}
	if s.dice.IntN(4) == 0 {
		x.crash()
	}
}

// survives reports whether a call has done what it should. If the disk has failed, the world dies.
func (x *node) survives(err error) bool {
	if err != nil && x.disk != nil && (x.store.Err() != nil || x.World.Err() != nil) {
		x.crash()
		return false
	}
	x.sim.must(err)
	return true
}

// forgetAll has all worlds that were given up be forgotten, of which a world is not done before.
func (s *sim) forgetAll() {
	for _, x := range s.living() {
		for _, y := range s.nodes {
			for y.buried && !x.roads.HasForgotten(y.number) {
				s.forgetOne(x, y)
				x.step()
			}
		}
	}
}

// end gives up the world that is closed, which must be possible.
func (s *sim) end() {
	for n := 0; s.ending != nil; n++ {
		if n == 50 {
			s.fail("world %d is closed, and is never done", s.ending.number)
		}
		s.forgetAll() // once more, if one has died since, before that was on disk
		s.drain()
		s.bury()
	}
	s.forgetAll()
	s.drain()
	for _, x := range s.living() {
		for _, n := range x.roads.Peers() {
			if x.roads.HasForgotten(n) {
				s.fail("world %d knows world %d, which it has forgotten", x.number, n)
			}
		}
	}
}

// TestPlanted plants each mistake, and finds it within 2,000 seeds.
func TestPlanted(t *testing.T) {
	if check.Enabled {
		t.Skip("too slow, and it shows no races")
	}
	kind := map[string]uint64{"37": restoring, "a ": restoring, "43": closing} // of seeds that can find it
	from := seed.Of(t) >> 16 / kinds * kinds
	for name, m := range transit.Mistakes {
		t.Run(name, func(t *testing.T) {
			defer transit.Plant(m)()
			step, from := uint64(1), from
			if k, ok := kind[name[:2]]; ok {
				step, from = kinds, from+k
			}
			for i := uint64(0); i < 2000; i += step {
				if problem, _ := simulate(from+i, 1, nil); problem != "" {
					t.Logf("found by seed %d, %d, of them: %s", i+1, from+i, problem)
					return
				}
			}
			t.Error("2,000 seeds have not found it")
		})
	}
}
