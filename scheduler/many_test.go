package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/world"
)

type part[T any] struct{ V T }

// TestFencesOfMany compares the fences of random systems with what a look at each pair gives.
func TestFencesOfMany(t *testing.T) {
	r := rand.New(rand.NewPCG(seed.Of(t), 0))
	for range 60 {
		w := world.MustNew(world.Options{Shards: 3})
		world.Register[part[int]](w, "a")
		world.Register[part[string]](w, "b")
		world.RegisterResource(w, "c", part[int8]{})
		world.RegisterAccumulator(w, "d", func(*part[int16], *part[int16]) {})
		s := New(w, Options{Workers: 1})
		for i := range 2 + r.IntN(25) {
			var o []Option
			if r.IntN(4) == 0 {
				o = append(o, Global())
			}
			uses := []int{r.IntN(12), r.IntN(12)}
			if err := s.Add(fmt.Sprint(i), func(b *world.Build) func(*world.Context) {
				for _, x := range uses {
					ask(b, x)
				}
				return func(*world.Context) {}
			}, o...); err != nil {
				require.ErrorContains(t, err, "split it into two systems")
			}
		}
		schedule, err := s.Schedule()
		require.NoError(t, err)
		var want []Fence
		for _, f := range fencesByPairs(s.tick.engine, s.tick.systems) {
			want = append(want, f.public(s.tick.systems))
		}
		require.Equal(t, want, schedule.Fences)
	}
}

// ask asks for one of some kinds of access.
func ask(b *world.Build, kind int) {
	near := []int{(b.Shard() + 4) % 3}
	switch global := b.Shard() == world.AllShards; {
	case kind == 0:
		world.Write[part[int]](b)
	case kind == 1 && !global:
		world.ReadForeign[part[int]](b)
	case kind == 2:
		world.Write[part[string]](b)
	case kind == 3 && !global:
		world.ReadForeign[part[string]](b, near...)
	case kind == 4 && global:
		world.WriteResource[part[int8]](b)
	case kind == 5:
		world.ReadResource[part[int8]](b)
	case kind == 6 && !global:
		world.Accumulate[part[int16]](b)
	case kind == 7:
		world.ReadResource[part[int16]](b)
	case kind == 8 && !global:
		world.ReadForeign[part[int]](b, near...)
	case kind == 9:
		world.ReadForeign[part[int]](b)
	}
}

// fencesByPairs looks for each system at all that come before it.
func fencesByPairs(d *engine.World, systems []*system) (fences []fence) {
	for i, s := range systems {
		all, global := false, false
		var some []fence
		for k := i - 1; k >= 0; k-- {
			other := systems[k]
			if other.global && global || !other.global && all {
				continue
			}
			switch far, near := reasons(d, other, s); {
			case len(far) > 0 && other.global:
				global = true
				some = append(some, fence{i, k, false, far})
			case len(far) > 0:
				all = true
				some = append(some, fence{i, k, false, far})
			case len(near) > 0:
				some = append(some, fence{i, k, true, near})
			}
		}
		slices.Reverse(some)
		fences = append(fences, some...)
	}
	return fences
}

// TestOrderOfMany adds systems with random wishes, and compares the order with what a search for
// the first that may come next gives. Add refuses exactly those after which there is none.
func TestOrderOfMany(t *testing.T) {
	r := rand.New(rand.NewPCG(seed.Of(t), 0))
	refused := 0
	for range 200 {
		w := world.MustNew(world.Options{Shards: 1})
		s := New(w, Options{Workers: 1})
		var added []*system
		n := 2 + r.IntN(12)
		for i := range n {
			x := &system{name: fmt.Sprint(i)}
			x.stage = Stage(max(0, r.IntN(6)-4))
			o := []Option{In(x.stage)}
			for range max(0, r.IntN(6)-3) {
				if name := fmt.Sprint(r.IntN(n)); r.IntN(2) == 0 {
					o, x.before = append(o, Before(name)), append(x.before, name)
				} else {
					o, x.after = append(o, After(name)), append(x.after, name)
				}
			}
			err := s.Add(x.name, func(*world.Build) func(*world.Context) { return func(*world.Context) {} }, o...)
			if want, ok := orderBySearch(append(slices.Clone(added), x)); ok {
				require.NoError(t, err)
				added = append(added, x)
				require.Equal(t, want, s.Systems())
			} else {
				require.Error(t, err)
				refused++
			}
		}
		names := map[string]bool{}
		for _, x := range added {
			names[x.name] = true
		}
		missing := slices.ContainsFunc(added, func(x *system) bool {
			return slices.ContainsFunc(slices.Concat(x.before, x.after), func(name string) bool { return !names[name] })
		})
		_, err := s.Schedule()
		require.Equal(t, missing, err != nil, "%v", err)
	}
	require.Greater(t, refused, 100)
}

// orderBySearch returns the names of systems in the order in which they run, if there is one.
func orderBySearch(added []*system) (names []string, ok bool) {
	mustPrecede := func(a, b *system) bool { return slices.Contains(a.before, b.name) || slices.Contains(b.after, a.name) }
	left := slices.Clone(added)
	slices.SortStableFunc(left, func(a, b *system) int { return int(a.stage - b.stage) })
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(s *system) bool {
			return !slices.ContainsFunc(left, func(x *system) bool { return mustPrecede(x, s) })
		})
		if i < 0 {
			return nil, false
		}
		names = append(names, left[i].name)
		left = slices.Delete(left, i, i+1)
	}
	for _, a := range added {
		for _, b := range added {
			if mustPrecede(a, b) && a.stage > b.stage {
				return nil, false
			}
		}
	}
	return names, true
}
