package world

import (
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/refresh"
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
	w.engine.Closed.Store(true) // before the queues are emptied: senders look here after they have sent
	w.engine.Ports.AbandonActive(queue.Closed)
	w.engine.MarkAll()
	w.doRefresh(refresh.Serial, false)
	w.engine.Extensions.Drop()
	w.parts = nil
	if w.engine.MarkAll() > 0 { // extensions have spared some
		w.doRefresh(refresh.Serial, false)
	}
	w.dropHooks()
	if w.engine.MarkAll() > 0 { // hooks have created some
		w.doRefresh(refresh.Serial, false)
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
	w.engine.Ports.NotifyAbandoned()
	w.closing.Lock()
	calls := w.closing.calls
	w.closing.calls, w.closing.done = nil, true
	w.closing.Unlock()
	for _, f := range calls {
		f()
	}
}

// unusable returns why nothing can be sent, or nil.
func (p *Port) unusable() error {
	if p.closed {
		return ErrClosed
	}
	return p.w.Err()
}

// drop forgets the messages of all shards.
func (m *Message[M]) drop() {
	for i := range m.boxes {
		m.boxes[i] = messageBox[M]{of: m}
	}
}
