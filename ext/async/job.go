package async

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/internal/aside"
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

// run calls the function, and sends the result.
func (j *job[A, R]) run(ctx context.Context, p *Pool, port *world.Port) {
	a := answer[R]{ID: j.id, Status: Panicked}
	returned := false
	defer func() {
		if !returned {
			e := aside.Recovered("a function", recover())
			p.log("a function has panicked", j.call.name, fmt.Errorf("%v", e.Value), "stack", string(e.Stack))
		}
		j.send(p, port, a)
	}()
	a.Value, a.Status = j.call.do(ctx, p, &j.task, j.args, j.lost)
	returned = true
}

// send sends an answer, unless the ask has ended.
func (j *job[A, R]) send(p *Pool, port *world.Port, a answer[R]) {
	if p.hasEnded(&j.task) || a.Status != Done && p.ctx.Err() != nil {
		return // not sent, so that the next Pool may run it again
	}
	c := j.call
	if err := c.answers.SendShard(port.Within(p.room), c.shardOf(a.ID), a); err != nil && p.ctx.Err() == nil {
		p.log("a result cannot be sent, so the ask will time out, or be Lost or run again with another Pool", c.name, err)
	}
}

// release makes the job reusable. mu of the Pool is held.
func (j *job[A, R]) release() {
	c := j.call
	*j = job[A, R]{}
	c.free = append(c.free, j)
}
