package world_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestPortWithin waits for room in a full queue: until the refresh has made some,
// or the context ends.
func TestPortWithin(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2, QueueRequests: 3})
	p := f.port()
	require.NoError(t, p.Within(t.Context()).Destroy(1), "there is room")
	require.NoError(t, f.unit.CreateN(p, 2, nil))
	require.ErrorIs(t, p.Destroy(1), world.ErrFull, "Within was for one request")

	ended, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	var done world.Completion
	require.ErrorIs(t, p.Notify(&done).Within(ended).Destroy(1), context.DeadlineExceeded)
	require.Equal(t, world.Undecided, done.Outcome())
	require.Equal(t, uint64(2), p.Rejected())
	_, err := f.unit.Create(p.Within(ended), Unit{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, f.unit.CreateN(p.Within(t.Context()), 4, nil), world.ErrTooLarge, "no refresh makes room for that")
	require.ErrorIs(t, f.unit.CreateN(p.Within(t.Context()), 4, nil), world.ErrFull, "which is a kind of full")
	require.Equal(t, 3, p.Waiting())

	var sent atomic.Bool
	go func() {
		for !sent.Load() {
			f.Refresh()
			runtime.Gosched()
		}
	}()
	for range iterations(2000) {
		h, err := f.unit.Create(p.Within(t.Context()), Unit{})
		require.NoError(t, err)
		require.NoError(t, f.health.Set(p.Within(t.Context()), h, Health{1}))
		require.NoError(t, p.Within(t.Context()).Destroy(h))
	}
	o, err := wait(t, p, &done)
	sent.Store(true)
	require.NoError(t, err)
	require.Equal(t, world.Gone, o)
}

// wait sends something that is told when all before it was applied.
func wait(t *testing.T, p *world.Port, done *world.Completion) (world.Outcome, error) {
	require.NoError(t, p.Within(t.Context()).Notify(done).Destroy(handle.None))
	return done.Wait(t.Context())
}

// TestPortWithinBatch waits for room for a batch, while the refresh applies what
// was sent before it. One that is larger than the queue is refused then.
func TestPortWithinBatch(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2, QueueRequests: 10})
	p := f.port()
	for _, n := range []int{5, 10, 11} {
		require.NoError(t, f.unit.CreateN(p, 10, nil))
		over := make(chan error)
		go func() {
			over <- p.Within(t.Context()).Batch(func() error {
				for range n {
					if err := p.Destroy(handle.None); err != nil {
						return err
					}
				}
				return nil
			})
		}()
		var err error
		for waiting := true; waiting; {
			select {
			case err = <-over:
				waiting = false
			default:
				f.Refresh()
				runtime.Gosched()
			}
		}
		if n > 10 {
			require.ErrorIs(t, err, world.ErrTooLarge)
			require.Zero(t, p.Waiting())
		} else {
			require.NoError(t, err)
		}
		f.Refresh()
	}
	require.Equal(t, 30, f.Count())
}

// TestPortFair has one sender send as much as it can, and another a single request
// now and then: that is applied by the next refresh, and has its room.
func TestPortFair(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2, QueueRequests: 1000})
	chatty, quiet := f.port(), f.port()
	require.Less(t, chatty.Number(), quiet.Number(), "and comes first")
	h := f.newUnit(0)
	for i := range int64(iterations(200)) {
		for chatty.Destroy(handle.None) == nil {
		}
		require.ErrorIs(t, chatty.Destroy(handle.None), world.ErrFull)
		var done world.Completion
		require.NoError(t, f.health.Set(quiet.Notify(&done), h, Health{i}))
		f.Refresh()
		require.Equal(t, world.Applied, done.Outcome())
		f.mustHave(i)(h)
	}
	require.Zero(t, quiet.Rejected())
	require.Positive(t, chatty.Rejected())
}

// TestPortIdleIsSmall opens thousands of ports, each of which has sent a little
// and learned an outcome: an idle one takes less than 1 KB.
func TestPortIdleIsSmall(t *testing.T) {
	const n, each = 4000, 1 << 10
	for _, test := range []struct {
		name string
		use  func(f *fixture, p *world.Port)
	}{
		{"never used", func(*fixture, *world.Port) {}},
		{"used for a create and its end", func(f *fixture, p *world.Port) {
			h, err := f.creature.Create(p, Creature{})
			require.NoError(f.t, err)
			require.NoError(f.t, p.Destroy(h))
		}},
		{"used for changes", func(f *fixture, p *world.Port) {
			for range 4 {
				require.NoError(f.t, f.health.Set(p, handle.None, Health{}))
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, world.Options{})
			f.unit.Reserve(f.World, 2*n)
			use := func(ports []*world.Port) {
				for _, p := range ports {
					test.use(f, p)
				}
				f.Refresh()
				f.Refresh()
			}
			open := func() []*world.Port {
				ports := make([]*world.Port, n)
				for i := range ports {
					ports[i] = f.port()
				}
				return ports
			}
			warm := open() // what all share is large enough by now
			use(warm)
			before := heap()
			ports := open()
			use(ports)
			grown := (heap() - before) / n
			t.Logf("%d bytes each", grown)
			require.LessOrEqual(t, grown, int64(each))
			runtime.KeepAlive(warm)
			runtime.KeepAlive(ports)
		})
	}
}

// heap is the bytes in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestPortSteady sends, in all ways, as much again and again: once warm, nothing
// is allocated.
func TestPortSteady(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	p := f.port()
	var done world.Completion
	var all []handle.Handle
	batch := func() error {
		for _, h := range all {
			if err := p.Destroy(h); err != nil {
				return err
			}
		}
		return nil
	}
	fill := func(i int, u *Unit) { u.Points = int64(i) }
	round := func() {
		var err error
		if all, err = f.unit.AppendN(all[:0], p, 100, fill); err != nil {
			panic(err)
		}
		for _, h := range all[:10] {
			if f.health.Set(p, h, Health{1}) != nil || f.hit.Send(p, h, Hit{1}) != nil || f.hit.Broadcast(p, Hit{2}) != nil {
				panic("refused")
			}
		}
		h, err := f.creature.Create(p.Notify(&done), Creature{})
		if err != nil || p.Batch(batch) != nil {
			panic("refused")
		}
		f.Refresh()
		if done.Outcome() != world.Applied || p.Destroy(h) != nil {
			panic("not applied")
		}
		f.Refresh()
	}
	for range 50 {
		round()
	}
	require.Zero(t, testing.AllocsPerRun(100, round))
}
