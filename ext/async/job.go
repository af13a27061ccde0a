package async

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/atoll-sim/atoll/internal/wheel"
	"github.com/atoll-sim/atoll/world"
)

// task is what a Pool knows of an ask.
//
//	waits ──▶ runs ──▶ ran
//	  └── ended: the world has a result, a time-out, or no such entity any more
//
// A task is reused once its ask has ended and it was run, or will not be.
//
// Ownership: mu of the Pool guards it, except for number, id and job.
type task struct {
	id         wheel.ID
	job        runner
	number     uint64 // in the order in which they came
	prev, next *task  // that wait
	waits      bool
	ran        bool
	ended      bool
	cancel     context.CancelFunc // while it runs
}

// runner is a job of any types.
type runner interface {
	run(ctx context.Context, p *Pool, port *world.Port)
	release()
}

// job is a task with its arguments.
type job[A, R any] struct {
	task
	call *Call[A, R]
	args A
	lost bool // not to be run
}

// attached returns the Pool of the Call.
func (c adapter[A, R]) attached() *Pool { return c.pool }

// attach sets the Pool, and gives it all asks except those that the next refresh hands over.
func (c adapter[A, R]) attach(p *Pool) {
	c.pool, c.free = p, nil
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range c.homes {
		h := &c.homes[i]
		h.tasks, h.ended = nil, nil
		fresh := make(map[wheel.ID]bool, len(h.fresh))
		for _, id := range h.fresh {
			fresh[id] = true
		}
		h.Each(i, func(_ int, id wheel.ID) {
			if !fresh[id] {
				c.push(h, id, !c.options.Again)
			}
		})
	}
}

// tell hands the Pool the asks since the last refresh, and ends the tasks of asks that have ended.
func (c *Call[A, R]) tell(h *home[A, R]) {
	if len(h.fresh)+len(h.ended) == 0 {
		return
	}
	p := c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range h.ended {
		p.end(t)
	}
	if p.mu.closed {
		return
	}
	for _, id := range h.fresh {
		c.push(h, id, false)
	}
}

// push gives the Pool an ask. mu is held.
func (c *Call[A, R]) push(h *home[A, R], id wheel.ID, lost bool) {
	var j *job[A, R]
	if n := len(c.free); n > 0 {
		j, c.free = c.free[n-1], c.free[:n-1]
	} else {
		j = new(job[A, R])
	}
	index := id.Index()
	*j = job[A, R]{task: task{id: id, job: j}, call: c, args: *h.args.At(index), lost: lost}
	for index >= len(h.tasks) {
		h.tasks = append(h.tasks, nil)
	}
	h.tasks[index] = &j.task
	c.pool.push(&j.task)
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

// release makes the job reusable. mu of the Pool is held.
func (j *job[A, R]) release() {
	c := j.call
	*j = job[A, R]{}
	c.free = append(c.free, j)
}

// run calls the function, and sends the result.
func (j *job[A, R]) run(ctx context.Context, p *Pool, port *world.Port) {
	a := answer[R]{ID: j.id, Status: Panicked}
	returned := false
	defer func() {
		if !returned {
			v := recover()
			if v == nil {
				v = "it has ended its goroutine"
			}
			p.log("a function has panicked", j.call.label, fmt.Errorf("%v", v), "stack", string(debug.Stack()))
		}
		j.send(p, port, a)
	}()
	a.Value, a.Status = j.call.do(ctx, p, &j.task, j.args, j.lost)
	returned = true
}

// do calls the function, after the Gate.
func (c *Call[A, R]) do(ctx context.Context, p *Pool, t *task, args A, lost bool) (value R, _ Status) {
	if lost {
		return value, Lost
	}
	err := p.pass(ctx, t)
	if err == nil {
		value, err = c.run(ctx, args)
	}
	if err == nil {
		return value, Done
	}
	if ctx.Err() == nil {
		p.log("a function has failed", c.label, err)
	}
	return value, Failed
}

// send sends an answer, unless the ask has ended.
func (j *job[A, R]) send(p *Pool, port *world.Port, a answer[R]) {
	if p.hasEnded(&j.task) || a.Status != Done && p.ctx.Err() != nil {
		return // not sent, so that the next Pool may run it again
	}
	c := j.call
	if err := c.answers.SendShard(port.Within(p.room), c.shardOf(a.ID), a); err != nil && p.ctx.Err() == nil {
		p.log("a result cannot be sent, so the ask will time out, or be Lost or run again with another Pool", c.label, err)
	}
}
