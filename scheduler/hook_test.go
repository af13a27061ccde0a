package scheduler_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestHookPolicy has a hook panic on one shard in each tick.
func TestHookPolicy(t *testing.T) {
	type Mark struct{ N int }
	type Marked struct{ Mark }
	bad := errors.New("bad")
	for policy, calls := range map[scheduler.PanicPolicy][2]int{
		scheduler.StopRun:        {3, 3},
		scheduler.DisableSystem:  {1, 1},
		scheduler.DisableOnShard: {3, 1},
	} {
		t.Run(policy.String(), func(t *testing.T) {
			w := world.MustNew(world.Options{Shards: 2})
			mark := world.Register[Mark](w, "mark")
			marked := world.NewBundle[Marked](w).PlaceBy(func(m Marked) int { return m.N })
			var called [2]int
			w.Observe("breaks", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
				return func(c *world.Context, _ world.Event, _ []handle.Handle) {
					if called[c.Shard()]++; c.Shard() == 1 {
						panic(bad)
					}
				}
			}, mark)
			s := scheduler.New(w, scheduler.Options{IfPanics: policy})
			s.MustAdd("create", func(b *world.Build) func(*world.Context) {
				b.Creates(marked)
				return func(c *world.Context) { _, _ = marked.Create(c, Marked{Mark{c.Shard()}}) }
			})
			for tick := range 3 {
				err := s.Step(context.Background())
				if tick == 0 || policy == scheduler.StopRun {
					require.ErrorIs(t, err, bad)
					var e *world.PanicError
					require.ErrorAs(t, err, &e)
					require.Equal(t, 1, e.Shard)
				} else {
					require.NoError(t, err)
				}
			}
			require.Equal(t, calls, called)
			require.Equal(t, 6, w.Count())
		})
	}
}

// TestHookRun has Run end, or not, by the policy.
func TestHookRun(t *testing.T) {
	bad := errors.New("bad")
	for _, policy := range []scheduler.PanicPolicy{scheduler.StopRun, scheduler.DisableSystem} {
		w := world.MustNew(world.Options{})
		type None struct{}
		none := world.NewBundle[None](w)
		w.Observe("breaks", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
			return func(*world.Context, world.Event, []handle.Handle) { panic(bad) }
		})
		_, err := none.Create(w, None{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		s := scheduler.New(w, scheduler.Options{IfPanics: policy, OnTick: func(r scheduler.Report) {
			if r.Tick == 2 {
				cancel()
			}
		}})
		err = s.Run(ctx)
		if policy == scheduler.StopRun {
			require.ErrorIs(t, err, bad)
		} else {
			require.NotErrorIs(t, err, bad)
			require.EqualValues(t, 3, w.Tick())
		}
		cancel()
	}
}
