package scheduler

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/world"
)

// BetweenMax is how many functions of Between can wait.
const BetweenMax = 1024

// between holds the functions that wait to be called between ticks.
//
// Ownership: safe for concurrent use; mu guards. count is the length of waiting, to be read without
// the lock. called belongs to the goroutine that runs functions.
type between struct {
	busy   atomic.Bool // a goroutine runs functions
	called []called
	count  atomic.Int32
	mu     struct {
		sync.Mutex
		waiting []asked
		closed  error // the world's error, once it is closed or broken
	}
}

// called is a function that was called, its result, and the channel that gets the result.
type called struct {
	done chan<- error
	err  error
}

// asked is a call of Between.
type asked struct {
	f    func(*world.World)
	done chan<- error
}

// Between has f called once while the world is idle. Run calls it as soon as the tick that is under
// way has ended, also while Run is paused; the next Step calls it before its tick. f may use the
// World for everything but a tick. This is how any other goroutine looks at a running world, saves
// it or changes it. The next tick waits for f, and its time counts for that tick. The functions are
// called one at a time, in the order of the calls of Between.
//
// The channel gets one value: nil when f has returned, a *world.PanicError if f panicked, the
// world's error if it is closed or broken by then, or world.ErrFull at once if BetweenMax functions
// wait. The caller need not receive it. A scheduler that makes no more ticks does not call f: the
// channel then gets its value when the world is closed or breaks. A system, function or hook must
// not receive from the channel, because its tick would never end; nor must OnTick or f, because the
// next tick would never begin.
//
// Changes by f are not inputs: a log of inputs does not record them.
//
// Safe from any goroutine at any time, also from within f.
func (s *Scheduler) Between(f func(*world.World)) <-chan error {
	if f == nil {
		panic("scheduler: Scheduler.Between of a nil function; pass one to call")
	}
	done := make(chan error, 1)
	b := &s.between
	b.mu.Lock()
	err := b.mu.closed
	if len(b.mu.waiting) == BetweenMax {
		err = fmt.Errorf("%w: %d functions wait to be called between ticks", world.ErrFull, BetweenMax)
	}
	if err != nil {
		b.mu.Unlock()
		done <- err
		return done
	}
	b.mu.waiting = append(b.mu.waiting, asked{f, done})
	b.count.Store(int32(len(b.mu.waiting)))
	b.mu.Unlock()
	s.control.notify(func() {})
	return done
}

// runBetween calls the functions that wait now; call is the name of the call for messages. If the
// context ends or the Run is stopping, it leaves the rest to the next Run or Step.
func (s *Scheduler) runBetween(ctx context.Context, call string, stopping func() bool) {
	b := &s.between
	if b.count.Load() == 0 && !b.busy.Load() {
		return
	}
	if s.running.Load() || !b.busy.CompareAndSwap(false, true) {
		panic("scheduler: " + call + " while a tick, or a function of Between, runs; a world has one tick at a time")
	}
	defer b.busy.Store(false)
	defer s.workedOutside(inBetweenTicks, time.Now())
	defer b.answer()
	defer s.lookForChanges() // before answer sends the results
	for n := b.count.Load(); n > 0 && ctx.Err() == nil && !stopping(); n-- {
		if x, ok := b.next(); ok {
			s.call(x)
		}
	}
}

// next takes the first function that waits. There may be none left if one has closed the world.
func (b *between) next() (x asked, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.mu.waiting) == 0 {
		return x, false
	}
	x = b.mu.waiting[0]
	b.mu.waiting = slices.Delete(b.mu.waiting, 0, 1)
	b.count.Store(int32(len(b.mu.waiting)))
	return x, true
}

// close sends err to all callers of Between that wait, and keeps it for later ones.
func (b *between) close(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, x := range b.mu.waiting {
		x.done <- err
	}
	b.mu.waiting, b.mu.closed = nil, err
	b.count.Store(0)
}

// lookForChanges notifies a log of inputs if the idle world was changed by something that a replay
// does not repeat.
func (s *Scheduler) lookForChanges() {
	if s.running.Load() {
		return // a tick runs: the call that goes on panics
	}
	if s.takeSwitches(); s.changed {
		s.changed = false
		s.tick.driver.Touched()
	}
	s.tick.driver.LookForChanges()
}

// answer sends the results of the functions that were called.
func (b *between) answer() {
	for _, x := range b.called {
		x.done <- x.err
	}
	clear(b.called)
	b.called = b.called[:0]
}

// call calls a function of Between.
func (s *Scheduler) call(x asked) {
	ended := func(err error) { s.between.called = append(s.between.called, called{x.done, err}) }
	if err := s.w.Err(); err != nil {
		ended(err)
		return
	}
	returned := false
	defer func() {
		if returned {
			ended(nil)
			return
		}
		v := recover()
		if v == nil {
			v = aside.ErrGoexit // recover does not stop it
		}
		err := &world.PanicError{In: inBetween, Shard: world.AllShards, Tick: s.w.Tick(), Value: v, Stack: debug.Stack()}
		s.counts.Panics++
		s.logPanic(err, "function between ticks panicked", "tick", err.Tick)
		ended(err)
	}()
	x.f(s.w)
	returned = true
}
