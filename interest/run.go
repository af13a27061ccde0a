package interest

import (
	"context"
	"fmt"
	"time"

	"github.com/atoll-sim/atoll/world"
)

// Run calls Update with frames that the view captures, every so often, until the context ends, and then returns nil.
// Every 0 is as often as the world ticks: with a frame of each tick, but for ticks that end during an Update. Run
// releases the frames. It is for a goroutine of its own, beside the one of Scheduler.Run.
//
// Run returns the error of View.Capture: one that wraps world.ErrFrames if too many frames are held, or why the world
// was closed or is broken. It panics if every is negative, during another Run, and as View.Capture and Update do.
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
	for {
		if err := s.capture(ctx, view, workers, sink); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
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
