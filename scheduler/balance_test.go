package scheduler_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/allocs"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// balancer makes a Balancer of a function.
type balancer func(tick uint64, costs []scheduler.ShardCost, dst []scheduler.Shift) []scheduler.Shift

func (f balancer) Balance(tick uint64, costs []scheduler.ShardCost, dst []scheduler.Shift) []scheduler.Shift {
	return f(tick, costs, dst)
}

// playback decides what was recorded, by tick.
func playback(record [][]scheduler.Shift) scheduler.Balancer {
	return balancer(func(tick uint64, _ []scheduler.ShardCost, dst []scheduler.Shift) []scheduler.Shift {
		return append(dst, record[tick]...)
	})
}

// heap creates movers, all on one shard.
func (f *fixture) heap(n, shard int) {
	f.t.Helper()
	f.movers.PlaceBy(func(Mover) int { return shard })
	require.NoError(f.t, f.movers.CreateN(f.w, n, nil))
	f.movers.PlaceBy(nil)
}

// counts returns the number of entities by shard.
func (f *fixture) counts() (counts []int) {
	var stats world.Stats
	f.w.Stats(&stats)
	for _, s := range stats.Shards {
		counts = append(counts, s.Entities)
	}
	return counts
}

// TestBalance levels a world that is all on one shard, by so many in a tick, and
// then leaves it alone. What is pinned stays.
func TestBalance(t *testing.T) {
	var log bytes.Buffer
	f := newFixtureOf(t, world.Options{Shards: 4}, scheduler.Options{
		Workers: 2, Balancer: scheduler.Level(scheduler.LevelOptions{Limit: 700}), Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	f.w.Pin(f.value)
	markers := f.mark()
	f.heap(4000, 2)
	f.step(1)
	require.Equal(t, 3301, f.counts()[2])
	require.Equal(t, []scheduler.Shift{{From: 2, To: 0, Entities: 700}}, f.Shifts())
	f.step(9)
	require.Equal(t, []int{1001, 1001, 1001, 1001}, f.counts())
	require.Empty(t, f.Shifts())
	var stats scheduler.Stats
	f.Stats(&stats)
	require.EqualValues(t, 3000, stats.Shifted)
	require.EqualValues(t, 7, stats.Shifts, "700, 300 and 400, 600 and 100, 700, 300")
	for i, h := range markers {
		owner, _ := f.w.Owner(h)
		require.Equal(t, i, owner)
	}
	require.Contains(t, log.String(), `msg="entities shifted" tick=0 entities=700 shifts=1`)
}

// TestBalanceSame churns a world that grows on one shard, by count, and sees that
// workers do not show. Then by cost: the decisions, played back, make the same
// world.
func TestBalanceSame(t *testing.T) {
	run := func(workers int, by scheduler.Balancer) (sum uint64, record [][]scheduler.Shift) {
		f := newFixtureOf(t, world.Options{Shards: 6, Seed: 9}, scheduler.Options{Workers: workers, Balancer: by})
		f.mark()
		f.heap(1000, 1)
		f.MustAdd("churn", func(b *world.Build) func(*world.Context) {
			b.Creates(f.movers)
			positions := world.Write[Position](b)
			all := b.Query(positions)
			return func(c *world.Context) {
				pause()
				for ch := range all.Chunks() {
					for i, h := range ch.Handles() {
						positions.Slice(ch)[i].X += float64(c.Shard())
						if c.Rand().IntN(20) == 0 && c.Destroy(h) != nil {
							panic("refused")
						}
					}
				}
				for range 20 * c.Shard() {
					if _, err := f.movers.Create(c, Mover{Position: Position{c.Rand().Float64(), 0}}); err != nil {
						panic(err)
					}
				}
			}
		})
		hash := fnv.New64a()
		for range iterations(200) {
			f.step(1)
			record = append(record, slices.Clone(f.Shifts()))
			_, _ = fmt.Fprintln(hash, f.counts())
		}
		position := world.Read[Position](f.w)
		for ch := range f.w.Query(position).Chunks() {
			_, _ = fmt.Fprintln(hash, ch.Handles(), position.Slice(ch))
		}
		return hash.Sum64(), record
	}
	byCount := func() scheduler.Balancer { return scheduler.Level(scheduler.LevelOptions{Least: 5, Limit: 60}) }
	want, record := run(1, byCount())
	require.NotEmpty(t, slices.Concat(record...))
	for _, workers := range []int{2, 3, 8} {
		got, _ := run(workers, byCount())
		require.Equal(t, want, got, "%d workers", workers)
	}
	got, _ := run(2, playback(record))
	require.Equal(t, want, got, "played back")
}

// TestBalanceConcurrent balances while ports create on one shard, read by their
// handles, and destroy.
func TestBalanceConcurrent(t *testing.T) {
	f := newFixtureOf(t, world.Options{Shards: 4}, scheduler.Options{Workers: 2, Balancer: scheduler.Level(scheduler.LevelOptions{Least: 1, Above: 1.01})})
	f.movers.PlaceBy(func(Mover) int { return 3 })
	n := iterations(4000)
	var ports sync.WaitGroup
	for range 3 {
		p, err := f.w.OpenPort()
		require.NoError(t, err)
		ports.Go(func() {
			var made []handle.Handle
			for i := range n {
				if h, err := f.movers.Create(p, Mover{}); err == nil {
					made = append(made, h)
				}
				if i%2 == 1 && len(made) > 0 {
					_ = f.push.Send(p, made[0], Push{})
					_ = world.Move(p, made[0], i%4)
					if p.Destroy(made[0]) == nil {
						made = made[1:]
					}
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { ports.Wait(); close(done) }()
	for going := true; going; {
		select {
		case <-done:
			going = false
		default:
		}
		f.step(1)
	}
	f.step(20)
	counts := f.counts()
	require.Less(t, slices.Max(counts)-slices.Min(counts), max(4, f.w.Count()/50), "%v", counts)
}

// TestBalancerSees asks once in a tick, after the systems: what they created is
// among the costs.
func TestBalancerSees(t *testing.T) {
	var seen [][]int
	f := newFixtureOf(t, world.Options{Shards: 2}, scheduler.Options{Balancer: balancer(
		func(tick uint64, costs []scheduler.ShardCost, dst []scheduler.Shift) []scheduler.Shift {
			require.Len(t, seen, int(tick))
			seen = append(seen, []int{costs[0].Entities, costs[1].Entities})
			require.Equal(t, tick > 0, costs[1].Time > 0, "of the ticks before")
			return dst
		})})
	f.MustAdd("create", func(b *world.Build) func(*world.Context) {
		b.Creates(f.movers)
		return func(c *world.Context) {
			for range 3 + c.Shard() {
				if _, err := f.movers.Create(c, Mover{}); err != nil {
					panic(err)
				}
			}
		}
	})
	f.step(2)
	require.Equal(t, [][]int{{3, 4}, {6, 8}}, seen)
}

// TestBalancerPanics lets the balancer panic, and decide on what cannot be: the
// tick is completed, nobody is shifted, and the policy decides what then.
func TestBalancerPanics(t *testing.T) {
	calls := 0
	shifts := []scheduler.Shift{{From: 0, To: 1, Entities: 5}, {From: 0, To: 9, Entities: 1}}
	f := newFixtureOf(t, world.Options{Shards: 2}, scheduler.Options{IfPanics: scheduler.DisableSystem, Balancer: balancer(
		func(_ uint64, costs []scheduler.ShardCost, dst []scheduler.Shift) []scheduler.Shift {
			if calls++; calls == 1 {
				return append(dst, shifts[:1]...)
			}
			return append(dst, shifts...)
		})})
	f.heap(100, 0)
	f.step(1)
	require.Equal(t, []int{95, 5}, f.counts())
	err := f.Step(t.Context())
	var panicked *world.PanicError
	require.ErrorAs(t, err, &panicked)
	require.Equal(t, "balancer", panicked.In)
	require.EqualValues(t, 1, panicked.Tick)
	require.ErrorContains(t, err, "world: shift of 1 entities from shard 0 to 9")
	require.Empty(t, f.Shifts())
	f.step(2)
	require.Equal(t, 2, calls, "it is disabled")
	require.Equal(t, []int{95, 5}, f.counts())

	f = newFixtureOf(t, world.Options{Shards: 2}, scheduler.Options{Balancer: balancer(
		func(uint64, []scheduler.ShardCost, []scheduler.Shift) []scheduler.Shift { panic(errBroken) })})
	for tick := range uint64(3) {
		err := f.Step(t.Context())
		require.ErrorIs(t, err, errBroken)
		require.True(t, errors.As(err, &panicked) && panicked.Tick == tick)
	}
	require.ErrorIs(t, f.Run(t.Context()), errBroken, "by default it ends a Run")
}

// TestBalanceAllocatesNothing shifts in every tick.
func TestBalanceAllocatesNothing(t *testing.T) {
	if check.Enabled {
		t.Skip("the check build moves at each refresh what was handed out")
	}
	level := scheduler.Level(scheduler.LevelOptions{Least: 1})
	f := newFixtureOf(t, world.Options{Shards: 4}, scheduler.Options{Workers: 2, Balancer: balancer(
		func(tick uint64, costs []scheduler.ShardCost, dst []scheduler.Shift) []scheduler.Shift {
			if tick%2 == 0 {
				return append(dst, scheduler.Shift{From: int(tick/2) % 4, To: int(tick/2+1) % 4, Entities: 600})
			}
			return level.Balance(tick, costs, dst)
		})})
	require.NoError(t, f.movers.CreateN(f.w, 4000, nil))
	f.step(100)
	var stats scheduler.Stats
	f.Stats(&stats)
	before := stats.Shifts
	require.Less(t, allocs.Least(1, func() { f.step(100) }), 20.0)
	f.Stats(&stats)
	require.GreaterOrEqual(t, stats.Shifts, before+200, "in every tick")
}
