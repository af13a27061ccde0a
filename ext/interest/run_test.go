package interest_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// moving is a world that ticks in each 100 ms, with one who is seen to move in each.
func moving(t *testing.T, o world.Options) (x *field, s *interest.Clients, ticks *scheduler.Scheduler) {
	o.TickInterval = 100 * time.Millisecond
	x = newField(t, o)
	s = x.newSet(interest.Options{})
	s.Open(interest.ClientOptions{Entity: x.unit(5, 5), Radius: 10})
	ticks = scheduler.New(x.World, scheduler.Options{Workers: 1})
	ticks.MustAdd("move", func(b *world.Build) func(*world.Context) {
		positions := world.Write[Position](b)
		all := b.Query(positions)
		return func(*world.Context) {
			for ch := range all.Chunks() {
				for i := range positions.Slice(ch) {
					positions.Slice(ch)[i].Y++
				}
			}
		}
	})
	return x, s, ticks
}

// TestRun tells of each tick, or of some, until the context ends. No frame is left.
func TestRun(t *testing.T) {
	for every, want := range map[time.Duration]int{0: 50, 100 * time.Millisecond: 50, 200 * time.Millisecond: 25, time.Second: 5} {
		synctest.Test(t, func(t *testing.T) {
			x, s, ticks := moving(t, world.Options{})
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second+time.Millisecond)
			defer cancel()
			var all sync.WaitGroup
			all.Go(func() { _ = ticks.Run(ctx) })
			told := 0
			require.NoError(t, s.Run(ctx, x.view, every, 2, func(*interest.Client, *interest.Packet) { told++ }))
			all.Wait()
			require.InDelta(t, want, told, 2, "every %v", every)
			var held world.Stats
			x.Stats(&held)
			require.Zero(t, held.Frames)
			x.update(s, 1) // nobody else does
			require.NoError(t, s.Run(ctx, x.view, 0, 1, none), "the context has ended")
		})
	}
}

// TestRunErrors has no frames to tell of.
func TestRunErrors(t *testing.T) {
	x, s, ticks := moving(t, world.Options{FramesMax: 1})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	ended := make(chan error, 1)
	all.Go(func() { _ = ticks.Run(ctx) })
	told := make(chan bool, 1)
	all.Go(func() {
		ended <- s.Run(context.Background(), x.view, 0, 1, func(*interest.Client, *interest.Packet) {
			select {
			case told <- true:
			default:
			}
		})
	})
	<-told
	mustPanic(t, "Clients.Run during another one", func() { _ = s.Run(ctx, x.view, 0, 1, none) })
	cancel()
	for ticks.Running() {
		time.Sleep(time.Millisecond)
	}
	x.Close()
	require.ErrorIs(t, <-ended, world.ErrClosed)
}

// TestRunWaits has all frames held for a while: Run tells nothing meanwhile, and goes on. If they
// are held for good, it returns why.
func TestRunWaits(t *testing.T) {
	for _, every := range []time.Duration{0, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			x, s, ticks := moving(t, world.Options{FramesMax: 1})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var all sync.WaitGroup
			var told atomic.Int64
			hold := func() (release func()) {
				for {
					if frame, err := x.view.Capture(ctx); err == nil {
						return frame.Release
					}
				}
			}
			all.Go(func() { _ = ticks.Run(ctx) })
			release := hold()
			ended := make(chan error, 1)
			all.Go(func() {
				ended <- s.Run(ctx, x.view, every, 1, func(*interest.Client, *interest.Packet) { told.Add(1) })
			})
			time.Sleep(interest.Patience - every - time.Second)
			require.Zero(t, told.Load())
			release()
			time.Sleep(5 * time.Second)
			require.InDelta(t, 5*time.Second/max(every, 100*time.Millisecond), told.Load(), 2, "every %v", every)
			ticks.Pause() // no frames come, but none are refused
			time.Sleep(2 * interest.Patience)
			ticks.Resume()
			release = hold() // between two frames of Run
			time.Sleep(interest.Patience / 2)
			require.Empty(t, ended, "a moment without frames does not count for the next")
			before, began := told.Load(), time.Now()
			require.ErrorIs(t, <-ended, world.ErrFrames)
			require.Equal(t, before, told.Load())
			require.WithinDuration(t, began.Add(interest.Patience/2), time.Now(), every+time.Second)
			release()
			cancel()
			all.Wait()
		})
	}
}

// TestRunPanics has a Run panic, which releases the frame and leaves the Clients as it was.
func TestRunPanics(t *testing.T) {
	x, s, ticks := moving(t, world.Options{FramesMax: 1})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	all.Go(func() { _ = ticks.Run(ctx) })
	mustPanic(t, "every -1ns; want 0 or more", func() { _ = s.Run(ctx, x.view, -1, 1, none) })
	mustPanic(t, "nil View", func() { _ = s.Run(ctx, nil, 0, 1, none) })
	mustPanic(t, "0 workers", func() { _ = s.Run(ctx, x.view, 0, 0, none) })
	cause := errors.New("cause")
	mustPanic(t, "cause", func() {
		_ = s.Run(ctx, x.view, 0, 2, func(*interest.Client, *interest.Packet) { panic(cause) })
	})
	told := false
	require.NoError(t, s.Run(ctx, x.view, 0, 1, func(*interest.Client, *interest.Packet) {
		told = true
		cancel()
	}))
	require.True(t, told)
}

// TestRunOpens has clients come and go while Run goes on.
func TestRunOpens(t *testing.T) {
	x, s, ticks := moving(t, world.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { _ = ticks.Run(ctx) })
	all.Go(func() {
		if err := s.Run(ctx, x.view, 0, 2, func(v *interest.Client, p *interest.Packet) {
			v.Ack(p.Number)
			client, _ := v.User().(chan int)
			select {
			case client <- len(p.Rows):
			default:
			}
		}); err != nil {
			t.Error(err)
		}
	})
	for range 4 {
		told := make(chan int, 1)
		v := s.Open(interest.ClientOptions{At: near.Point{X: 5, Y: 5}, Radius: 100, Unacked: 1, User: told})
		require.Equal(t, 1, <-told)
		v.Close()
	}
	cancel()
	all.Wait()
}
