package scheduler_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// naiveLevel is what Level decides by numbers of entities, one entity at a time.
type naiveLevel struct {
	above, until float64
	limit, least int
	giving       map[int]bool
}

// decide returns how many entities each shard is to have then.
func (l *naiveLevel) decide(counts []int) []int {
	total := 0
	for _, n := range counts {
		total += n
	}
	mean := float64(total) / float64(len(counts))
	var donors, takers []int
	for i, n := range counts {
		if float64(n) <= l.until*mean {
			delete(l.giving, i)
		} else if float64(n) > l.above*mean && n-int(math.Ceil(mean)) >= l.least {
			l.giving[i] = true
		}
		if l.giving[i] {
			donors = append(donors, i)
		}
		if float64(n) < mean {
			takers = append(takers, i)
		}
	}
	after := slices.Clone(counts)
	slices.SortStableFunc(donors, func(a, b int) int { return cmp.Compare(counts[b], counts[a]) })
	slices.SortStableFunc(takers, func(a, b int) int { return cmp.Compare(counts[a], counts[b]) })
	left := l.limit
	for _, g := range donors {
		for left > 0 && float64(after[g])-1 >= mean {
			to := slices.IndexFunc(takers, func(i int) bool { return float64(after[i])+1 <= mean })
			if to < 0 {
				return after
			}
			after[g]--
			after[takers[to]]++
			left--
		}
	}
	return after
}

// TestLevel compares with the naive model, over ticks in which the numbers drift.
func TestLevel(t *testing.T) {
	decided := 0
	for seed := range uint64(iterations(400)) {
		r := rand.New(rand.NewPCG(seed, 0))
		o := scheduler.LevelOptions{
			Above: 1 + r.Float64(), Limit: 1 + r.IntN(500), Least: 1 + r.IntN(20),
		}
		o.Until = 1 + (o.Above-1)*r.Float64()
		level := scheduler.Level(o)
		naive := &naiveLevel{o.Above, o.Until, o.Limit, o.Least, map[int]bool{}}
		counts := make([]int, 1+r.IntN(12))
		for i := range counts {
			counts[i] = r.IntN(100) * r.IntN(10)
		}
		for tick := range uint64(30) {
			want := naive.decide(counts)
			got := slices.Clone(counts)
			costs := make([]scheduler.ShardCost, len(counts))
			for i, n := range counts {
				costs[i] = scheduler.ShardCost{Entities: n, Time: time.Duration(r.Int64())}
			}
			shifts := level.Balance(tick, costs, nil)
			decided += len(shifts)
			for _, x := range shifts {
				require.Positive(t, x.Entities)
				require.NotEqual(t, x.From, x.To)
				got[x.From] -= x.Entities
				got[x.To] += x.Entities
			}
			require.Equal(t, want, got, "seed %d, tick %d, of %v", seed, tick, counts)
			for i := range got {
				counts[i] = max(0, got[i]+r.IntN(41)-20)
			}
		}
	}
	require.NotZero(t, decided)
}

// TestLevelHysteresis sees that a load between the two bounds makes nobody move,
// unless it comes from above.
func TestLevelHysteresis(t *testing.T) {
	level := scheduler.Level(scheduler.LevelOptions{Above: 1.5, Until: 1.1, Limit: 100, Least: 1})
	shift := func(first int) (n int) {
		for _, x := range level.Balance(0, []scheduler.ShardCost{{Entities: first}, {Entities: 2000 - first}}, nil) {
			require.Zero(t, x.From)
			n += x.Entities
		}
		return n
	}
	for _, step := range []struct{ first, want int }{
		{1000, 0}, {1400, 0}, {1500, 0}, {1501, 100}, {1400, 100}, {1150, 100}, {1101, 100}, {1100, 0}, {1400, 0}, {1600, 100}, {1050, 0}, {1200, 0},
	} {
		require.Equal(t, step.want, shift(step.first), "at %d", step.first)
	}
}

// TestLevelState sees that a hash of the state sees which shards are giving.
func TestLevelState(t *testing.T) {
	var at [2][]byte
	for i, heap := range []int{150, 2000} {
		f := newFixtureOf(t, world.Options{Shards: 2}, scheduler.Options{Balancer: scheduler.Level(scheduler.LevelOptions{Limit: 10})})
		f.heap(heap, 0)
		f.step(1)
		at[i] = f.AppendState(nil)
	}
	require.Equal(t, []byte{1, 0, 0}, at[0])
	require.Equal(t, []byte{1, 1, 0}, at[1])
}

func TestLevelRefuses(t *testing.T) {
	for want, o := range map[string]scheduler.LevelOptions{
		"scheduler: Level: Above is 0.9, want 1 or more, or 0 for 1.25":                 {Above: 0.9},
		"scheduler: Level: Above is NaN, want 1 or more, or 0 for 1.25":                 {Above: math.NaN(), Until: 1},
		"scheduler: Level: Above is +Inf, want 1 or more, or 0 for 1.25":                {Above: math.Inf(1)},
		"scheduler: Level: Until is 1.3, want 1 to 1.25, which is Above, or 0 for 1.05": {Until: 1.3},
		"scheduler: Level: Until is 0.5, want 1 to 1.25, which is Above, or 0 for 1.05": {Until: 0.5},
		"scheduler: Level: Limit is -1, want 1 or more, or 0 for 4096":                  {Limit: -1},
		"scheduler: Level: Least is -1, want 1 or more, or 0 for 128":                   {Least: -1},
		"scheduler: Level: Every is -1, want 1 or more, or 0 for 1":                     {Every: -1},
	} {
		require.PanicsWithValue(t, want, func() { scheduler.Level(o) })
	}
}
