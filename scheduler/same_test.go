package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestSameWorld runs one simulation with different numbers of workers and
// processors, each dawdling at its own will. After every few ticks all entities
// are the same: the same handles, with the same components, in the same order.
func TestSameWorld(t *testing.T) {
	ticks := iterations(50)
	for _, shards := range []int{8, 40} {
		want := simulate(t, shards, scheduler.Options{Workers: 1}, ticks)
		require.Greater(t, len(want[len(want)-1]), 10_000, "there is something to compare")
		for _, workers := range []int{1, 2, 3, 8, 32} {
			for _, procs := range []int{1, 2, 8} {
				if check.Enabled && (procs+workers+shards)%3 != 0 { // each number is with each other in some
					continue
				}
				chaos := uint64(workers+procs) % 2 * seed.Of(t)
				t.Run(fmt.Sprintf("%d shards, %d workers, %d processors, chaos %d", shards, workers, procs, chaos), func(t *testing.T) {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
					got := simulate(t, shards, scheduler.Options{Workers: workers, Chaos: chaos}, ticks)
					for i := range want {
						if got[i] != want[i] {
							t.Fatalf("the worlds differ at look %d:\n%s", i, firstDifference(want[i], got[i]))
						}
					}
				})
			}
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
	census  *world.Resource[Census]
	season  *world.Resource[Season]
}

// Census is what shards count together, in a way in which the order shows.
type Census struct {
	Hunters int
	Sum     float64
}

// Season is a resource that a global system writes.
type Season struct{ Odds int }

type hunter struct {
	Position
	Hunter
}

func simulate(t *testing.T, shards int, o scheduler.Options, ticks int) (looks []string) {
	f := newFixtureOf(t, world.Options{Shards: shards, Seed: 5}, o)
	s := &hunting{fixture: f, hunter: world.Register[Hunter](f.w, "hunter")}
	s.hunters = world.NewBundle[hunter](f.w)
	s.season = world.RegisterResource(f.w, "season", Season{Odds: 40})
	s.census = world.RegisterAccumulator(f.w, "census", func(total, part *Census) {
		total.Hunters += part.Hunters
		total.Sum = total.Sum*0.9 + part.Sum
	})
	f.MustAdd("follow", s.follow).MustAdd("near", s.near).MustAdd("breed", s.breed).MustAdd("die", s.die).MustAdd("roam", s.roam)
	f.MustAdd("count", s.count, scheduler.After("near"), scheduler.Every(3, 1)).MustAdd("drift", s.drift)
	f.MustAdd("turn", s.turn, scheduler.Global(), scheduler.In(scheduler.PreUpdate))
	f.MustAdd("cull", s.cull, scheduler.Global(), scheduler.In(scheduler.PostUpdate), scheduler.When(func(w *world.World) bool {
		return w.Count() > 900 && w.Tick()%4 == 3
	}))

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
	fmt.Fprintln(&b, s.census.Get(), s.season.Get())
	position, hunters := world.Read[Position](s.w), world.Read[Hunter](s.w)
	for ch := range s.w.Query(position, hunters).Chunks() {
		p, h := position.Slice(ch), hunters.Slice(ch)
		for i := range p {
			fmt.Fprintln(&b, ch.Handle(i), p[i], h[i])
		}
	}
	return b.String()
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
