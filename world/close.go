package world

import (
	"runtime"
	"slices"

	"github.com/atoll-sim/atoll/internal/queue"
)

// Close ends the world: it destroys every entity, as Clear does, and gives the memory of its tables
// back. Hooks are called; entities that they create die, too. Requests that ports have sent and no
// refresh has applied are not done. Their outcome is Closed, so that no sender waits for ever; to
// have them done, call Refresh first. A world has no goroutines of its own, so there are none to
// end.
//
// A broken world is closed already; see BrokenError. So is a world that breaks while Close
// runs: then Close panics with the *BrokenError.
//
// From then on every call that returns an error returns ErrClosed, including ports' requests
// and a scheduler's Step. All handles are dead: Alive is false, Status is Stale, Get is nil,
// and every reference is empty. All other calls panic with a message that says so.
//
// Only a goroutine that may use the idle World may call Close. Close panics while a tick or a
// refresh runs, within what those call (systems, functions, hooks), or within a query loop:
// stop the scheduler first. Ports may be in use meanwhile. Closing twice is no error; the
// second call returns at once, even if the first Close is still running.
func (w *World) Close() {
	w.lookForChanges()
	for w.phase.Load() != phaseOver {
		if w.tryEnterPhase("World.Close", phaseOver) {
			w.close()
			return
		}
	}
}

func (w *World) close() {
	w.frames.close(ErrClosed)
	w.capturing = nil
	w.closed.Store(true) // before the queues are emptied: senders look here after they have sent
	for _, e := range w.ports.collect(nil) {
		w.ports.abandon(w, e)
	}
	w.markAll()
	w.refresh.run(serial)
	w.extensions.all, w.extensions.late, w.extensions.parts, w.extensions.derived = nil, nil, nil, nil
	if w.markAll() > 0 { // extensions have spared some
		w.refresh.run(serial)
	}
	w.hooks.all = nil
	if w.markAll() > 0 { // hooks have created some
		w.refresh.run(serial)
	}
	w.drop()
}

// drop gives back the memory of a world in which all entities are dead, and notifies senders
// that wait for an outcome.
func (w *World) drop() {
	w.space.Liveness().Cut()
	for _, m := range w.messages {
		m.drop()
	}
	for _, s := range w.shards {
		s.Drop()
	}
	w.space.Drop()
	w.ports.notifyAbandoned()
	w.closing.Lock()
	calls := w.closing.calls
	w.closing.calls, w.closing.done = nil, true
	w.closing.Unlock()
	for _, f := range calls {
		f()
	}
}

// markAll marks every entity and returns how many were not marked before.
func (w *World) markAll() int {
	n := 0
	for _, s := range w.shards {
		n += s.MarkAll()
	}
	return n
}

// unusable returns why nothing can be sent, or nil.
func (p *Port) unusable() error {
	if p.closed {
		return ErrClosed
	}
	return p.w.Err()
}

// unusual reports whether a request needs the slow path.
func (p *Port) unusual() bool { return p.special || p.w.closed.Load() }

// sent is called when requests were published. It puts the port among those whose queues the
// refresh reads. If the world is closed by now, Close may have emptied the queue before the
// requests came.
func (p *Port) sent() {
	p.activate()
	if p.w.closed.Load() {
		p.w.ports.abandon(p.w, p.endpoint)
	}
	runtime.KeepAlive(p) // a port that is not used any more may be closed by its cleanup
}

// abandon empties the queue of a port and decides its requests as Closed, or Broken in a broken
// world. Senders are notified when all entities are dead. It is called by Close, or by a sender
// whose request came too late for Close; the lock keeps the two apart.
func (t *ports) abandon(w *World, e *endpoint) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := e.queue.Load()
	if l == nil {
		return // it has sent nothing
	}
	outcome := queue.Closed
	if w.cause.Load() != nil {
		outcome = queue.Broken
	}
	l.Drain(l.Sent(), w.epoch.Load()+1, &queue.Drained{Creates: make([][]queue.PendingRequest, len(w.shards))})
	l.DecideAll(outcome)
	l.Release()
	if t.mu.over {
		l.Notify()
	} else {
		t.mu.toNotify = append(t.mu.toNotify, l)
	}
	e.wake()
}

// abandonAll abandons all ports of a world that broke, and those of the refresh that broke it,
// which may have closed some. Requests taken from their queues get the same outcome.
func (t *ports) abandonAll(w *World, of []*endpoint) {
	t.mu.Lock()
	all := slices.Concat(t.mu.byNumber, of)
	t.mu.Unlock()
	for _, p := range all {
		if p != nil {
			t.abandon(w, p)
		}
	}
}

// notifyAbandoned notifies senders at the end of Close: when a sender gets the outcome, all
// entities are dead.
func (t *ports) notifyAbandoned() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.over = true
	for _, l := range t.mu.toNotify {
		l.Notify()
	}
	t.mu.toNotify = nil
}

// drop forgets the messages of all shards.
func (m *Message[M]) drop() {
	for i := range m.boxes {
		m.boxes[i] = messageBox[M]{of: m}
	}
}
