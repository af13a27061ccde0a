package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// ring are a shard's neighbours where shards are in a circle.
func ring(shard, shards int) []int {
	return []int{(shard + 1) % shards, (shard + shards - 1) % shards}
}

// TestNearFence alternates writers and readers of neighbours. A reader sees what
// the last writer before it wrote on each neighbour, and no writer goes on before
// the readers of its shard are done.
func TestNearFence(t *testing.T) {
	for _, shards := range []int{1, 2, 5, 16} {
		for _, workers := range []int{1, 2, 4, 8} {
			t.Run(fmt.Sprintf("%d shards, %d workers", shards, workers), func(t *testing.T) {
				f := newFixture(t, shards, workers)
				markers := f.mark()
				const stages = 3
				value := func(tick uint64, stage int) uint64 { return tick*stages + uint64(stage) }
				for stage := range stages {
					f.MustAdd(fmt.Sprint("write ", stage), func(b *world.Build) func(*world.Context) {
						values := world.Write[Value](b)
						return func(c *world.Context) {
							pause()
							values.Get(markers[c.Shard()]).N = value(c.Tick(), stage)
						}
					})
					f.MustAdd(fmt.Sprint("read ", stage), func(b *world.Build) func(*world.Context) {
						near := ring(b.Shard(), shards)
						values := world.ReadForeign[Value](b, near...)
						return func(c *world.Context) {
							pause()
							for _, shard := range append(near, c.Shard()) {
								if v, ok := values.Get(markers[shard]); !ok || v.N != value(c.Tick(), stage) {
									panic(fmt.Sprintf("shard %d reads %d of shard %d, want %d", c.Shard(), v.N, shard, value(c.Tick(), stage)))
								}
								pause()
							}
						}
					})
				}
				f.step(iterations(15))
			})
		}
	}
}

// TestNearWaitsForNeighboursAlone has shard 0 write only when shard 2 has read:
// that reads of shards 1 and 3, and so does not wait for 0, while shard 1 does.
func TestNearWaitsForNeighboursAlone(t *testing.T) {
	const shards = 5
	f := newFixture(t, shards, 3)
	markers := f.mark()
	reached := make(chan struct{})
	wrote := false
	f.MustAdd("write", func(b *world.Build) func(*world.Context) {
		world.Write[Value](b)
		return func(c *world.Context) {
			if c.Shard() == 0 {
				select {
				case <-reached:
				case <-time.After(time.Minute):
					panic("shard 2 waits for shard 0")
				}
				wrote = true
			}
		}
	})
	f.MustAdd("read", func(b *world.Build) func(*world.Context) {
		values := world.ReadForeign[Value](b, ring(b.Shard(), shards)...)
		return func(c *world.Context) {
			if _, ok := values.Get(markers[(c.Shard()+2)%shards]); ok {
				panic("reads beyond its neighbours")
			}
			if (c.Shard() == 1 || c.Shard() == 4) && !wrote {
				panic("a neighbour of shard 0 did not wait")
			}
		}
	})
	f.MustAdd("reach", func(b *world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Shard() == 2 {
				close(reached)
			}
		}
	})
	f.MustAdd("write again", func(b *world.Build) func(*world.Context) {
		world.Write[Value](b)
		return func(c *world.Context) {
			if c.Shard() == 2 && !wrote {
				panic("shard 2 did not wait for shard 1, which reads of it when shard 0 is done")
			}
		}
	})
	f.step(1)
}

// TestNearRejects refuses to write what neighbours have.
func TestNearRejects(t *testing.T) {
	f := newFixture(t, 3, 1)
	err := f.Add("greedy", func(b *world.Build) func(*world.Context) {
		world.ReadForeign[Position](b, 0)
		world.Write[Position](b)
		return nothing
	})
	require.ErrorContains(t, err, `system "greedy" writes or creates "position" and reads it in other shards`)
	err = f.Add("moody", func(b *world.Build) func(*world.Context) {
		if b.Shard() > 0 {
			world.ReadForeign[Position](b, 0)
		}
		return nothing
	})
	require.ErrorContains(t, err, `system "moody" asks for other access on shard 1`)
}

// TestLightGlobal has a global system that asks for a resource alone run beside
// the shards, which it would stop if it asked for a component.
func TestLightGlobal(t *testing.T) {
	type Clock struct{ Hour int }
	for _, whole := range []bool{false, true} {
		f := newFixture(t, 2, 2)
		clock := world.RegisterResource(f.w, "clock", Clock{})
		struck := make(chan struct{})
		f.MustAdd("shards", func(*world.Build) func(*world.Context) {
			return func(c *world.Context) {
				if c.Shard() == 0 && !whole {
					select {
					case <-struck:
					case <-time.After(time.Minute):
						panic("the global system waits for shards that do nothing it touches")
					}
				}
			}
		})
		f.MustAdd("strike", func(b *world.Build) func(*world.Context) {
			now := world.WriteResource[Clock](b)
			if whole {
				world.Read[Value](b)
			}
			return func(*world.Context) {
				now.Hour++
				close(struck)
			}
		}, scheduler.Global())
		f.MustAdd("look", func(b *world.Build) func(*world.Context) {
			now := world.ReadResource[Clock](b)
			return func(*world.Context) {
				if now.Get().Hour != 1 {
					panic("it has not struck")
				}
			}
		})
		f.step(1)
		require.Equal(t, 1, clock.Get().Hour)
	}
}

// TestResources has shards add to accumulators and read what came of it, before
// and after the merge, while a global system writes a resource that they read.
func TestResources(t *testing.T) {
	type Sum struct{ Shards, Ticks uint64 }
	type Rule struct{ N uint64 }
	for _, workers := range []int{1, 2, 3, 8} {
		const shards = 8
		f := newFixture(t, shards, workers)
		sum := world.RegisterAccumulator(f.w, "sum", func(total, part *Sum) {
			total.Shards += part.Shards
			total.Ticks = total.Ticks*3 + part.Ticks // the order shows
		})
		world.RegisterResource(f.w, "rule", Rule{})
		inOrder := func(tick uint64) (want Sum) {
			for shard := range uint64(shards) {
				want.Shards += shard + 1
				want.Ticks = want.Ticks*3 + tick + shard
			}
			return want
		}
		look := func(late uint64) construct {
			return func(b *world.Build) func(*world.Context) {
				r := world.ReadResource[Sum](b)
				return func(c *world.Context) {
					pause()
					want := Sum{}
					if c.Tick() >= late {
						want = inOrder(c.Tick() - late)
					}
					if got := r.Get(); got != want {
						panic(fmt.Sprintf("tick %d: %v, want %v", c.Tick(), got, want))
					}
				}
			}
		}
		add := func(first bool) construct {
			return func(b *world.Build) func(*world.Context) {
				mine, rule := world.Accumulate[Sum](b), world.ReadResource[Rule](b)
				return func(c *world.Context) {
					pause()
					if first {
						mine.Shards = uint64(c.Shard())
					} else {
						mine.Shards++
						mine.Ticks = rule.Get().N + uint64(c.Shard())
					}
				}
			}
		}
		f.MustAdd("look before", look(1)).MustAdd("add", add(true))
		f.MustAdd("rule", func(b *world.Build) func(*world.Context) {
			rule := world.WriteResource[Rule](b)
			return func(c *world.Context) { pause(); rule.N = c.Tick() }
		}, scheduler.Global())
		f.MustAdd("look still", look(1)).MustAdd("add more", add(false))
		f.MustAdd("look after", look(0)).MustAdd("look globally", look(0), scheduler.Global())
		f.step(iterations(40))
		require.Equal(t, inOrder(f.w.Tick()-1), sum.Get())
	}
}
