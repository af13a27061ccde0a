package world

import "github.com/atoll-sim/atoll/shard"

// Close ends the world: it destroys every entity, as Clear does, and gives the memory
// of its tables back. What ports have sent and no refresh has applied is not done: its
// outcome is Closed, so that nobody waits for ever; call Refresh first to have it done.
// A world has no goroutines of its own, so there is none to end.
//
// From then on whatever returns an error returns ErrClosed, ports' requests and a
// scheduler's Step included. All handles are dead: Alive is false, Status is Stale, Get
// is nil, and every reference is empty. Everything else panics and says so.
//
// It is for whoever may use the idle World, and panics while a tick runs or within a
// query loop: stop the scheduler first. Ports may be in use meanwhile. Closing twice is
// no error.
func (w *World) Close() {
	w.closing.Lock()
	defer w.closing.Unlock()
	if w.closed.Load() {
		return
	}
	w.mustSettle("Close")
	w.closed.Store(true) // before the lanes are emptied: who sends later looks here then
	w.busy.Store(true)   // nothing of the idle world passes from here on
	for _, p := range w.ports.collect(nil) {
		w.ports.abandon(p)
	}
	for _, s := range w.shards {
		s.MarkAll()
	}
	w.refresh.run(serial)
	w.space.Anchor().Cut()
	for _, m := range w.messages {
		m.drop()
	}
	for _, s := range w.shards {
		s.Drop()
	}
	w.space.Drop(w.columns)
}

// Closed reports whether the world is closed. Safe from any goroutine at any time.
func (w *World) Closed() bool { return w.closed.Load() }

// tooLate is called after a request was published, when the world turns out to be
// closed: Close may have emptied the lane before.
func (p *Port) tooLate() { p.w.ports.abandon(p) }

// abandon takes what a port has sent out of its lane and tells who waits that the world
// is closed. Either Close does so, or who has sent too late for that; the lock keeps
// them apart.
func (t *ports) abandon(p *Port) {
	var lost shard.Outcomes
	t.mu.Lock()
	defer lost.Tell()
	defer t.mu.Unlock()
	if p.lane == nil {
		return // it has failed to draw a handle
	}
	cut := p.w.epoch.Load() + 1
	for q := p.lane.Take(cut); q != nil; q = p.lane.Take(cut) {
		if q.Stream != nil {
			p.lane.Payload(q.Stream)
		}
		if q.Create {
			p.w.outside.Void(q.Handle)
		}
		lost.Decide(q.Done, shard.Closed)
	}
	p.lane.Release()
}

// drop forgets the messages of all shards.
func (m *Message[M]) drop() {
	for i := range m.boxes {
		m.boxes[i] = messageBox[M]{of: m}
	}
}
