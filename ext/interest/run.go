package interest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/atoll-sim/atoll/world"
)

// Patience is for how long Set.Run goes on without a frame while too many are held.
const Patience = 10 * time.Second

// Run calls Update with frames that the view captures, every so often, until the context ends, and
// then returns nil. Every 0 is as often as the world ticks: with a frame of each tick, but for
// ticks that end during an Update. Run releases the frames. It is for a goroutine of its own,
// beside the one of Scheduler.Run.
//
// While too many frames are held, as by other parts of the program, there is none for Run, and
// views get nothing. Run tries again a tick later, or after every. If that goes on for Patience, it
// returns the error of View.Capture, which wraps world.ErrFrames: frames are not released, or the
// limits are too low for one.
//
// Run returns why the world was closed or is broken, too. It panics if every is negative, during
// another Run, and as View.Capture and Update do.
func (s *Set) Run(ctx context.Context, view *world.View, every time.Duration, workers int, sink func(*View, *Packet)) error {
	switch {
	case every < 0:
		panic(fmt.Sprintf("interest: Set.Run every %v; want 0 or more", every))
	case !s.loops.CompareAndSwap(false, true):
		panic("interest: Set.Run during another one; call one at a time")
	}
	defer s.loops.Store(false)
	due := time.NewTimer(every)
	defer due.Stop()
	var without time.Time // since when too many frames are held
	for {
		err := s.capture(ctx, view, workers, sink)
		switch {
		case err == nil:
			without = time.Time{}
		case ctx.Err() != nil:
			return nil
		case !errors.Is(err, world.ErrFrames) || !without.IsZero() && time.Since(without) >= Patience:
			return err
		default:
			if without.IsZero() {
				without = time.Now()
			}
			due.Reset(max(every, s.rest)) // Capture fails at once, whatever time the next tick needs
		}
		select {
		case <-ctx.Done():
			return nil
		case <-due.C:
			due.Reset(every)
		}
	}
}

// capture makes an Update of the next frame.
func (s *Set) capture(ctx context.Context, view *world.View, workers int, sink func(*View, *Packet)) error {
	frame, err := view.Capture(ctx)
	if err != nil {
		return err
	}
	defer frame.Release()
	s.Update(frame, workers, sink)
	return nil
}
