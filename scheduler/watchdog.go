package scheduler

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync"
	"time"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/clock"
	"github.com/atoll-sim/atoll/world"
)

// Watchdog looks out for systems that do not return, and for a log that a sealed tick waits for.
type Watchdog struct {
	// After is how long a system may run on one shard, or a tick wait for its log. 0 means no
	// watchdog.
	After time.Duration
	// Notify, if not nil, is called once for each such run or wait, while the tick is still
	// running. It may use the world only through a Port, and it must return, because the
	// tick waits for it. If it panics, the error of the tick says so. Options.Logger gets a record
	// in any case.
	Notify func(Stuck)
}

// Stuck describes a system that has not returned, or a log that is not written.
type Stuck struct {
	System   string // or "": the tick waits for its log, as with durable.Options.Sync
	Shard    int    // or world.AllShards
	Tick     uint64
	Duration time.Duration // so far
	// Stack is the stack of the goroutine that runs it, and of those it started, as in a
	// goroutine profile. It is empty if the system has returned meanwhile, and for a log.
	Stack string
}

// String names the system and says how long it has been running.
func (s Stuck) String() string {
	if s.System == "" {
		return fmt.Sprintf("tick %d has been waiting for its log for %v; look at the disk", s.Tick, s.Duration)
	}
	return fmt.Sprintf("system %q has been running for %v on shard %d in tick %d", s.System, s.Duration, s.Shard, s.Tick)
}

// watchdog is a timer that runs while a tick does.
//
// Ownership: the coordinator begins and ends it. The timer calls look on a goroutine of its own; mu
// keeps the two apart.
type watchdog struct {
	after  time.Duration
	notify func(Stuck) error
	tick   *tick
	timer  *time.Timer
	mu     struct {
		sync.Mutex
		on     bool
		waited int64             // the value of tick.committing in the last report of it
		failed *world.PanicError // of notify, the first in a tick
	}
}

func newWatchdog(t *tick, after time.Duration, tell func(Stuck) error) *watchdog {
	d := &watchdog{after: after, notify: tell, tick: t}
	d.timer = time.AfterFunc(time.Hour, d.look)
	d.timer.Stop()
	return d
}

// period returns the time between looks: a run is reported at most that much late.
func (w *watchdog) period() time.Duration { return max(w.after/4, time.Millisecond) }

func (w *watchdog) begin() {
	w.mu.Lock()
	w.mu.on = true
	w.mu.Unlock()
	w.timer.Reset(w.period())
}

// look reports the systems that have run for too long, and a log that a tick has waited for too
// long. The timer calls it.
func (w *watchdog) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.mu.on {
		return
	}
	for _, by := range w.tick.workers {
		s, since := by.running.Load(), by.since.Load()
		spent := w.tick.scale.Duration(clock.Now() - since)
		if s == nil || spent < w.after || by.reported == since {
			continue
		}
		stack := stackOf(labelsOf(s.system.name, int(s.shard)))
		if by.running.Load() != s || by.since.Load() != since {
			stack = ""
		}
		by.reported = since
		w.tell(Stuck{System: s.system.name, Shard: int(s.shard), Tick: w.tick.number, Duration: spent, Stack: stack})
	}
	if since := w.tick.committing.Load(); since != 0 && since != w.mu.waited {
		if spent := w.tick.scale.Duration(clock.Now() - since); spent >= w.after {
			w.mu.waited = since
			w.tell(Stuck{Shard: world.AllShards, Tick: w.tick.number, Duration: spent})
		}
	}
	w.timer.Reset(w.period())
}

// tell reports, and keeps a panic of Notify. The caller holds mu.
func (w *watchdog) tell(x Stuck) {
	err := w.notify(x)
	if e := (*aside.Error)(nil); errors.As(err, &e) && w.mu.failed == nil {
		w.mu.failed = &world.PanicError{In: inWatchdog, Shard: world.AllShards, Tick: x.Tick, Value: e.Value, Stack: e.Stack}
	}
}

func (w *watchdog) end() {
	w.timer.Stop()
	w.mu.Lock()
	w.mu.on = false
	w.mu.Unlock()
}

// takeFailed returns the panic of notify in a tick that has ended.
func (w *watchdog) takeFailed() (e *world.PanicError) {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e, w.mu.failed = w.mu.failed, nil
	return e
}

// stackOf returns the part of the goroutine profile that has all labels, which are keys and values
// in turn, or the error of the profile.
func stackOf(labels []string) string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return err.Error()
	}
	var found []string
	for _, record := range strings.Split(profile.String(), "\n\n") {
		all := true
		for i := 0; i < len(labels); i += 2 {
			all = all && strings.Contains(record, fmt.Sprintf("%q:%q", labels[i], labels[i+1]))
		}
		if all {
			found = append(found, record)
		}
	}
	return strings.Join(found, "\n\n")
}
