package engine

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"weak"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/refresh"
)

// Port is one outside sender: a goroutine outside of the tick holds it to act on the world at any
// time.
//
// Ownership: one goroutine at a time.
type Port struct {
	portSelf
	sender
	endpoint *refresh.Endpoint
	cursor   int32 // shard of the next new entity, round robin
	run      int32 // how many more are created there

	// Unusual conditions; special says that there are some.
	special bool
	closed  bool
	inUse   atomic.Bool     // for the check build
	notify  *Completion     // gets the outcome of the next request
	within  context.Context // the next request waits for room until this ends
	batch   *batch          // under way
	spare   *batch          // kept for the next batch
}

// world implements Self; a nil Port has none.
func (p *Port) world() *World {
	if p == nil {
		return nil
	}
	return p.w
}

// Number returns the port's number, by which refreshes order the ports.
func (p *Port) Number() int { return int(p.endpoint.Number) }

// Alive reports whether the entity is alive. Safe from any goroutine.
func (p *Port) Alive(h handle.Handle) bool { return p.w.space.Alive(h) }

// Status returns what a handle stands for.
func (p *Port) Status(h handle.Handle) Status { return statusNow(p.w, h) }

// Notify makes c get the outcome of the next request, or of none if that is refused.
func (p *Port) Notify(c *Completion) *Port {
	p.notify, p.special = c, true
	return p
}

// Within makes the next request, or batch, wait for room if the queue is full, until the context
// ends: then nothing is sent.
func (p *Port) Within(ctx context.Context) *Port {
	if ctx == nil {
		panic("world: Port.Within of a nil Context; pass one that ends, or context.Background")
	}
	p.within, p.special = ctx, true
	return p
}

// Waiting returns how many requests were sent and are not applied yet. Safe from any goroutine.
func (p *Port) Waiting() int {
	if q := p.endpoint.Queue.Load(); q != nil {
		return q.Waiting()
	}
	return 0
}

// Rejected returns how many requests were not accepted. Safe from any goroutine.
func (p *Port) Rejected() uint64 { return p.rejected.Load() }

// Destroy requests that an entity be destroyed. After an error nothing was sent.
func (p *Port) Destroy(h handle.Handle) error { return p.sendBare(queue.Destroying(), h) }

// sendBare pushes a request without a payload, and publishes it unless a batch is under way. After
// an error nothing was pushed, and the batch is refused.
func (p *Port) sendBare(b queue.Bare, h handle.Handle) error {
	if check.Enabled {
		p.enter()
		defer p.leave()
	}
	if p.unusual() || !p.out.Room(1, queue.BareSize) {
		if err := p.ready(1, queue.BareSize); err != nil {
			return err
		}
	}
	p.out.PushBare(b, h, p.w.engine.Epoch.Load(), p.finisher())
	p.Send()
	return nil
}

// request pushes a request with a payload. The caller fills that in and calls Sending.Done, which
// publishes it. After an error nothing was pushed, and the batch under way is refused.
func (p *Port) request(k *queue.Kind, h handle.Handle) (Sending, error) {
	if check.Enabled {
		p.enter()
		defer p.leave()
	}
	if err := p.refusedNow(k, 1); err != nil {
		return Sending{}, err
	}
	if p.unusual() || !p.out.Room(1, k.Size()) {
		if err := p.ready(1, k.Size()); err != nil {
			return Sending{}, err
		}
	}
	_, at := k.Push(p.out, h, p.w.engine.Epoch.Load(), 0, p.finisher())
	return Sending{To: at, port: p}, nil
}

// create takes a handle and pushes a request to create it, to be published by Send. It returns the
// address of the payload. It first makes sure that there is room, so that a refused create uses no
// slot. place, if not nil, chooses the shard. After an error the batch under way is refused.
func (p *Port) create(b *Bundle, place func() int) (handle.Handle, mem.Pointer, error) {
	k := &b.creating
	if check.Enabled {
		p.enter()
		defer p.leave()
	}
	at := -1
	if place != nil {
		var err error
		if at, err = p.placed(b, place); err != nil { // before anything is taken
			return handle.None, mem.Pointer{}, err
		}
	}
	if p.unusual() || !p.out.Room(1, k.Size()) {
		if err := p.ready(1, k.Size()); err != nil {
			return handle.None, mem.Pointer{}, err
		}
	}
	if p.endpoint.Hand.Len() == 0 {
		if err := p.draw(1); err != nil {
			return handle.None, mem.Pointer{}, err
		}
	}
	if at < 0 {
		at = p.next()
	}
	done := p.finisher() // may panic, so before the handle is taken
	h := p.take()
	r, to := k.Push(p.out, h, p.w.engine.Epoch.Load(), queue.Create, done)
	r.Place(at)
	return h, to, nil
}

// placed is Bundle.placed for a create, which it refuses if the function fails or calls Goexit.
func (p *Port) placed(b *Bundle, place func() int) (at int, err error) {
	err = errMisused
	defer func() {
		if err != nil {
			p.giveUp(err)
		}
	}()
	at, err = b.placed(place)
	return at, err
}

// ready decides what the fast path of sending n requests, of a size each, cannot: it makes the
// queue, waits for room if Within allows it, and refuses. After an error giveUp has ended the call.
func (p *Port) ready(n int, size uint32) error {
	p.mustNotifyFree()
	err := p.available(n, size)
	if err != nil {
		p.giveUp(err)
		return err
	}
	if p.batch == nil {
		p.within = nil
	}
	p.special = p.notify != nil
	return nil
}

// available returns nil once there is room for n requests of a size, or why they are refused: the
// port or world is closed, the batch has failed, or the queue is full. It counts what it refuses.
func (p *Port) available(n int, size uint32) error {
	if err := p.unusable(); err != nil {
		return err
	}
	if p.batch != nil && p.batch.err != nil {
		return p.batch.err
	}
	q := p.openQueue()
	switch {
	case q.Room(n, size):
		return nil
	case !q.Fits(n, size):
		p.reject(n)
		return p.tooLarge(n, size)
	case p.within == nil && (p.batch == nil || q.Waiting() > 0):
		p.reject(n)
		return ErrFull
	}
	err := p.await(n, size) // without Within only a batch gets here; it does not wait for itself
	if err != nil {
		p.reject(n)
	}
	return err
}

// openQueue returns the queue of the port, made on the first call, when the refresh can see it.
func (p *Port) openQueue() *queue.Queue {
	if p.out == nil {
		p.endpoint.Queue.Store(p.open())
	}
	return p.out
}

// reject counts requests that were not accepted. A batch under way counts its others when it is
// rolled back.
func (p *Port) reject(requests int) {
	if p.batch != nil {
		p.batch.rejected = true
	}
	p.sender.reject(requests)
}

// await waits until the refresh has made room. It returns an error if the world is closed, the
// context of Within ends, or there can never be room. Then nothing waits any more.
func (p *Port) await(n int, size uint32) error {
	if p.endpoint.Room == nil {
		p.endpoint.Room = make(chan struct{}, 1)
	}
	for {
		p.endpoint.Waiting.Store(true) // before looking for room: the refresh makes room before it looks at waiting
		empty := p.out.Waiting() == 0
		if p.out.Room(n, size) {
			p.endpoint.Waiting.Store(false)
			return nil
		}
		if empty { // the batch alone fills the queue
			p.endpoint.Waiting.Store(false)
			return p.tooLarge(n, size)
		}
		select {
		case <-p.endpoint.Room: // it may be an old signal, or from World.Close: look again
			if err := p.w.Err(); err != nil {
				return err
			}
		case <-p.within.Done():
			p.endpoint.Waiting.Store(false)
			return p.within.Err()
		}
	}
}

// tooLarge returns the ErrTooLarge of n requests and what the batch under way has.
func (p *Port) tooLarge(n int, size uint32) error {
	requests, bytes := p.out.Staged()
	return tooLarge(uint64(requests)+uint64(n), bytes, queue.BytesOf(n, size), "QueueRequests", p.maxRequests, "QueueBytes", p.maxBytes)
}

// mustNotifyFree panics if the Completion of the next request is still waiting for an earlier one.
// The next request then has none.
func (p *Port) mustNotifyFree() {
	if c := p.notify; c != nil && c.outcome() == armed {
		p.notify = nil // it was for the request that panics here
		c.mustBeFree()
	}
}

// turnDown refuses a call before it sends anything, and the batch under way, and returns err. If
// err is nil, the call had nothing to send.
func (p *Port) turnDown(err error) error {
	p.mustNotifyFree()
	p.giveUp(err)
	return err
}

// errMisused is the error of a batch in which a call panicked and the panic was recovered.
var errMisused = fmt.Errorf("%w: a call in the batch; so nothing of it is sent", ErrFailed)

// turnDownBy is turnDown for a call that is about to panic, if the actor is a port: the panic may
// be recovered, and the batch is refused all the same.
func turnDownBy(by Self) {
	if p, ok := by.(*Port); ok && p != nil {
		p.giveUp(errMisused)
	}
}

// giveUp gives up the Completion, the context and the batch of a request that was not accepted. The
// batch keeps its first error.
func (p *Port) giveUp(err error) {
	if p.batch != nil && p.batch.err == nil {
		p.batch.err = err
	}
	if p.notify != nil && p.notify.outcome() != armed { // else it is that of an earlier request
		p.notify.forget()
	}
	p.notify = nil
	if p.batch == nil {
		p.within = nil
	}
	p.special = true // so that the next call checks
}

// finisher returns the Finisher of the request that is being sent, or nil, and arms it. It panics
// if the Completion is not free.
func (p *Port) finisher() queue.Finisher {
	if p.notify == nil {
		return nil
	}
	return p.armed()
}

// armed is what finisher does with a Completion, in a function of its own so that finisher inlines.
func (p *Port) armed() queue.Finisher {
	c := p.notify
	p.notify, p.special = nil, false
	c.arm()
	if p.batch != nil {
		p.batch.dones = append(p.batch.dones, c)
	}
	return c
}

// Send publishes what was pushed, unless a batch is under way.
func (p *Port) Send() {
	if p.batch == nil {
		p.out.Publish()
		p.sent()
	}
}

// unusable returns why nothing can be sent, or nil: the port or the world is closed.
func (p *Port) unusable() error {
	if p.closed {
		return ErrClosed
	}
	return p.w.Err()
}

// unusual reports whether a request needs the slow path.
func (p *Port) unusual() bool { return p.special || p.w.engine.Closed.Load() }

// sent is called when requests were published. It puts the port among those whose queues the
// refresh reads. If the world is closed by now, Close may have emptied the queue before the
// requests came: then the sender empties it.
func (p *Port) sent() {
	p.endpoint.Activate()
	if p.w.engine.Closed.Load() {
		outcome := Closed
		if p.w.cause.Load() != nil {
			outcome = Broken
		}
		p.w.engine.Ports.Abandon(p.endpoint, outcome)
	}
	runtime.KeepAlive(p) // a port that is not used any more may be closed by its cleanup
}

// draw makes sure that there are n handles in the hand. If it cannot, it draws none, and gives up
// the request that is about to be sent.
func (p *Port) draw(n int) error {
	err := p.endpoint.Draw(p.w.engine.PortSlots, n, p.w.engine.Epoch.Load())
	if err != nil {
		p.giveUp(err)
	}
	return err
}

// take gives a handle of the hand, which has one. A batch notes it, to take it back after an error.
func (p *Port) take() handle.Handle {
	h := p.endpoint.Hand.Give()
	if p.batch != nil {
		p.batch.taken = append(p.batch.taken, h)
	}
	return h
}

// enter detects, with leave, a port that two goroutines use at the same time. Check build only.
func (p *Port) enter() {
	if !p.inUse.CompareAndSwap(false, true) {
		panic(fmt.Sprintf("world: port %d is used from two goroutines at once; open a port for each", p.endpoint.Number))
	}
}

// leave ends what enter began.
func (p *Port) leave() { p.inUse.Store(false) }

// OpenPort opens a port. Any goroutine may call it at any time. It opens none and returns an error
// if too many are open, if a log is replayed, if the world is closed, or for options out of range.
func (w *World) OpenPort(o PortOptions) (*Port, error) {
	o, err := o.validate(w.options)
	if err != nil {
		return nil, err
	}
	e, err := w.engine.Ports.Open(w.options.PortsMax, w.Err)
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, fmt.Errorf("%w: PortsMax is %d; close ports or raise it", ErrPorts, w.options.PortsMax)
	}
	p := &Port{endpoint: e, sender: sender{w: w, maxRequests: o.QueueRequests, maxBytes: o.QueueBytes}}
	p.cursor, p.run = e.Number%int32(len(w.shards)), portRun
	p.special = true // there is no queue yet
	// What the cleanup holds must not keep the world in memory: the world may hold the port.
	runtime.AddCleanup(p, closeDropped, weak.Make(e))
	return p, nil
}

// closeDropped closes the port of an endpoint that the collector has found, on the collector's
// goroutine.
func closeDropped(of weak.Pointer[refresh.Endpoint]) {
	e := of.Value()
	if e == nil {
		return // the world was collected too
	}
	if q := e.Queue.Load(); q != nil {
		q.Waiting() // an atomic load, which makes visible what the sender did before it last published
	}
	e.Close()
}

// Close closes the port: what it has sent is still applied. It panics within a batch, which goes
// on.
func (p *Port) Close() {
	if p.batch != nil {
		panic(fmt.Sprintf("world: Port.Close within a batch of port %d; close it after the batch", p.endpoint.Number))
	}
	if !p.closed {
		p.closed, p.special = true, true
		p.out, p.spare = nil, nil // a closed Port that is kept does not keep the memory of its queue
		p.endpoint.Close()
	}
}

// portRun is how many new entities of a port in a row are created in the same shard: as many as
// share one or two cache lines of slots.
const portRun = 16

// next is the shard of a new entity of the port: round robin, in runs of portRun.
func (p *Port) next() int {
	if p.run == 0 {
		p.run = portRun
		if p.cursor++; int(p.cursor) >= len(p.w.shards) {
			p.cursor = 0
		}
	}
	p.run--
	return int(p.cursor)
}

// Outcome is what became of a request; see world.Outcome.
type Outcome = queue.Outcome

// The outcomes of a request.
const (
	Undecided = queue.Undecided
	Applied   = queue.Applied
	Gone      = queue.Gone
	Missing   = queue.Missing
	Refused   = queue.Refused
	Failed    = queue.Failed
	Closed    = queue.Closed
	Broken    = queue.Broken
	Unknown   = queue.Unknown
)

// Completion gets the outcome of one request of a port.
//
// Ownership: the sender arms it; one goroutine may wait; any goroutine may call Outcome.
type Completion struct {
	state  atomic.Uint32                 // an Outcome, or armed
	signal atomic.Pointer[chan struct{}] // nil until the first Wait or Done
}

// States of a Completion besides the outcomes.
const (
	armed      = ^uint32(0) // between sending and outcome
	signalling = 1 << 31    // the outcome is known and the signal is being sent
)

// outcome returns the state, to the sender or to who waits. While a signal is being sent it waits
// for the end of that.
func (c *Completion) outcome() uint32 {
	for {
		s := c.state.Load()
		if s < signalling || s == armed {
			return s
		}
		runtime.Gosched() // Finish is about to return
	}
}

// mustBeFree panics if an earlier request is under way. The sender calls it.
func (c *Completion) mustBeFree() {
	if c.outcome() == armed {
		panic("world: Completion is still waiting for an earlier request; use one for each request under way")
	}
}

// arm prepares for the next request, on the goroutine of the sender. It panics if an earlier
// request is under way.
func (c *Completion) arm() {
	c.mustBeFree()
	if signal := c.signal.Load(); signal != nil {
		select { // remove a signal that was never received
		case <-*signal:
		default:
		}
	}
	c.state.Store(armed)
}

// forget resets the Completion of a request that was not accepted, on the goroutine of the sender:
// there is no outcome.
func (c *Completion) forget() { c.state.Store(uint32(Undecided)) }

// disarm resets the Completion of a request that was taken back, and wakes a waiting goroutine,
// which gets Undecided.
func (c *Completion) disarm() { c.Finish(Undecided) }

// Finish sets the outcome and wakes who waits. The refresh calls it in the step notify, once for
// each request; at the end of a world, who closes it.
func (c *Completion) Finish(o Outcome) {
	c.state.Store(signalling | uint32(o)) // before looking for a signal, which Done stores before it looks at state
	if signal := c.signal.Load(); signal != nil {
		signalOnce(*signal)
	}
	c.state.Store(uint32(o)) // from here on the sender may use c again
}

// Outcome returns the outcome, or Undecided. Safe from any goroutine.
func (c *Completion) Outcome() Outcome {
	if s := c.state.Load(); s != armed {
		return Outcome(s &^ signalling)
	}
	return Undecided
}

// Done returns a channel that gets one value when the outcome of the request under way is known,
// for use in a select. One goroutine may wait.
func (c *Completion) Done() <-chan struct{} {
	if signal := c.signal.Load(); signal != nil {
		return *signal
	}
	signal := make(chan struct{}, 1)
	c.signal.Store(&signal) // before looking for an outcome
	if c.outcome() != armed {
		signalOnce(signal) // Finish may have run before the signal was stored
	}
	return signal
}

// signalOnce sends a value to who waits for a Completion, unless one is there. It never waits.
func signalOnce(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// Wait waits for the outcome, on one goroutine. If the context ends first, it returns the error of
// that, and the request stays under way.
func (c *Completion) Wait(ctx context.Context) (Outcome, error) {
	for c.state.Load() == armed {
		select {
		case <-c.Done():
		case <-ctx.Done():
			return c.Outcome(), ctx.Err()
		}
	}
	return c.Outcome(), nil
}
