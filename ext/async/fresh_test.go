package async_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Spark dies in a tick or two.
type Spark struct{ Left int }

type sparks struct {
	*world.World
	s    *scheduler.Scheduler
	of   *world.Bundle[struct{ Spark }]
	call *async.Call[int, []byte]
	came map[async.Status]int
}

func newSparks() *sparks {
	w := world.MustNew(world.Options{Shards: 1})
	world.Register[Spark](w, "spark")
	x := &sparks{World: w, of: world.NewBundle[struct{ Spark }](w), s: scheduler.New(w, scheduler.Options{}), came: map[async.Status]int{}}
	done := world.RegisterMessage[async.Result[[]byte]](w, "done")
	x.call = async.New(w, "calls", done, func(_ context.Context, n int) ([]byte, error) { return make([]byte, n), nil }, async.Options{Pending: 1 << 13, Ticks: 1 << 20})
	x.s.MustAdd("fade", func(b *world.Build) func(*world.Context) {
		left := world.Write[Spark](b)
		all := b.Query(left)
		return func(c *world.Context) {
			for h := range all.Entities() {
				if p := left.Get(h); p.Left > 0 {
					if p.Left--; p.Left == 0 {
						_ = c.Destroy(h)
					}
				}
			}
		}
	})
	x.s.MustAdd("hear", func(b *world.Build) func(*world.Context) {
		in := world.Receive[async.Result[[]byte]](b)
		return func(*world.Context) {
			for _, m := range in.All() {
				x.came[m.Body.Status]++
			}
		}
	})
	return x
}

// TestSavedBeforeTick saves what the idle world has asked for, of which some dies in the next tick.
func TestSavedBeforeTick(t *testing.T) {
	x := newSparks()
	for i := range 40 {
		h, err := x.of.Create(x.World, struct{ Spark }{Spark{i % 3}})
		require.NoError(t, err)
		_, err = x.call.Go(x.World, h, i)
		require.NoError(t, err)
	}
	var saved bytes.Buffer
	require.NoError(t, snapshot.Write(&saved, x.World, snapshot.Options{Scheduler: x.s}))
	y := newSparks()
	require.NoError(t, snapshot.Load(&saved, y.World, snapshot.Options{Scheduler: y.s}))
	for tick := range 6 {
		was, err := state.StateHash(x.World, nil)
		require.NoError(t, err)
		is, err := state.StateHash(y.World, nil)
		require.NoError(t, err)
		require.Equal(t, was, is, "tick %d", tick)
		require.Equal(t, x.call.Len(), y.call.Len(), "tick %d", tick)
		require.NoError(t, x.s.Step(t.Context()))
		require.NoError(t, y.s.Step(t.Context()))
	}
	require.Equal(t, 40-13, x.call.Len(), "of those that died in the tick nobody waits")
}

// TestCloseWithoutTicks closes a Pool whose ports are full while no tick comes: it does not wait
// for one.
func TestCloseWithoutTicks(t *testing.T) {
	x := newSparks()
	p, err := async.Attach(x.World, async.PoolOptions{Workers: 1})
	require.NoError(t, err)
	h, err := x.of.Create(x.World, struct{ Spark }{})
	require.NoError(t, err)
	for range 6000 { // more than QueueRequests
		_, err = x.call.Go(x.World, h, 1)
		require.NoError(t, err)
	}
	require.NoError(t, x.s.Step(t.Context()))
	require.NoError(t, p.Close(t.Context()))
	require.NoError(t, x.s.Step(t.Context()))
	require.NoError(t, x.s.Step(t.Context()))
	require.Equal(t, 6000, x.call.Len()+x.came[async.Done], "each has a result, or is under way")
	again, err := async.Attach(x.World, async.PoolOptions{})
	require.NoError(t, err)
	for x.call.Len() > 0 {
		require.NoError(t, x.s.Step(t.Context()))
	}
	require.NoError(t, again.Close(t.Context()))
	require.NoError(t, x.s.Step(t.Context()))
	require.Equal(t, 6000, x.came[async.Done]+x.came[async.Lost])
}
