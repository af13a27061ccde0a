package world

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
)

// Errors of World.Restore.
var (
	// ErrLayout is returned for handles of a world whose handles have another layout.
	ErrLayout = errors.New("world: handles have another layout")
	// ErrHandle is returned for a handle that the world never gives: its version is 0,
	// or a field is beyond the world's limits.
	ErrHandle = store.ErrHandle
	// ErrGiven is returned for a handle whose slot was given already.
	ErrGiven = store.ErrGiven
	// ErrUsed is returned for a world that has given handles before.
	ErrUsed = store.ErrUsed
)

// Layout is what handles must have in common to be good in another world: the widths
// of their fields, and the number of shards, behind which the home of what ports
// create is numbered.
type Layout struct {
	ShardBits, IndexBits, VersionBits, Shards int
}

// Layout returns the layout of the world's handles.
func (w *World) Layout() Layout {
	return Layout{handle.ShardBits, handle.IndexBits, handle.VersionBits, len(w.shards)}
}

// Vacant returns what a saved state needs beside the entities, for Restoration.Free
// and Retire in this order: the handles that slots which are free now give next, and
// the last handles of those that are used up. For an idle world, right behind a
// refresh.
func (w *World) Vacant() (free, retired []handle.Handle) {
	w.mustIdle("World.Vacant")
	for _, s := range w.shards {
		free, retired = s.AppendVacant(free, retired)
	}
	return w.portSlots.AppendVacant(free, retired)
}

// Restoration is what World.Restore restores by.
//
// Ownership: as of the idle *World, until Restore returns.
type Restoration struct {
	w    *World
	of   *store.Restore
	done bool
}

// Restore makes entities with given handles, as a saved state has them: fill makes
// them by Bundle.Recreate, and says by Free and Retire what other slots are to give.
// For a new world: one that has given no handle yet. Systems may have been built, components
// and bundles made, and ports opened, which create nothing until Restore returns:
// they get ErrIndexes.
//
// What fill says nothing of is free: slots below those that were given are given
// before fresh ones. In a world whose stale handles may still be known somewhere, each
// slot that was ever used must be mentioned; otherwise they become good again.
//
// The rows of a table are in the order in which they are made. Restoring counts as
// creating: hooks are told at the next refresh.
//
// It returns ErrLayout for handles of another layout, ErrUsed, or the error of fill;
// then the world has what was restored until then. It costs what creating does, and a
// look at each slot.
func (w *World) Restore(of Layout, fill func(r *Restoration) error) error {
	w.mustSettle("World.Restore")
	if of != w.Layout() {
		return fmt.Errorf("%w: they have %+v, this world has %+v", ErrLayout, of, w.Layout())
	}
	inner, err := store.NewRestore(w.space, w.shards, w.portSlots)
	if err != nil {
		return err
	}
	if fill == nil {
		inner.Finish()
		panic("world: World.Restore with a nil function; pass what makes the entities")
	}
	r := &Restoration{w: w, of: inner}
	w.open++       // what moves rows is refused
	defer func() { // even if fill panics
		w.closeLoop()
		r.done = true
		inner.Finish()
		w.space.Sync(w.columns)
	}()
	return fill(r)
}

// Recreate makes an entity with a given handle, in a given shard, which need not be
// its home. It returns ErrHandle, ErrGiven, ErrIndexes or ErrChunks; then nothing
// has happened.
func (b *Bundle[T]) Recreate(r *Restoration, in int, h handle.Handle, v T) error {
	r.mustRun("Bundle.Recreate")
	b.check(r.w, "Bundle.Recreate")
	if in < 0 || in >= len(b.parts) {
		return fmt.Errorf("%w: %v is to be in shard %d, of %d that there are", ErrHandle, h, in, len(b.parts))
	}
	if err := r.of.Claim(h); err != nil {
		return err
	}
	p := &b.parts[in]
	p.shard.Loop = r.w.loop
	a, err := p.shard.Adopt(p.table, h)
	if err == nil {
		p.put(a, &v)
	}
	return err
}

// Free says that a slot is free and which handle it gives next. Of several of a home
// the last is given first, and all before what was never given. Errors as of
// Recreate.
func (r *Restoration) Free(h handle.Handle) error {
	r.mustRun("Restoration.Free")
	err := r.of.Claim(h)
	if err == nil {
		r.of.Free(h)
	}
	return err
}

// Retire says that a slot is used up, h having been the last handle that it gave.
// Errors as of Recreate.
func (r *Restoration) Retire(h handle.Handle) error {
	r.mustRun("Restoration.Retire")
	err := r.of.Claim(h)
	if err == nil {
		r.of.Retire(h)
	}
	return err
}

func (r *Restoration) mustRun(call string) {
	if r == nil {
		panic(fmt.Sprintf("world: %s of a nil Restoration; use the one that World.Restore gives", call))
	}
	if r.done {
		panic(fmt.Sprintf("world: %s by a Restoration that is over; use it within the function that World.Restore calls", call))
	}
}
