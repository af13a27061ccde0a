package world_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// TestPortChurnKeepsIndexes opens a port for one create, again and again: the
// handles that it leaves are used by the next, so a small world lasts.
func TestPortChurnKeepsIndexes(t *testing.T) {
	f := newFixture(t, world.Options{IndexMax: 63})
	for i := range 500 {
		p, err := f.OpenPort()
		require.NoError(t, err)
		h, err := f.unit.Create(p, Unit{})
		require.NoError(t, err, "port %d", i)
		require.NoError(t, p.Destroy(h))
		p.Close()
		f.Refresh()
		require.Zero(t, f.Count())
	}
}

// TestPortChurnUnderRefresh opens, uses and closes ports from many goroutines
// while the world is refreshed.
func TestPortChurnUnderRefresh(t *testing.T) {
	f := newFixture(t, world.Options{})
	rounds := 300
	if testing.Short() && !check.Enabled { // the race detector sees all of it
		rounds = 50
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range rounds {
				p, err := f.OpenPort()
				if err != nil {
					t.Error(err)
					return
				}
				h, err := f.unit.Create(p, Unit{})
				if err != nil {
					t.Error(err)
				}
				for range 2 {
					if err := p.Destroy(h); err != nil {
						t.Error(err)
					}
				}
				p.Close()
			}
		})
	}
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		f.Refresh()
	}
	f.Refresh()
	s := f.stats()
	require.Zero(t, s.Entities)
	require.Equal(t, uint64(8*rounds), s.Created)
	require.Equal(t, uint64(8*rounds), s.Destroyed)
	require.Equal(t, uint64(16*rounds), s.Applied)
	require.Equal(t, uint64(8*rounds), s.Gone)
}
