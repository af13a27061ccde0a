package inspect

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

const (
	levelChanged = slog.LevelInfo
	levelFailed  = slog.LevelWarn
)

// waitMax is how long the world may take to end a tick, and an answer to be begun.
const waitMax = 2 * time.Second

var (
	errStands = busy(http.StatusServiceUnavailable, "no tick has ended for 2 seconds: the world is stuck, or nobody runs it; ask again later")
	errClosed = refuse(http.StatusServiceUnavailable, "the inspector or its world is closed")
)

// visitor is the way of all parts of an Inspector to the world: one function of Scheduler.Between
// calls all functions that wait to see the idle world. It also knows when the Inspector ends.
//
// Ownership: any goroutine. mu guards the fields after it.
type visitor struct {
	s       *scheduler.Scheduler
	w       *world.World
	logger  *slog.Logger
	ctx     context.Context // ends with the Inspector
	end     context.CancelFunc
	work    group
	changes atomic.Uint64 // how many the controls made; data read before the last change is not given to later readers

	mu      sync.Mutex
	waiting []*visit
	sent    bool // a function of Between will call those that wait
}

// visit is a function that waits for the idle world.
type visit struct {
	f    func(*world.World) error
	done chan error // holds one
}

// newVisitor makes the visitor of an Inspector, for New.
func newVisitor(s *scheduler.Scheduler, logger *slog.Logger) *visitor {
	v := &visitor{s: s, logger: logger}
	if s != nil { // or a test has no world
		v.w = s.World()
	}
	v.ctx, v.end = context.WithCancel(context.Background())
	return v
}

// log writes to the Logger, if there is one.
func (v *visitor) log(level slog.Level, what string, values ...any) {
	aside.Log(v.logger, level, what, values...)
}

// changed logs a change that a request has asked for.
func (v *visitor) changed(r *http.Request, what string, values ...any) {
	v.log(levelChanged, "inspector: "+what, append(values, "from", r.RemoteAddr, "tick", v.w.Tick())...)
}

// made notes that a change was made, before the answer is sent: later readers see the change.
func (v *visitor) made() { v.changes.Add(1) }

// do has f called between two ticks, on a goroutine of its own, waits for it and returns its
// error. Any goroutine may call it. If the context or waitMax ends before f is called, it never is,
// and do returns an error.
func (v *visitor) do(ctx context.Context, f func(*world.World) error) error {
	ctx, cancel := context.WithTimeout(ctx, waitMax)
	defer cancel()
	one := &visit{f, make(chan error, 1)}
	if err := v.enter(one); err != nil {
		return err
	}
	select {
	case err := <-one.done:
		return err
	case <-ctx.Done():
	}
	v.mu.Lock()
	at := slices.Index(v.waiting, one)
	if at >= 0 {
		v.waiting = slices.Delete(v.waiting, at, at+1)
	}
	v.mu.Unlock()
	if at < 0 { // it is running
		return <-one.done
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errStands
	}
	return ctx.Err()
}

// enter adds a function to those that wait. The first has a goroutine ask the scheduler. After an
// error it does not wait.
func (v *visitor) enter(one *visit) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ctx.Err() != nil || !v.sent && !v.work.start(v.send) {
		return errClosed
	}
	v.sent = true
	v.waiting = append(v.waiting, one)
	return nil
}

// send has the waiting functions called, or answers them with the error of Between. It is that
// goroutine.
func (v *visitor) send() {
	var err error
	select {
	case err = <-v.s.Between(v.serve):
		if err == nil {
			return
		}
	case <-v.ctx.Done():
		err = errClosed
	}
	switch {
	case errors.Is(err, world.ErrFull):
		err = busy(http.StatusServiceUnavailable, err.Error())
	case v.w.Err() != nil:
		err = errClosed
		v.end()
	}
	for _, one := range v.take() {
		one.done <- err
	}
}

// take removes and returns the waiting functions.
func (v *visitor) take() []*visit {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := v.waiting
	v.waiting, v.sent = nil, false
	return all
}

// serve calls the waiting functions: all of them, even if one panics. The scheduler calls it between
// two ticks.
func (v *visitor) serve(w *world.World) {
	for _, one := range v.take() {
		one.done <- aside.Do("inspect: looking at the world", func() error { return one.f(w) })
	}
}

// group is the goroutines that end with the Inspector.
//
// Ownership: mu guards over. It also keeps goroutines from starting while close waits.
type group struct {
	mu   sync.Mutex
	over bool
	all  sync.WaitGroup
}

// start runs f on a goroutine, unless the Inspector has ended. It returns false, and does not run
// it, if it has.
func (g *group) start(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		g.all.Go(f)
	}
	return !g.over
}

// close keeps goroutines from starting, and waits for all.
func (g *group) close() {
	g.mu.Lock()
	g.over = true
	g.mu.Unlock()
	g.all.Wait()
}
