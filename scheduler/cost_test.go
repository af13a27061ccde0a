package scheduler_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/allocs"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// addOneOfEach adds a system of each further kind.
func (f *fixture) addOneOfEach() {
	type Sum struct{ N uint64 }
	type Rule struct{ N int }
	world.RegisterAccumulator(f.w, "sum", func(total, part *Sum) { total.N += part.N })
	world.RegisterResource(f.w, "rule", Rule{})
	f.MustAdd("add", func(b *world.Build) func(*world.Context) {
		mine, rule := world.Accumulate[Sum](b), world.ReadResource[Rule](b)
		return func(c *world.Context) { mine.N += c.Rand().Uint64N(uint64(1 + rule.Get().N)) }
	}, scheduler.Every(2, 1))
	f.MustAdd("near", func(b *world.Build) func(*world.Context) {
		velocity, sum := world.ReadForeign[Velocity](b, ring(b.Shard(), b.Shards())...), world.ReadResource[Sum](b)
		return func(*world.Context) {
			if _, ok := velocity.Get(handle.None); ok || sum.Get().N > 1000 {
				panic("impossible")
			}
		}
	}, scheduler.When(func(w *world.World) bool { return w.Tick()%3 > 0 }))
	f.MustAdd("rule", func(b *world.Build) func(*world.Context) {
		rule := world.WriteResource[Rule](b)
		return func(c *world.Context) { rule.N = c.Rand().IntN(5) }
	}, scheduler.Global(), scheduler.In(scheduler.PreUpdate))
	f.MustAdd("all", func(b *world.Build) func(*world.Context) {
		values := world.Write[Value](b)
		all := b.Query(values)
		return func(*world.Context) {
			for ch := range all.Chunks() {
				values.Slice(ch)[0].N++
			}
		}
	}, scheduler.Global())
}

// TestStepAllocatesNothing makes ticks with everything in them, as many created
// as destroyed: systems that churn, read other shards and send messages, and
// ports that create, set, destroy, send and learn outcomes. Once warm, a tick
// makes no garbage.
func TestStepAllocatesNothing(t *testing.T) {
	if check.Enabled {
		t.Skip("the check build moves at each refresh what was handed out")
	}
	for _, workers := range []int{1, 2, 8} {
		t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) {
			f := newFixture(t, 8, workers)
			type Guest struct{ Position } // made by ports; nobody else destroys them
			guests := world.NewBundle[Guest](f.w)
			markers := f.mark()
			require.NoError(t, f.movers.CreateN(f.w, 2000, nil))
			f.MustAdd("churn", func(b *world.Build) func(*world.Context) {
				b.Creates(f.movers)
				all := b.Query(world.Read[Velocity](b))
				return func(c *world.Context) {
					n := 0
					for ch := range all.Chunks() {
						for _, h := range ch.Handles() {
							if n++; n%5 != 0 {
								continue
							}
							if _, err := f.movers.Create(c, Mover{}); err != nil || c.Destroy(h) != nil {
								panic("refused")
							}
						}
					}
				}
			})
			f.MustAdd("write", func(b *world.Build) func(*world.Context) {
				values, pushes := world.Write[Value](b), world.Receive[Push](b)
				return func(*world.Context) {
					for _, p := range pushes.All() {
						if v := values.Get(p.To); v != nil {
							v.N++
						}
					}
				}
			})
			f.MustAdd("read", func(b *world.Build) func(*world.Context) {
				values := world.ReadForeign[Value](b)
				return func(c *world.Context) {
					for _, h := range markers {
						if _, ok := values.Get(h); !ok || f.push.Send(c, h, Push{1}) != nil {
							panic("not there")
						}
					}
				}
			})
			f.addOneOfEach()
			var ports [3]*world.Port
			var made [3][64]handle.Handle
			var done world.Completion
			for i := range ports {
				p, err := f.w.OpenPort()
				require.NoError(t, err)
				ports[i] = p
			}
			ctx := context.Background()
			tick := func() {
				for i, p := range ports {
					for k := range made[i] {
						var err error
						if made[i][k], err = guests.Create(p, Guest{}); err != nil {
							panic(err)
						}
					}
					for k := range markers {
						if f.value.Set(p, markers[k], Value{}) != nil || f.push.Send(p, markers[k], Push{2}) != nil {
							panic("refused")
						}
					}
				}
				if err := f.Step(ctx); err != nil {
					panic(err)
				}
				for i, p := range ports {
					for _, h := range made[i] {
						if p.Destroy(h) != nil {
							panic("refused")
						}
					}
				}
				if err := ports[0].Notify(&done).Destroy(handle.None); err != nil {
					panic(err)
				}
				if err := f.Step(ctx); err != nil {
					panic(err)
				}
				if o, err := done.Wait(ctx); err != nil || o != world.Gone {
					panic(o)
				}
			}
			for range iterations(300) {
				tick()
			}
			// AllocsPerRun rounds down, so it is given many ticks at a time; what the
			// runtime allocates for itself, now and then, is let pass.
			count := f.w.Count()
			const ticks = 50
			require.Less(t, allocs.Least(1, func() {
				for range ticks {
					tick()
				}
			}), ticks/5.0)
			require.Equal(t, count, f.w.Count())
		})
	}
}
