package main

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/world"
)

// TestFlood sends ten times more through many ports than their queues hold. What
// does not fit is told to its sender, at once; memory stays under the limit of the
// queues; the tick applies what was accepted, and the next one is as any.
func TestFlood(t *testing.T) {
	const (
		ports  = 16
		queue  = 1 << 12
		bytes  = 1 << 19
		floods = 3
	)
	w := world.MustNew(world.Options{QueueRequests: queue, QueueBytes: bytes})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	movers := world.NewBundle[mover](w)
	require.NoError(t, movers.CreateN(w, 10_000, nil))
	senders := make([]*world.Port, ports)
	for i := range senders {
		p, err := w.OpenPort()
		require.NoError(t, err)
		senders[i] = p
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, want := heap(), w.Count()
	var told uint64
	for range floods {
		done := make(chan [2]uint64)
		for _, p := range senders {
			go func() {
				var accepted, rejected uint64
				for range 10 * queue {
					switch _, err := movers.Create(p, mover{}); {
					case err == nil:
						accepted++
					case errors.Is(err, world.ErrFull):
						rejected++
					default:
						t.Error(err)
					}
				}
				done <- [2]uint64{accepted, rejected}
			}()
		}
		for range senders {
			n := <-done
			require.EqualValues(t, 10*queue, n[0]+n[1], "each is told")
			require.LessOrEqual(t, n[0], uint64(queue))
			require.NotZero(t, n[0])
			want += int(n[0])
			told += n[1]
		}
		// The rings of a queue double, so a queue can have twice its limit and the
		// rings that were too small.
		require.LessOrEqual(t, heap(), before+ports*4*bytes)
		w.Refresh()
		require.Equal(t, want, w.Count(), "all that was accepted, and nothing else")
		var stats world.Stats
		w.Stats(&stats)
		require.Equal(t, told, stats.Rejected)
		for _, p := range senders {
			require.Zero(t, p.Waiting())
		}
		mustBeNormal(t, w, movers, senders)
		want += ports
	}
}

// mustBeNormal makes a tick in which each port creates one entity: all are
// accepted and applied.
func mustBeNormal(t *testing.T, w *world.World, movers *world.Bundle[mover], senders []*world.Port) {
	t.Helper()
	done := make([]world.Completion, len(senders))
	for i, p := range senders {
		_, err := movers.Create(p.Notify(&done[i]), mover{})
		require.NoError(t, err)
	}
	w.Refresh()
	for i := range done {
		o, err := done[i].Wait(context.Background())
		require.NoError(t, err)
		require.Equal(t, world.Applied, o)
	}
}
