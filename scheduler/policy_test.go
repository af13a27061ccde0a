package scheduler_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestPolicy lets a system panic on one shard in tick 1, by each policy, and sees
// where it runs from then on. Whatever the policy, Step tells.
func TestPolicy(t *testing.T) {
	for _, workers := range []int{1, 3} {
		for _, test := range []struct {
			policy scheduler.PanicPolicy
			want   [3][]uint64 // ticks by shard
			others []uint64
		}{
			{scheduler.StopRun, [3][]uint64{{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}}, []uint64{0, 1, 2, 3}},
			{scheduler.DisableSystem, [3][]uint64{{0, 1}, {0, 1}, {0, 1}}, []uint64{0, 1, 2, 3}},
			{scheduler.DisableOnShard, [3][]uint64{{0, 1, 2, 3}, {0, 1}, {0, 1, 2, 3}}, []uint64{0, 1, 2, 3}},
		} {
			t.Run(fmt.Sprintf("%v, %d workers", test.policy, workers), func(t *testing.T) {
				var log bytes.Buffer
				f := newFixtureOf(t, world.Options{Shards: 3}, scheduler.Options{
					Workers: workers, IfPanics: test.policy, Logger: slog.New(slog.NewTextHandler(&log, nil)),
				})
				var ran, behind ticks
				f.MustAdd("breaks", func(b *world.Build) func(*world.Context) {
					world.Write[Value](b)
					run := ran.system(b)
					return func(c *world.Context) {
						run(c)
						if c.Tick() == 1 && c.Shard() == 1 {
							panic(errBroken)
						}
					}
				})
				f.MustAdd("behind", func(b *world.Build) func(*world.Context) {
					world.ReadForeign[Value](b)
					return behind.system(b)
				})
				f.step(1)
				require.ErrorIs(t, f.Step(t.Context()), errBroken)
				f.MustAdd("more", idle) // a new schedule forgets nothing
				f.step(2)
				for shard := range test.want {
					require.Equal(t, test.want[shard], ran[shard])
				}
				behind.mustBe(t, test.others...)
				require.Contains(t, log.String(), `msg="system panicked" system=breaks shard=1 tick=1 policy=`+test.policy.String())

				var s scheduler.Stats
				f.Stats(&s)
				require.Equal(t, uint64(1), s.Panics)
				require.Equal(t, uint64(1), f.on("breaks")[1].Panics)
				require.Equal(t, test.policy == scheduler.DisableOnShard, f.on("breaks")[1].Off)
				require.Equal(t, test.policy != scheduler.DisableSystem, s.Systems[0].Enabled)

				require.NoError(t, f.Enable("breaks"))
				f.step(1)
				for shard := range ran {
					require.Equal(t, uint64(4), ran[shard][len(ran[shard])-1], "enabled again, on shard %d too", shard)
				}
			})
		}
	}
}

// TestPolicyOfRun makes ticks with a system that panics: Run ends, or goes on
// without the system.
func TestPolicyOfRun(t *testing.T) {
	for _, policy := range []scheduler.PanicPolicy{scheduler.StopRun, scheduler.DisableSystem, scheduler.DisableOnShard} {
		var f *fixture
		f = newFixtureOf(t, world.Options{Shards: 2, TickInterval: 1000}, scheduler.Options{OnTick: func(r scheduler.Report) {
			if r.Tick == 5 {
				f.Stop()
			}
		}})
		f.MustAdd("breaks", func(*world.Build) func(*world.Context) {
			return func(c *world.Context) { panic(errBroken) }
		}, scheduler.IfPanics(policy))
		err := f.Run(t.Context())
		if policy == scheduler.StopRun {
			require.ErrorIs(t, err, errBroken)
			require.Equal(t, uint64(1), f.w.Tick())
			continue
		}
		require.NoError(t, err)
		require.Equal(t, uint64(6), f.w.Tick())
		var s scheduler.Stats
		f.Stats(&s)
		require.Equal(t, uint64(2), s.Panics, "once on each shard")
	}
}

// TestPolicyOfGlobals disables a global system, and one whose condition panics.
func TestPolicyOfGlobals(t *testing.T) {
	f := newFixtureOf(t, world.Options{Shards: 3}, scheduler.Options{Workers: 2, IfPanics: scheduler.DisableOnShard})
	ran, asked := 0, 0
	f.MustAdd("global", func(b *world.Build) func(*world.Context) {
		b.Query(world.Write[Value](b))
		return func(c *world.Context) { ran++; panic("global") }
	}, scheduler.Global())
	f.MustAdd("asked", idle, scheduler.When(func(*world.World) bool { asked++; panic("asked") }))
	err := f.Step(t.Context())
	var se *world.PanicError
	require.ErrorAs(t, err, &se)
	require.Equal(t, "asked", se.Name)
	require.Equal(t, world.AllShards, se.Shard)
	require.ErrorContains(t, err, `system "global" panicked in tick 0: global`)
	f.step(2)
	require.Equal(t, 1, ran)
	require.Equal(t, 1, asked)
	h, err := f.markers.Create(f.w, Marker{})
	require.NoError(t, err, "the world is whole")
	require.True(t, f.w.Alive(h))
}

// TestPanicOfCoordinator panics in every system at once: many errors, in order.
func TestPanicOfCoordinator(t *testing.T) {
	f := newFixture(t, 9, 3)
	for i := range 4 {
		f.MustAdd(fmt.Sprint(i), func(*world.Build) func(*world.Context) {
			return func(c *world.Context) { pause(); panic(errBroken) }
		})
	}
	joined, ok := f.Step(t.Context()).(interface{ Unwrap() []error })
	require.True(t, ok)
	all := joined.Unwrap()
	require.Len(t, all, 36)
	for i, err := range all {
		var se *world.PanicError
		require.True(t, errors.As(err, &se))
		require.Equal(t, i/4, se.Shard)
		require.Equal(t, fmt.Sprint(i%4), se.Name)
	}
}
