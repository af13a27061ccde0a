package scheduler_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestWorkersTakeFromEachOther keeps the workers of all shards but two busy until
// the other one has run them all, whichever shards were given to whom, after
// ticks that were over before anybody was called.
func TestWorkersTakeFromEachOther(t *testing.T) {
	const shards = 16
	f := newFixture(t, shards, 4)
	var left atomic.Int32
	var hold atomic.Bool
	f.MustAdd("run", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			left.Add(-1)
			if !hold.Load() || c.Shard()%5 > 0 || c.Shard() == 0 {
				return
			}
			for began := time.Now(); left.Load() > 0; time.Sleep(time.Microsecond) { // 5, 10 and 15
				if time.Since(began) > time.Minute {
					panic("nobody takes the others' shards")
				}
			}
		}
	})
	f.MustAdd("another", idle, scheduler.Disabled())
	for range iterations(50) {
		hold.Store(false)
		f.step(3)
		left.Store(shards)
		hold.Store(true)
		require.NoError(t, f.Enable("another")) // so that the next tick is not like the last
		f.step(1)
		require.NoError(t, f.Disable("another"))
	}
}

// TestWorkersAreCalled has a tick take long that was short before: the others are
// called when the first shard has shown it.
func TestWorkersAreCalled(t *testing.T) {
	f := newFixture(t, 8, 2)
	var alone, together atomic.Int32
	meet := make(chan struct{})
	f.MustAdd("run", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Tick() < 3 {
				return
			}
			if alone.Add(1) == 1 {
				time.Sleep(time.Millisecond)
				return
			}
			select {
			case meet <- struct{}{}:
			case <-meet:
				together.Add(1)
			case <-time.After(time.Second):
			}
		}
	})
	f.step(4)
	require.Positive(t, together.Load(), "two shards ran at the same time")
}

// TestCostliestFirst measures that one shard costs more than others: from then on it is
// the first that one of two workers begins with.
func TestCostliestFirst(t *testing.T) {
	const shards = 8
	f := newFixture(t, shards, 2)
	var mu sync.Mutex
	var began []int
	dear, met := 5, make(chan struct{})
	f.MustAdd("run", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			mu.Lock()
			began = append(began, c.Shard())
			n := len(began) % shards
			mu.Unlock()
			if c.Tick()%40 > 2 && (n == 1 || n == 2) { // the first two wait for each other, so both workers take part
				select {
				case met <- struct{}{}:
				case <-met:
				case <-time.After(time.Second):
				}
			}
			if c.Shard() == dear {
				time.Sleep(time.Millisecond)
			}
		}
	})
	for _, dear = range []int{5, 2} {
		f.step(40)
		last := began[len(began)-shards:]
		require.Contains(t, last[:2], dear)
		require.ElementsMatch(t, []int{0, 1, 2, 3, 4, 5, 6, 7}, last)
	}
}

// TestAloneByNumber runs shards of which one costs more on one worker: whatever they
// cost, it runs them by number.
func TestAloneByNumber(t *testing.T) {
	f := newFixture(t, 4, 1)
	var began []int
	f.MustAdd("run", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			began = append(began, c.Shard())
			if c.Shard() == 2 {
				time.Sleep(100 * time.Microsecond)
			}
		}
	})
	f.step(40)
	for ; len(began) > 0; began = began[4:] {
		require.Equal(t, []int{0, 1, 2, 3}, began[:4])
	}
}

// TestWorkersAreCalledAgain makes ticks with pauses around the time that workers stay awake, of
// systems that wait for each other: a call that is lost shows. It does so with a processor for each
// worker, and with one for all.
func TestWorkersAreCalledAgain(t *testing.T) {
	for _, processors := range []int{4, 1} {
		t.Run(fmt.Sprint("processors=", processors), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
			const shards = 3
			f := newFixture(t, shards, shards)
			var came atomic.Int32
			f.MustAdd("meet", func(*world.Build) func(*world.Context) {
				return func(c *world.Context) {
					busyFor(20 * time.Microsecond) // a shorter tick is the coordinator's alone
					all := shards * (int32(c.Tick()) + 1)
					came.Add(1)
					for began := time.Now(); came.Load() < all; runtime.Gosched() {
						if time.Since(began) > time.Minute {
							panic("a worker was not called")
						}
					}
				}
			})
			for i := range iterations(3000) {
				f.step(1)
				pause := time.Duration(i%100) * time.Microsecond
				busyFor(pause)
			}
		})
	}
}

// TestWorkersStepInTurns makes the ticks of two schedulers in turns: the workers of each may
// stay while those of the other work.
func TestWorkersStepInTurns(t *testing.T) {
	var fixtures [2]*fixture
	var runs [2]atomic.Int32
	for i := range fixtures {
		fixtures[i] = newFixture(t, 8, 2)
		fixtures[i].MustAdd("count", func(*world.Build) func(*world.Context) {
			return func(*world.Context) { runs[i].Add(1); busyFor(5 * time.Microsecond) }
		})
	}
	n := iterations(500)
	for range n {
		for _, f := range fixtures {
			f.step(1)
		}
	}
	for i := range runs {
		require.Equal(t, int32(8*n), runs[i].Load())
	}
}

func busyFor(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}

// TestStayInBubble makes ticks at once after another in a bubble, in which time stands still
// while a goroutine runs: workers that look for the next tick give up by count.
func TestStayInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world.MustNew(world.Options{Shards: 2})
		s := scheduler.New(w, scheduler.Options{Workers: 2})
		s.MustAdd("waits", func(*world.Build) func(*world.Context) {
			return func(c *world.Context) {
				if c.Shard() == 0 {
					time.Sleep(time.Millisecond) // the other worker waits, too
				}
			}
		})
		for range 3 {
			require.NoError(t, s.Step(t.Context()))
		}
	})
}
