package scheduler_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestStepRunsEachSystemOnce counts what runs: each system once per shard and
// tick, in the order in which they were added, never two on one shard at a time.
func TestStepRunsEachSystemOnce(t *testing.T) {
	for _, shards := range []int{1, 2, 7, 16} {
		for _, workers := range []int{1, 2, 4, 8, 50} {
			t.Run(fmt.Sprintf("%d shards, %d workers", shards, workers), func(t *testing.T) {
				const systems = 5
				f := newFixture(t, shards, workers)
				require.Equal(t, min(shards, workers), f.Workers())
				ran := make([][]string, shards)
				busy := make([]atomic.Bool, shards)
				built := make([][]int, systems)
				for s := range systems {
					name := fmt.Sprint("system ", s)
					f.MustAdd(name, func(b *world.Build) func(*world.Context) {
						built[s] = append(built[s], b.Shard())
						ticks := uint64(0) // is this shard's
						return func(c *world.Context) {
							if !busy[c.Shard()].CompareAndSwap(false, true) {
								panic("two on one shard")
							}
							pause()
							if c.Shard() != b.Shard() || c.Tick() != ticks || c.System() != name {
								panic(fmt.Sprintf("shard %d, tick %d, %q", c.Shard(), c.Tick(), c.System()))
							}
							ticks++
							ran[c.Shard()] = append(ran[c.Shard()], name)
							busy[c.Shard()].Store(false)
						}
					})
				}
				ticks := iterations(30)
				f.step(ticks)
				require.Equal(t, uint64(ticks), f.w.Tick())
				for shard := range shards {
					require.Len(t, ran[shard], ticks*systems)
					for i, name := range ran[shard] {
						require.Equal(t, f.Systems()[i%systems], name)
					}
				}
				for s := range systems {
					for shard := range shards {
						require.Equal(t, shard, built[s][shard], "constructors run once per shard, in order")
					}
					require.Len(t, built[s], shards)
				}
			})
		}
	}
}

// TestStepAddsBetween adds systems between ticks.
func TestStepAddsBetween(t *testing.T) {
	f := newFixture(t, 2, 2)
	f.step(2)
	require.Equal(t, uint64(2), f.w.Tick(), "a tick without systems is a refresh")
	var ran atomic.Int64
	count := func(*world.Build) func(*world.Context) {
		return func(*world.Context) { ran.Add(1) }
	}
	f.MustAdd("a", count)
	f.step(1)
	require.Equal(t, int64(2), ran.Load())
	f.MustAdd("b", count).MustAdd("c", count)
	f.step(1)
	require.Equal(t, int64(2+6), ran.Load())
	require.Equal(t, []string{"a", "b", "c"}, f.Systems())
}

// TestStepDoesNotWait has a system on one shard wait for a later system on
// another: without foreign reads there is no barrier between systems.
func TestStepDoesNotWait(t *testing.T) {
	f := newFixture(t, 2, 2)
	f.mark()
	reached := make(chan struct{})
	f.MustAdd("slow on shard 0", func(b *world.Build) func(*world.Context) {
		world.Write[Value](b)
		return func(c *world.Context) {
			if c.Shard() == 0 {
				select {
				case <-reached:
				case <-time.After(time.Minute):
					panic("shard 1 waits for shard 0")
				}
			}
		}
	})
	f.MustAdd("of another component", func(b *world.Build) func(*world.Context) {
		world.ReadForeign[Position](b) // nobody writes it
		return func(*world.Context) {}
	})
	f.MustAdd("last on shard 1", func(b *world.Build) func(*world.Context) {
		world.Write[Value](b)
		return func(c *world.Context) {
			if c.Shard() == 1 {
				close(reached)
			}
		}
	})
	f.step(1)
}

// TestStepEndedContext does not run, and returns the context's error.
func TestStepEndedContext(t *testing.T) {
	f := newFixture(t, 2, 2)
	var ran atomic.Bool
	f.MustAdd("never", func(*world.Build) func(*world.Context) {
		return func(*world.Context) { ran.Store(true) }
	})
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(fmt.Errorf("a reason"))
	require.ErrorIs(t, f.Step(ended), context.Canceled)
	require.False(t, ran.Load())
	require.Zero(t, f.w.Tick())
	f.step(1)
	require.True(t, ran.Load())
}

// TestStepLeavesNobodyBehind looks for goroutines that stay when all ticks are made.
func TestStepLeavesNobodyBehind(t *testing.T) {
	noLeaks(t)
	for _, workers := range []int{1, 3, 16} {
		f := newFixture(t, 16, workers)
		require.NoError(t, f.movers.CreateN(f.w, 10_000, nil))
		f.MustAdd("churn", func(b *world.Build) func(*world.Context) {
			b.Creates(f.movers)
			all := b.Query(world.Read[Position](b))
			return func(c *world.Context) { // enough for a refresh in parallel
				for ch := range all.Chunks() {
					for i, h := range ch.Handles() {
						if i%2 == 0 && (c.Destroy(h) != nil || f.movers.CreateN(c, 1, nil) != nil) {
							panic("refused")
						}
					}
				}
			}
		})
		f.step(iterations(50))
		require.Equal(t, 10_000, f.w.Count())
	}
}

// TestStepTwice is misuse: a world has one tick at a time.
func TestStepTwice(t *testing.T) {
	f := newFixture(t, 1, 1)
	other := scheduler.New(f.w, scheduler.Options{})
	said := ""
	f.MustAdd("within", func(*world.Build) func(*world.Context) {
		return func(*world.Context) {
			defer func() { said = fmt.Sprint(recover()) }()
			_ = other.Step(t.Context())
		}
	})
	f.MustAdd("itself", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			defer func() { require.Contains(t, fmt.Sprint(recover()), "scheduler: Scheduler.Step while a tick runs") }()
			_ = f.Step(t.Context())
		}
	})
	f.MustAdd("its Run", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			ended := make(chan bool)
			go func() {
				defer close(ended)
				defer func() { require.Contains(t, fmt.Sprint(recover()), "scheduler: Scheduler.Run while a tick runs") }()
				_ = f.Run(t.Context())
			}()
			<-ended
		}
	})
	f.step(1)
	require.Contains(t, said, "a new tick while a tick runs")
	f.step(1)
}

// TestStepBesideItself makes ticks from two goroutines. Some calls panic, because the other
// goroutine's tick runs; each tick that was made is told to OnTick.
func TestStepBesideItself(t *testing.T) {
	if check.Enabled {
		t.Skip("OnTick of one tick beside the next one is a race")
	}
	var told atomic.Uint64
	w := world.MustNew(world.Options{})
	s := scheduler.New(w, scheduler.Options{Workers: 1, OnTick: func(scheduler.Report) { told.Add(1) }})
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			for range iterations(20_000) {
				func() {
					defer func() { _ = recover() }()
					_ = s.Step(t.Context())
				}()
			}
		})
	}
	both.Wait()
	require.Equal(t, w.Tick(), told.Load())
}
