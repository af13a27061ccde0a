package async

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// PoolOptions shape a Pool. The zero value means the defaults.
type PoolOptions struct {
	// Workers is how many functions run at a time. Each has a port. Default: 16.
	Workers int
	// Gate, if not nil, is called with the function's context before the function, unless a Gate
	// call that began after the tick of the ask has already returned nil. With durable.Store.Wait
	// as the Gate nothing acts outside because of a tick that may be lost: a world that is restored
	// after a crash knows of all that was done. If it returns an error, the function is not called,
	// and the result is Failed. Workers call it at the same time.
	Gate func(ctx context.Context) error
	// Logger, if not nil, gets the errors and panics of functions, and reports of what cannot be
	// sent. A panic of its handler is written to standard error.
	Logger *slog.Logger
}

const (
	workersDefault = 16
	workersMost    = 4096
)

// Pool runs what a world's Calls ask for. Attach returns it. Asks wait in the order of
// ticks, at most Options.Pending of each shard.
//
// Ownership: any goroutine closes it. mu guards what is nested with it, and the tasks.
type Pool struct {
	o       PoolOptions
	ctx     context.Context // ends when the Pool gives up
	cancel  context.CancelFunc
	room    context.Context // ends when the Pool is closed: until then results wait for room in a port
	noRoom  context.CancelFunc
	workers sync.WaitGroup
	over    chan struct{} // closed when all workers have ended

	mu struct {
		sync.Mutex
		more        sync.Cond
		first, last *task  // waiting tasks
		pushed      uint64 // how many were added
		passed      uint64 // up to which one the Gate let tasks pass
		closed      bool
	}
}

// attachable is a Call of any types.
type attachable interface {
	attached() *Pool
	attach(p *Pool)
}

// Attach gives the world a Pool, which runs what Calls ask for from the next tick on. Asks that
// were made in ticks without one, or were under way when the last Pool was closed or the process
// died, are run again or Lost, as Options.Rerun says. Attach when the world is complete: after
// snapshot.Load or durable.Open, since no log can be played while ports are open, and before its
// first tick. Close the Pool after the last tick, before durable.Store.Close.
//
// It returns ErrAttached, world.ErrPorts, world.ErrClosed, or an error if a log is being replayed.
// It panics for a world without Calls. The world must be idle.
func Attach(w *world.World, o PoolOptions) (*Pool, error) {
	d := engine.Of(w)
	if err := w.Err(); err != nil {
		return nil, err
	}
	d.MustIdle("async.Attach")
	if o.Workers < 0 || o.Workers > workersMost {
		panic(fmt.Sprintf("async: PoolOptions.Workers is %d; want 1 to %d, or 0 for %d", o.Workers, workersMost, workersDefault))
	}
	o.Workers = cmp.Or(o.Workers, workersDefault)
	var calls []attachable
	for _, x := range d.Survey().Extensions() {
		if c, ok := x.(attachable); ok {
			if p := c.attached(); p != nil && !p.isClosed() {
				return nil, ErrAttached
			}
			calls = append(calls, c)
		}
	}
	if len(calls) == 0 {
		panic("async: Attach to a World without Calls; make them with async.New first")
	}
	ports := make([]*world.Port, 0, o.Workers)
	for range o.Workers {
		port, err := w.OpenPort()
		if err != nil {
			for _, port := range ports {
				port.Close()
			}
			return nil, fmt.Errorf("async: %w", err)
		}
		ports = append(ports, port)
	}
	p := &Pool{o: o, over: make(chan struct{})}
	p.mu.more.L = &p.mu
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.room, p.noRoom = context.WithCancel(p.ctx)
	for _, c := range calls {
		c.attach(p)
	}
	for _, port := range ports {
		p.workers.Go(func() { p.work(port) })
	}
	go func() {
		p.workers.Wait()
		p.cancel()
		close(p.over)
	}()
	return p, nil
}

// Close ends the Pool. Functions that run may end, and their results are sent. Asks that wait are
// not begun: the next Pool runs them again, or they are Lost. The same goes for a result for which
// the port has no room, since no tick may come that makes some. Close returns nil when all
// goroutines have ended. If ctx ends before that, the contexts of all functions end, and Close
// returns its error: functions may still run, and their results count only if they return no error.
// Call Close again to wait for them. Closing twice is no error. The next refresh applies the
// results, if there is one. Safe from any goroutine, except those of the functions and those that
// run the tick.
func (p *Pool) Close(ctx context.Context) error {
	if ctx == nil {
		panic("async: Pool.Close with a nil Context; pass one that ends, or context.Background")
	}
	p.stop()
	select {
	case <-p.over:
		return nil
	default:
	}
	select {
	case <-p.over:
		return nil
	case <-ctx.Done():
		p.cancel()
		return ctx.Err()
	}
}

// stop keeps workers from beginning anything more.
func (p *Pool) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.closed, p.mu.first, p.mu.last = true, nil, nil
	p.mu.more.Broadcast()
	p.noRoom()
}

// abort ends the Pool because the world is closed.
func (p *Pool) abort() {
	p.stop()
	p.cancel()
}

func (p *Pool) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.closed
}

// work runs tasks until the Pool is closed.
func (p *Pool) work(port *world.Port) {
	returned := false
	defer func() {
		if !returned { // a function has ended the goroutine
			p.workers.Go(func() { p.work(port) })
		}
	}()
	for p.next(port) {
	}
	port.Close()
	returned = true
}

// next runs the next task. It returns false when the Pool is closed.
func (p *Pool) next(port *world.Port) bool {
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	t := p.take(cancel)
	if t == nil {
		return false
	}
	defer p.finish(t)
	t.job.run(ctx, p, port)
	return true
}

// pass waits for the Gate.
func (p *Pool) pass(ctx context.Context, t *task) error {
	if p.o.Gate == nil {
		return nil
	}
	p.mu.Lock()
	pushed, passed := p.mu.pushed, p.mu.passed
	p.mu.Unlock()
	if t.number <= passed {
		return nil
	}
	if err := p.o.Gate(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	p.mu.passed = max(p.mu.passed, pushed)
	p.mu.Unlock()
	return nil
}

// push adds a task after those that wait. mu is held.
func (p *Pool) push(t *task) {
	p.mu.pushed++
	t.number, t.waits = p.mu.pushed, true
	if t.prev = p.mu.last; t.prev == nil {
		p.mu.first = t
	} else {
		t.prev.next = t
	}
	p.mu.last = t
	p.mu.more.Signal()
}

// remove takes a task out of those that wait. mu is held.
func (p *Pool) remove(t *task) {
	if t.prev == nil {
		p.mu.first = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next == nil {
		p.mu.last = t.prev
	} else {
		t.next.prev = t.prev
	}
	t.prev, t.next, t.waits = nil, nil, false
}

// take waits for a task. cancel ends it while it runs. take returns nil if the Pool is closed.
func (p *Pool) take(cancel context.CancelFunc) *task {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.mu.first == nil && !p.mu.closed {
		p.mu.more.Wait()
	}
	t := p.mu.first
	if t != nil {
		p.remove(t)
		t.cancel = cancel
	}
	return t
}

// end ends a task whose ask has ended. mu is held.
func (p *Pool) end(t *task) {
	if p.mu.closed { // no task waits, and none is reused
		t.waits = false
	} else if t.waits {
		p.remove(t)
		t.ran = true
	}
	t.ended = true
	if t.cancel != nil {
		t.cancel()
	}
	p.reuse(t)
}

// finish notes that a task was run.
func (p *Pool) finish(t *task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.ran, t.cancel = true, nil
	p.reuse(t)
}

func (p *Pool) reuse(t *task) {
	if t.ran && t.ended && !p.mu.closed {
		t.job.release()
	}
}

// hasEnded reports whether the ask has ended, so that its result is not needed.
func (p *Pool) hasEnded(t *task) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return t.ended
}

// log logs what has gone wrong, except the end of the Pool.
func (p *Pool) log(what, name string, err error, values ...any) {
	if !errors.Is(err, world.ErrClosed) {
		aside.Log(p.o.Logger, slog.LevelError, "async: "+what, append([]any{"call", name, "error", err}, values...)...)
	}
}
