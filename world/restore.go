package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
)

// ErrRestore is returned by World.Restore and its functions for handles of another layout, for a
// handle that the world never gives, or has given already, and for a world that is not new. The
// error says which.
var ErrRestore = slots.ErrRestore

// Layout is what two worlds must have in common for handles of one to be good in the other: the
// widths of the handle's fields, and the number of shards. The home of what ports create has
// the number after those of the shards.
type Layout struct {
	ShardBits, IndexBits, VersionBits, Shards int
}

// Layout returns the layout of the world's handles.
func (w *World) Layout() Layout {
	return Layout{handle.ShardBits, handle.IndexBits, handle.VersionBits, len(w.shards)}
}

// Vacant returns what a saved state needs besides the entities. free has the handles that free
// slots give next, for Restoration.Free; retired has the last handles of slots that are used
// up, for Restoration.Retire. Pass them on in this order. For an idle world, right after a
// refresh.
func (w *World) Vacant() (free, retired []handle.Handle) {
	w.mustIdle("World.Vacant")
	for _, s := range w.shards {
		free, retired = s.AppendVacant(free, retired)
	}
	return w.portSlots.AppendVacant(free, retired)
}

// Restoration is what the function given to World.Restore restores with.
//
// Ownership: as for the idle *World, until Restore returns.
type Restoration struct {
	w    *World
	of   *slots.Restore
	done bool
}

// Restore makes entities with given handles, from a saved state. fill makes them with
// Bundle.Recreate, and says with Free and Retire what the other slots give next. Restore is for
// a new world, which has given no handle yet. Systems may have been built, components and
// bundles made, and ports opened; until Restore returns, ports create nothing and get
// ErrIndexes.
//
// A slot that fill does not mention is free: those below slots that were given are used before
// fresh ones. If stale handles of the world may still be known somewhere, fill must mention
// each slot that was ever used; otherwise such handles become good again.
//
// The rows of a table are in the order in which they are made. Restoring counts as creating:
// the next refresh calls hooks for it.
//
// It returns ErrRestore for handles of another layout and for a world that has given handles
// before, or the error of fill; in the
// last case the world has what was restored before the error. Restore costs what creating does,
// and a look at each slot.
func (w *World) Restore(of Layout, fill func(r *Restoration) error) error {
	if err := w.idle("World.Restore"); err != nil {
		return err
	}
	if of != w.Layout() {
		return fmt.Errorf("%w: handles have the layout %+v, this world has %+v", ErrRestore, of, w.Layout())
	}
	inner, err := slots.NewRestore(w.portSlots)
	if err != nil {
		return err
	}
	if fill == nil {
		inner.Finish()
		panic("world: World.Restore with a nil function; pass what makes the entities")
	}
	r := &Restoration{w: w, of: inner}
	w.open++ // calls that move rows are refused
	w.filling++
	defer func() { // even if fill panics
		w.closeFill()
		r.done = true
		inner.Finish()
	}()
	return fill(r)
}

// Recreate makes an entity with a given handle, in a given shard, which need not be its home.
// It returns ErrRestore, ErrIndexes or ErrChunks; then nothing has happened.
func (b *Bundle[T]) Recreate(r *Restoration, in int, h handle.Handle, v T) error {
	r.mustRun("Bundle.Recreate")
	b.check(r.w, "Bundle.Recreate")
	if in < 0 || in >= len(b.parts) {
		return fmt.Errorf("%w: %v is to be in shard %d, of %d that there are", ErrRestore, h, in, len(b.parts))
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

// Free says that a slot is free, and which handle it gives next. Of several free slots of one
// home, the last one named is used first, and all of them before slots that were never used.
// Errors are those of Recreate.
func (r *Restoration) Free(h handle.Handle) error {
	r.mustRun("Restoration.Free")
	err := r.of.Claim(h)
	if err == nil {
		r.of.Free(h)
	}
	return err
}

// Retire says that a slot is used up; h is the last handle that it gave. Errors are those of
// Recreate.
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
