package world_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestSharedPort sends through one port from many goroutines, in each way, while
// refreshes run.
func TestSharedPort(t *testing.T) {
	const senders = 8
	f := newFixture(t, world.Options{Shards: 2, LaneRequests: 1 << 16})
	s, err := f.OpenSharedPort()
	require.NoError(t, err)
	require.Zero(t, s.Number())
	counter := f.newUnit(0)
	add := f.registerHeal()
	var wg sync.WaitGroup
	rounds := iterations(200)
	for range senders {
		wg.Go(func() {
			for range rounds {
				h, err := f.unit.Create(s, Unit{})
				if err == nil {
					err = f.health.Set(s, h, Health{1})
				}
				if err == nil {
					err = f.name.Add(s, h, Name{"n"})
				}
				if err == nil {
					err = f.hit.Send(s, h, Hit{1})
				}
				if err == nil {
					err = f.health.Disable(s, h)
				}
				if err == nil {
					err = f.hit.Broadcast(s, Hit{1})
				}
				var done world.Completion
				s.Use(func(p *world.Port) {
					if err == nil {
						err = add.Call(p.Notify(&done), counter, Heal{0})
					}
				})
				if err == nil {
					_, err = done.Wait(t.Context())
				}
				if err == nil && !s.Alive(h) {
					t.Errorf("%v is %v", h, s.Status(h))
				}
				if err == nil {
					err = s.Destroy(h)
				}
				if err == nil {
					err = f.unit.CreateN(s, 2, nil)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	over := make(chan struct{})
	go func() { wg.Wait(); close(over) }()
	for running := true; running; {
		select {
		case <-over:
			running = false
		default:
			f.Refresh()
		}
	}
	f.Refresh()
	require.Equal(t, 1+2*senders*rounds, f.Count())
	require.Zero(t, f.stats().Gone)
	s.Close()
	require.ErrorIs(t, s.Destroy(handle.None), world.ErrClosed)
	f.Refresh()

	limited := newFixture(t, world.Options{PortsMax: 1})
	_, err = limited.OpenSharedPort()
	require.NoError(t, err)
	_, err = limited.OpenSharedPort()
	require.ErrorIs(t, err, world.ErrPorts)
}
