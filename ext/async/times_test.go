package async_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestTimes drops the reading of the monotonic clock from what a function is given, as an ask that
// was saved has none: else it would compute something else after a restart.
func TestTimes(t *testing.T) {
	type since struct{ At [2]time.Time }
	type seen struct{ At [2]time.Time }
	now := time.Now()
	w := world.MustNew(world.Options{})
	t.Cleanup(w.Close)
	world.Register[Body](w, "body")
	units := world.NewBundle[unit](w)
	replies := world.RegisterMessage[async.Result[seen]](w, "reply")
	given := make(chan since, 1)
	call := async.New(w, "call", replies, func(_ context.Context, x since) (seen, error) {
		given <- x
		return seen{}, nil
	}, async.Options{Ticks: 1 << 20})
	s := scheduler.New(w, scheduler.Options{})
	pool, err := async.Attach(w, async.PoolOptions{})
	require.NoError(t, err)
	h, err := units.Create(w, unit{})
	require.NoError(t, err)
	_, err = call.Go(w, h, since{[2]time.Time{now, now}})
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, s.Step(t.Context()))
	}
	require.Equal(t, since{[2]time.Time{now.Round(0), now.Round(0)}}, <-given)
	require.NoError(t, pool.Close(t.Context()))
}
