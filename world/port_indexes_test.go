package world_test

import (
	"errors"
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// TestPortIndexesShortLived has many ports in each tick open, create, destroy and close: a
// world that is empty after each tick lasts.
func TestPortIndexesShortLived(t *testing.T) {
	const each = 1000
	f := newFixture(t, world.Options{IndexMax: 2*each + 63})
	ticks := 50
	if check.Enabled {
		ticks = 12
	}
	for tick := range ticks {
		for range each {
			p := f.port()
			h, err := f.unit.Create(p, Unit{})
			require.NoError(t, err, "tick %d", tick)
			require.NoError(t, p.Destroy(h))
			p.Close()
		}
		f.Refresh()
		require.Zero(t, f.Count())
	}
}

// TestPortIndexesLoader loads by a new port in each tick what the next tick clears.
func TestPortIndexesLoader(t *testing.T) {
	const each = 3000
	f := newFixture(t, world.Options{IndexMax: 2*each - 1})
	for tick := range 50 {
		p := f.port()
		require.NoError(t, f.unit.CreateN(p, each, nil), "tick %d", tick)
		p.Close()
		f.Refresh()
		require.Equal(t, each, f.Count())
		f.Clear()
	}
}

// TestPortIndexesIdle leaves ports idle that have churned much: they keep few indexes from the
// one that goes on, of a large world a fixed number and of a small one half.
func TestPortIndexesIdle(t *testing.T) {
	for _, test := range []struct{ indexes, each, least int }{
		{1 << 16, 1000, 1<<16 - 32*world.CacheMax},
		{1 << 10, 16, 1 << 9},
	} {
		const ports = 32
		f := newFixture(t, world.Options{IndexMax: uint32(test.indexes - 1)})
		all := make([]*world.Port, ports)
		for i := range all {
			all[i] = f.port()
		}
		for range 5 {
			for _, p := range all {
				for range test.each {
					_, err := f.unit.Create(p, Unit{})
					require.NoError(t, err)
				}
			}
			f.Refresh()
			f.Clear()
		}
		p, n := f.port(), 0
		for n < test.least {
			some := min(test.least-n, f.Options().QueueRequests)
			require.NoError(t, f.unit.CreateN(p, some, nil), "after %d", n)
			n += some
			f.Refresh()
		}
		require.Equal(t, test.least, f.Count())
		for _, p := range all {
			p.Close()
		}
		require.NoError(t, f.unit.CreateN(p, min(test.indexes-n, f.Options().QueueRequests), nil), "all of what closed ports had")
	}
}

// TestPortIndexesBatches takes batches back, again and again, with no refresh between: the
// port is refused before it has all indexes, and the refresh gives them back.
func TestPortIndexesBatches(t *testing.T) {
	const queue, each, indexes = 100, 30, 1000
	f := newFixture(t, world.Options{QueueRequests: queue, IndexMax: indexes - 1})
	p, other := f.port(), f.port()
	for range 20 {
		var told []handle.Handle
		err := error(nil)
		for range 1000 {
			err = p.Batch(func() error {
				for range each {
					h, err := f.unit.Create(p, Unit{})
					require.NoError(t, err)
					told = append(told, h)
				}
				return errors.ErrUnsupported
			})
			if !errors.Is(err, errors.ErrUnsupported) {
				break
			}
		}
		require.ErrorIs(t, err, world.ErrFull)
		require.ErrorIs(t, f.unit.CreateN(p, 1, nil), world.ErrFull)
		require.Len(t, told, queue+each-queue%each)
		one, err := f.unit.Create(p, Unit{})
		require.NoError(t, err, "one by one it goes on")
		require.NoError(t, f.unit.CreateN(other, queue, nil), "and so do others")
		for _, h := range told {
			require.Equal(t, world.Pending, f.Status(h))
		}
		f.Refresh()
		for _, h := range told {
			require.Equal(t, world.Stale, f.Status(h))
		}
		require.Equal(t, 1+queue, f.Count())
		require.True(t, f.Destroy(one))
		f.Clear()
	}
	require.NoError(t, p.Batch(func() error { return nil }))
}

// TestPortDropped drops ports without closing them: what they have sent is applied, and
// their numbers and handles come back when the collector has found them.
func TestPortDropped(t *testing.T) {
	const ports = 64
	f := newFixture(t, world.Options{PortsMax: ports, IndexMax: ports*10 - 1})
	for round := range 3 {
		for range ports {
			p := openAnyway(f)
			_, err := f.unit.Create(p, Unit{Health{1}})
			require.NoError(t, err)
			err = p.Batch(func() error { _, err := f.unit.Create(p, Unit{}); return errors.Join(err, errors.ErrUnsupported) })
			require.ErrorIs(t, err, errors.ErrUnsupported)
		}
		f.Refresh()
		require.Equal(t, ports, f.Count(), "round %d", round)
		f.Clear()
	}
	p := openAnyway(f)
	for f.Ports() > 1 { // the others are found
		runtime.GC()
		f.Refresh()
	}
	require.NoError(t, f.unit.CreateN(p, ports*10, nil), "all indexes")
	runtime.KeepAlive(p)
}

// openAnyway opens a port, when the collector has found one if none is free.
func openAnyway(f *fixture) *world.Port {
	for {
		p, err := f.OpenPort()
		if err == nil {
			return p
		}
		require.ErrorIs(f.t, err, world.ErrPorts)
		runtime.GC()
		f.Refresh()
	}
}

// TestPortKeepsNoWorld has a world hold ports of its own, one closed and one not: the collector
// frees it all.
func TestPortKeepsNoWorld(t *testing.T) {
	kept := func() weak.Pointer[world.World] {
		w := world.MustNew(world.Options{})
		open, err := w.OpenPort()
		require.NoError(t, err)
		closed, err := w.OpenPort()
		require.NoError(t, err)
		require.NoError(t, closed.Destroy(handle.None))
		closed.Close()
		world.RegisterResource(w, "ports", []*world.Port{open, closed})
		return weak.Make(w)
	}()
	for kept.Value() != nil {
		runtime.GC()
	}
}

// TestPortPanicsAreOver recovers from panics of calls: the next call is as if they had not been
// made, and a batch within which some creates were made is not sent.
func TestPortPanicsAreOver(t *testing.T) {
	f := newFixture(t, world.Options{})
	p, h := f.port(), f.newUnit(1)
	var busy world.Completion
	require.NoError(t, p.Notify(&busy).Destroy(h))
	mustPanic(t, []string{"Completion is still waiting"}, func() { _ = p.Notify(&busy).Destroy(h) })
	require.NoError(t, p.Destroy(h), "the panic does not stick")
	mustPanic(t, []string{"Completion is still waiting"}, func() { _, _ = f.unit.Create(p.Notify(&busy), Unit{}) })
	_, err := f.unit.Create(p, Unit{})
	require.NoError(t, err)

	err = p.Batch(func() error {
		require.NoError(t, p.Destroy(h))
		require.PanicsWithValue(t, "init", func() {
			_ = f.unit.CreateN(p, 5, func(i int, _ *Unit) {
				if i == 3 {
					panic("init")
				}
			})
		})
		_, err := f.unit.Create(p, Unit{})
		require.ErrorIs(t, err, world.ErrFailed)
		return nil
	})
	require.ErrorIs(t, err, world.ErrFailed)
	require.ErrorContains(t, err, "CreateN")
	f.Refresh()
	require.Equal(t, world.Applied, busy.Outcome())
	require.Equal(t, 1, f.Count())
	require.NoError(t, f.unit.CreateN(p, 5, nil))
	f.Refresh()
	require.Equal(t, 6, f.Count())
}

// TestPortIndexesPanic has a CreateN of many panic: what its port then has in hand, and does
// not use, is no more than its share.
func TestPortIndexesPanic(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1, IndexMax: 255})
	idle, busy := f.port(), f.port()
	require.PanicsWithValue(t, "init", func() {
		_ = f.unit.CreateN(idle, 200, func(i int, _ *Unit) {
			if i == 100 {
				panic("init")
			}
		})
	})
	f.Refresh()
	n := 0
	for {
		if _, err := f.unit.Create(busy, Unit{}); err != nil {
			require.ErrorIs(t, err, world.ErrIndexes)
			break
		}
		n++
	}
	require.GreaterOrEqual(t, n, 256*3/4)
}
