package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestSameWorld runs one simulation with different numbers of workers and
// processors, each dawdling at its own will. After every few ticks all entities
// are the same: the same handles, with the same components, in the same order.
func TestSameWorld(t *testing.T) {
	ticks := iterations(100)
	want := simulate(t, 1, ticks)
	require.Greater(t, len(want[len(want)-1]), 10_000, "there is something to compare")
	for _, workers := range []int{1, 2, 3, 8} {
		for _, procs := range []int{1, 2, 4} {
			t.Run(fmt.Sprintf("%d workers, %d processors", workers, procs), func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				got := simulate(t, workers, ticks)
				for i := range want {
					if got[i] != want[i] {
						t.Fatalf("the worlds differ at look %d:\n%s", i, firstDifference(want[i], got[i]))
					}
				}
			})
		}
	}
}

// Hunter is a component with a handle in it: whom it follows, anywhere.
type Hunter struct {
	Target handle.Handle
	Near   float64
}

// hunting is the simulation: hunters follow targets in other shards, push them
// by messages, are pushed, breed and die; ports create, command and destroy.
type hunting struct {
	*fixture
	hunters *world.Bundle[hunter]
	hunter  *world.Component[Hunter]
}

type hunter struct {
	Position
	Hunter
}

func simulate(t *testing.T, workers, ticks int) (looks []string) {
	f := newFixture(t, 8, workers)
	s := &hunting{fixture: f, hunter: world.Register[Hunter](f.w, "hunter")}
	s.hunters = world.NewBundle[hunter](f.w)
	f.MustAdd("follow", s.follow).MustAdd("near", s.near).MustAdd("breed", s.breed).MustAdd("die", s.die).MustAdd("roam", s.roam)

	var all []handle.Handle
	all, err := s.hunters.AppendN(nil, f.w, 800, func(i int, h *hunter) {
		h.X, h.Y = float64(i), float64(i%7)
		if len(all) > 0 {
			h.Target = all[i*31%len(all)]
		}
	})
	require.NoError(t, err)
	for i, h := range all {
		require.NoError(t, s.hunter.Set(f.w, h, Hunter{Target: all[(i*31+7)%len(all)]}))
	}
	var ports []*world.Port
	for range 3 {
		p, err := f.w.OpenPort()
		require.NoError(t, err)
		ports = append(ports, p)
	}
	r := rand.New(rand.NewPCG(7, 7)) // what ports send is the same each time
	for tick := range ticks {
		n := 40
		if tick%10 == 5 { // enough for each step of a refresh to run in parallel
			n = 2500
		}
		for range n {
			p, h := ports[r.IntN(len(ports))], all[r.IntN(len(all))]
			switch r.IntN(5) {
			case 0:
				h, err := s.hunters.Create(p, hunter{Position{r.Float64(), 0}, Hunter{Target: h}})
				require.NoError(t, err)
				all = append(all, h)
			case 1:
				require.NoError(t, p.Destroy(h))
			case 2:
				require.NoError(t, s.hunter.Set(p, h, Hunter{Target: all[r.IntN(len(all))]}))
			case 3:
				require.NoError(t, f.push.Send(p, h, Push{r.Float64()}))
			case 4:
				require.NoError(t, world.Move(p, h, r.IntN(f.w.Shards())))
			}
		}
		f.step(1)
		if tick%10 == 9 || tick == ticks-1 {
			looks = append(looks, s.look())
		}
	}
	return looks
}

// look writes down everything, in the order in which it is stored.
func (s *hunting) look() string {
	var b strings.Builder
	position, hunters := world.Read[Position](s.w), world.Read[Hunter](s.w)
	for ch := range s.w.Query(position, hunters).Chunks() {
		p, h := position.Slice(ch), hunters.Slice(ch)
		for i := range p {
			fmt.Fprintln(&b, ch.Handle(i), p[i], h[i])
		}
	}
	return b.String()
}

// follow takes up the pushes and moves.
func (s *hunting) follow(b *world.Build) func(*world.Context) {
	position, pushes := world.Write[Position](b), world.Receive[Push](b)
	all := b.Query(position)
	return func(*world.Context) {
		dawdle()
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
		dawdle()
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
	r := rand.New(rand.NewPCG(1, uint64(b.Shard()))) // this shard's
	return func(c *world.Context) {
		dawdle()
		for ch := range all.Chunks() {
			for _, h := range ch.Handles() {
				if r.IntN(20) == 0 {
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
		dawdle()
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
	r := rand.New(rand.NewPCG(3, uint64(b.Shard())))
	return func(c *world.Context) {
		dawdle()
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

// firstDifference shows the first lines that differ.
func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d of %d:\n%s\nline %d of %d:\n%s", i, len(w), w[i], i, len(g), g[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(w), len(g))
}
