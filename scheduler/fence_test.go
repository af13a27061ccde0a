package scheduler_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestFence alternates writers and foreign readers of one component. A reader
// sees exactly what the last writer before it wrote, on all shards; a writer
// does not write before all readers of what was there are done.
func TestFence(t *testing.T) {
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
							v := values.Get(markers[c.Shard()])
							if v.N = value(c.Tick(), stage); c.Shard()%2 == 0 {
								pause()
							}
						}
					})
					for _, reader := range []string{"read", "read too"} {
						f.MustAdd(fmt.Sprint(reader, " ", stage), func(b *world.Build) func(*world.Context) {
							values := world.ReadForeign[Value](b)
							return func(c *world.Context) {
								for i := range markers {
									at := (i + c.Shard()) % shards
									if v, ok := values.Get(markers[at]); !ok || v.N != value(c.Tick(), stage) {
										panic(fmt.Sprintf("shard %d reads %d of shard %d, want %d", c.Shard(), v.N, at, value(c.Tick(), stage)))
									}
									if i%3 == 0 {
										pause()
									}
								}
							}
						})
					}
				}
				f.step(iterations(15))
			})
		}
	}
}

// TestFenceOfCreates counts creating from a bundle as writing its components:
// foreign readers of any of them see all that was created before, and nothing of
// what comes after.
func TestFenceOfCreates(t *testing.T) {
	for _, workers := range []int{1, 2, 4, 8} {
		t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) {
			const shards, each = 6, 20
			f := newFixture(t, shards, workers)
			var made [shards][]handle.Handle // by shard; the fence hands it over
			create := func(b *world.Build) func(*world.Context) {
				b.Creates(f.movers)
				return func(c *world.Context) {
					pause()
					for range each {
						h, err := f.movers.Create(c, Mover{Velocity: Velocity{X: float64(c.Shard())}})
						if err != nil {
							panic(err)
						}
						made[c.Shard()] = append(made[c.Shard()], h)
					}
				}
			}
			look := func(rounds int) construct {
				return func(b *world.Build) func(*world.Context) {
					velocity := world.ReadForeign[Velocity](b)
					return func(c *world.Context) {
						pause()
						for shard := range made {
							if len(made[shard]) != each*(2*int(c.Tick())+rounds) {
								panic(fmt.Sprintf("shard %d has made %d", shard, len(made[shard])))
							}
							for _, h := range made[shard] {
								if v, ok := velocity.Get(h); !ok || v.X != float64(shard) {
									panic(fmt.Sprintf("%v is not there", h))
								}
							}
						}
					}
				}
			}
			f.MustAdd("create", create).MustAdd("look", look(1)).MustAdd("create more", create).MustAdd("look again", look(2))
			f.step(iterations(20))
		})
	}
}

// TestFenceReadsTheDead reads atoms that were marked on another shard, which are
// there until the refresh, and those that are gone.
func TestFenceReadsTheDead(t *testing.T) {
	f := newFixture(t, 3, 3)
	markers := f.mark()
	f.MustAdd("destroy", func(b *world.Build) func(*world.Context) {
		world.Write[Value](b)
		return func(c *world.Context) {
			if c.Tick() == 1 {
				_ = c.Destroy(markers[c.Shard()])
			}
		}
	})
	found := make([]int, 3)
	f.MustAdd("read", func(b *world.Build) func(*world.Context) {
		values := world.ReadForeign[Value](b)
		return func(c *world.Context) {
			for i, h := range markers {
				if v, ok := values.Get(h); ok && v.N == uint64(i) {
					found[c.Shard()]++
				}
			}
		}
	})
	for _, want := range []int{3, 6, 6} {
		f.step(1)
		require.Equal(t, []int{want, want, want}, found)
	}
}
