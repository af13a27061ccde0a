package world_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/world"
)

// TestHookRandom acts at random. Who keeps a list by what hooks tell knows at each
// refresh which entities have the components; and hooks are told the same when the steps
// of the refresh run in other orders.
func TestHookRandom(t *testing.T) {
	for range iterations(20) + 3 {
		seed := seed.Of(t)
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			var last []told
			for i, parallel := range []extend.Parallel{forwards, reverse, scattered(seed)} {
				s := &hookScene{fixture: newFixture(t, world.Options{Shards: 4}), r: rand.New(rand.NewPCG(seed, 2)), parallel: parallel}
				got := s.run(iterations(60) + 5)
				if i > 0 {
					require.Equal(t, last, got)
				}
				last = got
			}
		})
	}
}

func forwards(n int, f func(int)) {
	for i := range n {
		f(i)
	}
}

// scattered is an extend.Parallel in random order, on as many goroutines.
func scattered(seed uint64) extend.Parallel {
	r := rand.New(rand.NewPCG(seed, 3))
	return func(n int, f func(int)) {
		done := make(chan bool)
		for _, i := range r.Perm(n) {
			go func() { defer func() { done <- true }(); f(i) }()
		}
		for range n {
			<-done
		}
	}
}

type hookScene struct {
	*fixture
	r        *rand.Rand
	parallel extend.Parallel
	d        diary
	port     *world.Port
	hs       []handle.Handle
	listed   map[string]map[handle.Handle]bool // by hook
}

func (s *hookScene) run(ticks int) (all []told) {
	s.d.observe(s.fixture, "health", anything, s.health)
	s.d.observe(s.fixture, "both", anything, s.health, s.position)
	s.listed = map[string]map[handle.Handle]bool{"health": {}, "both": {}}
	var err error
	s.port, err = s.OpenPort()
	require.NoError(s.t, err)
	for range ticks {
		for range s.r.IntN(40) {
			s.act(s.World)
		}
		tick := engine.Of(s.World).BeginTick()
		for i := range s.Shards() {
			s.in(i, func(c *world.Context) {
				for range s.r.IntN(20) {
					s.act(c)
				}
			})
		}
		for range s.r.IntN(20) {
			s.act(s.port)
		}
		tick.End(s.parallel)
		require.NoError(s.t, s.Failure())
		got := s.d.read()
		for _, x := range got {
			s.list(x)
		}
		s.check()
		all = append(all, got...)
	}
	return all
}

// act does something to somebody.
func (s *hookScene) act(by world.Actor) {
	if len(s.hs) < 20 || s.r.IntN(6) == 0 {
		var h handle.Handle
		var err error
		if s.r.IntN(2) == 0 {
			h, err = s.unit.Create(by, Unit{})
		} else {
			h, err = s.creature.Create(by, Creature{})
		}
		require.NoError(s.t, err)
		s.hs = append(s.hs, h)
		return
	}
	h := s.hs[s.r.IntN(len(s.hs))]
	w, idle := by.(*world.World)
	if _, port := by.(*world.Port); !port && !by.Alive(h) {
		return
	}
	switch s.r.IntN(7) {
	case 0:
		if idle {
			w.Destroy(h)
		} else if p, ok := by.(*world.Port); ok {
			require.NoError(s.t, p.Destroy(h))
		} else {
			require.NoError(s.t, by.(*world.Context).Destroy(h))
		}
	case 1:
		if !idle || w.Status(h) == world.Alive {
			require.NoError(s.t, world.Move(by, h, s.r.IntN(s.Shards())))
		}
	case 2:
		_ = s.health.Remove(by, h)
	case 3:
		_ = s.health.Add(by, h, Health{1})
	case 4:
		_ = s.position.Remove(by, h)
	case 5:
		_ = s.position.Add(by, h, Position{})
	case 6:
		_ = s.health.Set(by, h, Health{2})
	}
}

// list does to the hook's list what it is told.
func (s *hookScene) list(x told) {
	list := s.listed[x.hook]
	require.NotEmpty(s.t, x.hs)
	for i, h := range x.hs {
		require.NotContains(s.t, x.hs[:i], h)
		switch x.on {
		case world.OnCreate, world.OnAdd:
			require.False(s.t, list[h], "%v of %v", x.on, h)
			list[h] = true
		case world.OnRemove, world.OnDestroy:
			require.True(s.t, list[h], "%v of %v", x.on, h)
			delete(list, h)
		case world.OnSet:
			require.True(s.t, list[h], "%v of %v", x.on, h)
		}
	}
}

// check compares the lists with the world.
func (s *hookScene) check() {
	health, both := 0, 0
	for _, h := range s.hs {
		if !s.Has(h, s.health) {
			continue
		}
		health++
		require.True(s.t, s.listed["health"][h])
		if s.Has(h, s.position) {
			both++
			require.True(s.t, s.listed["both"][h])
		}
	}
	require.Len(s.t, s.listed["health"], health)
	require.Len(s.t, s.listed["both"], both)
	s.hs = slices.DeleteFunc(s.hs, func(h handle.Handle) bool { return !s.Alive(h) })
}
