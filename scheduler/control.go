package scheduler

import (
	"context"
	"sync"
	"time"
)

// control carries orders from other goroutines to a Run.
//
// Ownership: safe for concurrent use; mu guards. changed wakes the Run.
type control struct {
	changed chan struct{} // holds one
	mu      struct {
		sync.Mutex
		paused  bool
		steps   int // ticks to make while paused
		stopped bool
	}
}

func (c *control) init() { c.changed = make(chan struct{}, 1) }

// notify changes the orders of Run, and wakes it.
func (c *control) notify(change func()) {
	c.mu.Lock()
	change()
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// Pause makes Run stand still after the tick that is under way: the world is idle
// but still belongs to Run. Ticks of StepOnce that have not begun are dropped. Safe from any
// goroutine at any time; a system may call it. It does not wait. It has no effect on Step.
func (s *Scheduler) Pause() {
	s.control.notify(func() { s.control.mu.paused, s.control.mu.steps = true, 0 })
}

// Resume ends a pause. Ticks that would have been due during the pause are not made up
// for. Safe as Pause.
func (s *Scheduler) Resume() {
	s.control.notify(func() { s.control.mu.paused, s.control.mu.steps = false, 0 })
}

// StepOnce makes a paused Run make one tick at once. Several calls make several ticks. Such a tick
// has no time at which it is due, so it is never late: no rung of Options.Ladder is in force in it,
// and after it Run goes up no rung and skips no ticks. StepOnce reports whether Run was paused.
// Safe as Pause.
func (s *Scheduler) StepOnce() bool {
	paused := false
	s.control.notify(func() {
		if paused = s.control.mu.paused; paused {
			s.control.mu.steps++
		}
	})
	return paused
}

// Stop makes Run return nil after the tick that is under way, or the next Run at
// once if there is none. Safe as Pause.
func (s *Scheduler) Stop() { s.control.notify(func() { s.control.mu.stopped = true }) }

// Paused reports whether Run stands still, or would if it were under way. Safe as Pause.
func (s *Scheduler) Paused() bool {
	s.control.mu.Lock()
	defer s.control.mu.Unlock()
	return s.control.mu.paused
}

// Running reports whether a Run is under way, paused or not. Safe as Pause.
func (s *Scheduler) Running() bool { return s.runs.Load() }

// orders is what control tells Run to do at a moment.
type orders int

const (
	goOn orders = iota
	standStill
	stepOnce
	stop
)

// stopping reports whether Run is to return.
func (c *control) stopping() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.stopped
}

// next takes the next order.
func (c *control) next() orders {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.mu.stopped:
		c.mu.stopped = false
		return stop
	case c.mu.paused && c.mu.steps > 0:
		c.mu.steps--
		return stepOnce
	case c.mu.paused:
		return standStill
	}
	return goOn
}

// await waits until the time of the next tick, or until an order makes the tick due or ends the
// Run. It returns stop if Run is to return, and stepOnce for a single tick, in which no rung of the
// ladder is in force; stood reports whether Run stood still meanwhile. await also calls the
// functions of Between.
func (s *Scheduler) await(ctx context.Context, timer *time.Timer, due time.Time) (order orders, stood bool) {
	c := &s.control
	timer.Reset(max(0, time.Until(due)))
	for isDue := false; ctx.Err() == nil; {
		s.runBetween(ctx, "Scheduler.Run", s.control.stopping)
		if s.w.Err() != nil {
			return goOn, stood // the tick will return the error
		}
		var come <-chan time.Time
		switch c.next() {
		case stop:
			return stop, stood
		case stepOnce:
			s.goTo(0) // also if Run has not stood still before
			s.outside.forget()
			return stepOnce, true
		case standStill:
			stood = true
			s.goTo(0) // a paused Run has no ticks that take too long
			s.outside.forget()
		case goOn:
			if isDue || stood {
				return goOn, stood
			}
			come = timer.C
		}
		select {
		case <-ctx.Done():
		case <-c.changed:
		case <-come:
			isDue = true
		}
	}
	return stop, stood
}
