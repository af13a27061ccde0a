package async

import (
	"context"
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/wheel"
	"github.com/atoll-sim/atoll/world"
)

// Errors of refused calls, for errors.Is. A refused call changes nothing.
var (
	// ErrPending is returned if the shard has Options.Pending asks under way.
	ErrPending = errors.New("async: the shard has Options.Pending asks under way")
	// ErrAttached is returned by Attach if the world has a Pool that is not closed.
	ErrAttached = errors.New("async: the world has a Pool; close it first")
)

// Options shape a Call. The zero value means the defaults.
type Options struct {
	// Pending is how many asks may be under way in each shard, and of global systems. It is at most
	// 16,777,216. Default: 4,096. The memory for the largest number so far is kept. A snapshot with
	// more can be loaded.
	Pending int
	// Ticks is after how many ticks an ask times out: from 2, since a result takes as long, to 2³⁰.
	// Default: 600.
	Ticks int
	// Rerun says that the function may run twice for one ask: it only reads, say, or writes
	// the same the second time. If the process dies, or the Pool is closed, before there is a
	// result, the next Pool runs it again. Without Rerun the result is Lost then.
	Rerun bool
}

const (
	pendingDefault = 1 << 12
	pendingMost    = wheel.Most
	ticksDefault   = 600
	ticksLeast     = 2
	ticksMost      = 1 << 30
)

// validate fills in the defaults. It panics for options out of range.
func (o Options) validate(of string) Options {
	limit := func(name string, v *int, def, least, most int) {
		if *v == 0 {
			*v = def
		}
		if *v < least || *v > most {
			panic(fmt.Sprintf("async: Options.%s of %q is %d; want %d to %d, or 0 for %d", name, of, *v, least, most, def))
		}
	}
	limit("Pending", &o.Pending, pendingDefault, 1, pendingMost)
	limit("Ticks", &o.Ticks, ticksDefault, ticksLeast, ticksMost)
	return o
}

// Status says what became of an ask.
type Status uint8

// What becomes of an ask.
const (
	Done     Status = iota // the function has returned no error
	Failed                 // the function has returned an error; or PoolOptions.Gate has, and the function was not called
	Panicked               // the function has panicked, or ended its goroutine
	TimedOut               // there is no result after Options.Ticks; the function may still run
	Lost                   // the world had no Pool, or lost it, and Options.Rerun is not set; the function may have run
	statuses
)

// String returns the name.
func (s Status) String() string {
	if s < statuses {
		return [...]string{"Done", "Failed", "Panicked", "TimedOut", "Lost"}[s]
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

// Result is the message with the result of an ask.
type Result[R any] struct {
	ID     ID // the one that Call.Go returned
	Status Status
	Value  R // what the function has returned, even if it returned an error, too
}

// ID names an ask. No other ask gets it while a result is under way. In components of a copied
// entity it becomes None, as a timer.ID does: the result goes to the original.
type ID uint64

// None is the ID of no ask.
const None ID = 0

func init() { mem.Single[ID]() }

// Call is a function that runs outside of the world. Go requests a run of it.
//
// Results are delivered after the messages that were sent for a tick and after the timers that were
// made before the Call: in the order of the shards that asked, and within a shard in the order in
// which the results came, then those that have timed out.
//
// Ownership: the world's. Go may be called by the goroutine that holds the Actor.
type Call[A, R any] struct {
	w       *world.World
	engine  *engine.World
	name    string
	options Options
	run     func(context.Context, A) (R, error)
	homes   []home[A, R]
	of      *mem.Type // of the args
	deliver extend.Deliver
	owner   func(handle.Handle) int32 // bound once
	answers *engine.Requests[answer[R]]
	pool    *Pool        // nil: none was attached. Changed while the world is idle.
	free    []*job[A, R] // guarded by the Pool, until it is closed
}

// New makes a function a Call of the world: its results are sent as m. Errors, logs and snapshots
// use the name. Several Calls may share one m.
//
// run is called on any goroutine of a Pool, on several at the same time. It must not touch the
// world except through a port of its own. It must not write what args point to. ctx ends when the
// ask has timed out, when the Pool gives up, and within 64 ticks after the death of the entity, or
// more if over 4,096 asks of the shard are under way. What the function returns then is dropped.
//
// The world must be idle and, if it is to be loaded, new. New panics for a name that is empty or
// taken, a nil m or run, an R larger than world.Options.QueueBytes, and options out of range.
func New[A, R any](w *world.World, name string, m *world.Message[Result[R]], run func(ctx context.Context, args A) (R, error), o Options) *Call[A, R] {
	d := engine.Of(w)
	d.MustName("async.New", name)
	switch {
	case m == nil:
		panic(fmt.Sprintf("async: New of %q with a nil Message; pass one of world.RegisterMessage", name))
	case run == nil:
		panic(fmt.Sprintf("async: New of %q with a nil function; pass one to call", name))
	}
	c := &Call[A, R]{w: w, engine: d, name: name, options: o.validate(name), run: run, of: mem.TypeOf[A]()}
	for _, x := range d.Survey().Extensions() {
		if other, ok := x.(attachable); ok {
			c.pool = other.attached()
		}
	}
	adapter[A, R]{c}.Arrange()
	c.deliver = d.Delivers(m)
	c.owner = wheel.Owner(d.Space())
	c.answers = engine.NewDirect(d, name, c.answer)
	if n, most := c.answers.Bytes(), w.Options().QueueBytes; n > uint64(most) {
		panic(fmt.Sprintf("async: a result of %q takes %d bytes, and no port sends more than world.Options.QueueBytes = %d; raise that, or return a pointer", name, n, most))
	}
	d.ExtendLate(adapter[A, R]{c})
	d.OnClose(func() {
		if c.pool != nil {
			c.pool.abort()
		}
	})
	return c
}

// Go requests a call of the function with args, about an entity. The function is called after the
// current tick, or after the next one if the world is idle, unless the entity is dead by then. The
// result is delivered in the tick after that at the earliest.
//
// It returns ErrPending if the shard has as many asks as it may, and world.ErrStale if the entity
// is not alive. Go panics for a *world.Port, which must send a world.Func that calls Go. Once warm
// it does not allocate.
func (c *Call[A, R]) Go(by world.Actor, to handle.Handle, args A) (ID, error) {
	at, err := c.engine.Acts(by, c.name, "Call.Go")
	switch {
	case err != nil:
		return None, err
	case at == engine.ByPort:
		panic(fmt.Sprintf("async: Call.Go of %q by a *world.Port; call a world.Func that does it", c.name))
	}
	idle := at == engine.ByWorld
	if idle {
		at = wheel.Home(c.engine.Space(), c.owner(to))
	}
	if at < 0 || !by.Alive(to) {
		return None, world.ErrStale
	}
	h := &c.homes[at]
	if h.Count() >= c.options.Pending {
		return None, ErrPending
	}
	now := c.w.Tick()
	index, id := h.Add(at, to, now+uint64(c.options.Ticks), now, 0)
	own := h.Body(index)
	if *own = args; c.of.HasTimes() {
		c.of.DropClocks(mem.PointerTo(own).Address, 1)
	}
	h.fresh = append(h.fresh, id)
	if idle {
		c.engine.Touched()
	}
	return ID(id), nil
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
	*j = job[A, R]{task: task{id: id, job: j}, call: c, args: *h.Body(index), lost: lost}
	for index >= len(h.tasks) {
		h.tasks = append(h.tasks, nil)
	}
	h.tasks[index] = &j.task
	c.pool.push(&j.task)
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
		p.log("a function has failed", c.name, err)
	}
	return value, Failed
}

// Len returns how many asks are under way, including those of entities that died and were not
// removed yet. The world must be idle.
func (c *Call[A, R]) Len() (n int) {
	c.engine.MustIdle("Call.Len")
	for i := range c.homes {
		n += c.homes[i].Count()
	}
	return n
}

// shardOf returns the shard that gets answers to an ask. Answers to global systems go to shard 0.
func (c *Call[A, R]) shardOf(id wheel.ID) int {
	return c.engine.Space().OwnerOfHome(id.Home()) % c.w.Shards()
}

// answer applies an answer at the refresh, in the shard that it was sent to.
func (c *Call[A, R]) answer(shard int, x *answer[R]) engine.Outcome {
	if x.ID.Home() >= len(c.homes) || c.shardOf(x.ID) != shard || x.Status >= statuses { // only in a log that was altered
		return engine.Gone
	}
	h := &c.homes[x.ID.Home()]
	index, ok := h.Find(x.ID)
	if !ok {
		return engine.Gone
	}
	h.came = append(h.came, result[R]{to: h.At(index).To, Result: Result[R]{ID(x.ID), x.Status, x.Value}})
	h.Unset(index)
	h.Release(index)
	h.end(index)
	return engine.Applied
}
