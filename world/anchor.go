package world

import (
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
)

// Anchor is what references hold of a world: enough to ask whether an entity is
// alive and to have it destroyed, and nothing that keeps the world in memory. When
// the world is collected the anchor is cut: everything is dead to it. For package
// reference.
//
// Invariants: there is one for each world.
//
// Ownership: everyone's. released is pushed by anyone and taken whole by the
// refresh.
type Anchor struct {
	*shard.Anchor
	released atomic.Pointer[release]
}

// release is a wish to destroy an entity that no lane has to take.
type release struct {
	handle handle.Handle
	next   *release
}

// AnchorOf returns the anchor of by's world. Safe from any goroutine at any time.
func AnchorOf(by Holder) *Anchor { return by.world().theAnchor() }

func (w *World) theAnchor() *Anchor {
	if a := w.anchor.Load(); a != nil {
		return a
	}
	a := &Anchor{Anchor: w.space.Anchor()}
	if !w.anchor.CompareAndSwap(nil, a) {
		return w.anchor.Load()
	}
	runtime.AddCleanup(w, func(a *shard.Anchor) { a.Cut() }, a.Anchor)
	return a
}

// Release makes the next refresh destroy an entity, if it is alive by then. It is
// never refused. Safe from any goroutine at any time; it allocates 16 bytes.
func (a *Anchor) Release(h handle.Handle) {
	if a.Gone() {
		return
	}
	r := &release{handle: h}
	for {
		r.next = a.released.Load()
		if a.released.CompareAndSwap(r.next, r) { // publishes r
			return
		}
	}
}

// take appends the handles that were released, in ascending order: the order in
// which goroutines released them is not the world's affair.
func (a *Anchor) take(to []handle.Handle) []handle.Handle {
	if a == nil || a.released.Load() == nil {
		return to
	}
	return a.takeReleased(to)
}

func (a *Anchor) takeReleased(to []handle.Handle) []handle.Handle {
	from := len(to)
	for r := a.released.Swap(nil); r != nil; r = r.next {
		to = append(to, r.handle)
	}
	slices.Sort(to[from:])
	return to
}
