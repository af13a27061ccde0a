package extend

import (
	"slices"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Liveness is the part of a world that references hold: enough to ask whether an entity is alive
// and to have it destroyed. It does not keep the world in memory. When the world is collected the
// Liveness is cut: from then on it reports every entity as dead. It is for package reference.
//
// Invariants: there is one for each world.
//
// Ownership: shared. Any goroutine pushes to released; the refresh takes all of it.
type Liveness struct {
	space    *slots.Liveness
	released atomic.Pointer[release]
}

// release is a request to destroy an entity. It needs no queue.
type release struct {
	handle handle.Handle
	next   *release
}

// NewLiveness makes the liveness of a world. Only the first is used; see engine.World.Liveness.
func NewLiveness(space *slots.Liveness) *Liveness { return &Liveness{space: space} }

// Alive reports whether an entity is alive; no entity is once the world is collected or closed.
// Safe from any goroutine at any time; it never blocks and never writes.
func (l *Liveness) Alive(h handle.Handle) bool { return l.space.Alive(h) }

// State returns the state of h's slot, if h is the slot's handle: alive, pending, or staged by
// a refresh. It returns false for all other handles, and for all once the world is gone. Safe
// as Alive.
func (l *Liveness) State(h handle.Handle) (slots.State, bool) { return l.space.State(h) }

// Gone reports whether the world was collected or closed. Safe from any goroutine at
// any time.
func (l *Liveness) Gone() bool { return l.space.Gone() }

// Release makes the next refresh destroy an entity, if it is alive by then. If the entity is
// still pending then, because a port has sent its create after the refresh began or has not
// sent it yet, the refresh that creates it destroys it. Release is never refused. Safe from any
// goroutine at any time; it allocates 16 bytes.
func (l *Liveness) Release(h handle.Handle) {
	if l.Gone() {
		return
	}
	r := &release{handle: h}
	for {
		r.next = l.released.Load()
		if l.released.CompareAndSwap(r.next, r) { // publishes r
			return
		}
	}
}

// pending reports whether a port was given the handle and no refresh has created the
// entity yet. Safe from any goroutine at any time.
func (l *Liveness) pending(h handle.Handle) bool {
	state, ok := l.State(h)
	return ok && state != slots.StateAlive
}

// Releases holds the entities that references have released.
//
// Ownership: the coordinator of a refresh.
type Releases struct {
	Due     []handle.Handle // alive or dead by now, or sealed, ascending
	pending []handle.Handle // for a later refresh
}

// Take takes the entities that were released, and those that earlier refreshes left because they
// were pending. Whether an entity is still pending depends on time, like when a request is sent.
// The due entities are an input of this refresh, and the others of a later one. The world does not
// depend on the order in which goroutines released them.
//
// At a seal the pending entities are due, too, as their creates may be part of what is sealed: the
// refresh destroys those that are alive by then, and the others stay for a later one.
func (r *Releases) Take(a *Liveness, sealing bool) {
	r.Due = r.Due[:0]
	if a == nil || len(r.pending) == 0 && a.released.Load() == nil {
		return
	}
	r.takeAll(a, sealing)
}

// takeAll is Take when something is released or pending. Due is in the order of the handles.
func (r *Releases) takeAll(a *Liveness, sealing bool) {
	all := append(r.Due, r.pending...)
	for x := a.released.Swap(nil); x != nil; x = x.next {
		all = append(all, x.handle)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	r.Due, r.pending = all[:0], r.pending[:0]
	for _, h := range all {
		pending := a.pending(h)
		if pending {
			r.pending = append(r.pending, h)
		}
		if !pending || sealing {
			r.Due = append(r.Due, h)
		}
	}
}
