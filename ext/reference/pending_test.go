package reference_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/internal/check"
)

var errTakenBack = errors.New("taken back")

// TestReleaseBesideRefresh has a port create, own and release beside a refresh loop. Whether
// the refresh that takes the release has the create as well or not, nothing is left alive.
func TestReleaseBesideRefresh(t *testing.T) {
	f := newFixture(t)
	created := 20_000
	if check.Enabled {
		created = 2_000
	}
	var port sync.WaitGroup
	done := make(chan struct{})
	port.Go(func() {
		defer close(done)
		p, err := f.OpenPort()
		require.NoError(t, err)
		for range created {
			h, err := f.units.Create(p, Unit{})
			for err != nil { // the queue is full until the next refresh
				runtime.Gosched()
				h, err = f.units.Create(p, Unit{})
			}
			o := reference.Own(p, h, nil)
			o.Release()
		}
	})
	for open := true; open; {
		select {
		case <-done:
			open = false
		default:
		}
		f.Refresh()
	}
	port.Wait()
	f.Refresh() // has all that was sent
	require.Zero(t, f.Count())
}

// TestReleaseBeforeCreate releases what is in a batch that several refreshes do not have
// yet: the one that creates it destroys it. What is taken back is forgotten.
func TestReleaseBeforeCreate(t *testing.T) {
	for _, sent := range []bool{true, false} {
		f := newFixture(t)
		p, err := f.OpenPort()
		require.NoError(t, err)
		var weak reference.Weak
		err = p.Batch(func() error {
			h, err := f.units.Create(p, Unit{})
			require.NoError(t, err)
			o := reference.Own(p, h, nil)
			weak = o.Weak()
			for range 3 {
				again := reference.Own(p, h, nil)
				again.Release()
				f.Refresh()
			}
			o.Release()
			f.Refresh()
			require.False(t, weak.Alive())
			if sent {
				return nil
			}
			return errTakenBack
		})
		if !sent {
			require.ErrorIs(t, err, errTakenBack)
		}
		keeper, err := f.units.Create(p, Unit{})
		require.NoError(t, err)
		f.Refresh()
		f.Refresh()
		require.Equal(t, 1, f.Count())
		require.True(t, f.Alive(keeper))
		require.False(t, weak.Alive())
		require.Equal(t, reference.Weak{}, weak, "it empties itself")
	}
}

// TestWeakOfPending asks for an entity that a port has just created: the reference finds it
// when it is alive, however it was made.
func TestWeakOfPending(t *testing.T) {
	f := newFixture(t)
	p, err := f.OpenPort()
	require.NoError(t, err)
	h, err := f.units.Create(p, Unit{})
	require.NoError(t, err)
	o := reference.Own(p, h, nil)
	byOwner, byPort, destroyed := o.Weak(), reference.To(p, h), reference.To(f.World, h)
	for _, r := range []*reference.Weak{&byOwner, &byPort, &destroyed} {
		require.False(t, r.Alive())
	}
	f.Refresh()
	for _, r := range []*reference.Weak{&byOwner, &byPort, &destroyed} {
		require.True(t, r.Alive())
	}

	h, err = f.units.Create(p, Unit{})
	require.NoError(t, err)
	r := reference.To(p, h)
	require.True(t, r.Destroy(), "it is pending")
	require.False(t, r.Destroy())
	f.Refresh()
	require.False(t, f.Alive(h))
	require.Equal(t, 1, f.Count())
}

// TestOwnDying owns an entity that is marked: it is alive until the refresh, whoever asks.
func TestOwnDying(t *testing.T) {
	f := newFixture(t)
	p, err := f.OpenPort()
	require.NoError(t, err)
	h := f.unit()
	f.Destroy(h)
	byWorld, byPort := reference.Own(f.World, h, nil), reference.Own(p, h, nil)
	require.True(t, byWorld.Alive())
	require.True(t, byPort.Alive())
	f.Refresh()
	require.False(t, byWorld.Alive())
	require.False(t, byPort.Alive())
}
