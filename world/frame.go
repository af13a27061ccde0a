package world

import (
	"context"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/shard"
)

// View says what its frames have. See World.NewView.
//
// Ownership: any goroutine.
type View engine.View

// Capture waits for the end of the tick that is under way, or of the next one, and returns the
// world as it is then. All callers that wait for one refresh share the copying, whatever their
// views, and its error. It costs the refresh a copy, by all workers, of the rows that came, or were
// handed out for writing, since the frame before. Without captures it costs nothing.
//
// It returns ErrFrames if Options.FramesMax frames of the world are held, or if the copies would
// take more than Options.FramesBytes; the context's error if that ends first; or the world's if it
// is closed or broken. It is for any goroutine outside of the tick: a system, function or hook
// must not call it, because its tick would wait for itself, nor what a scheduler calls between
// ticks. On an idle world use Now: when no more ticks come, Capture waits for ctx or World.Close.
func (v *View) Capture(ctx context.Context) (*Frame, error) {
	x, err := (*engine.View)(v).Capture(ctx)
	return (*Frame)(x), err
}

// Now is Capture on the idle world: it returns the world as it is now, including dying entities. It
// returns the errors of Capture. It panics within the init of a CreateN or CreateRows.
func (v *View) Now() (*Frame, error) {
	x, err := (*engine.View)(v).Now()
	return (*Frame)(x), err
}

// Frame is the frozen state of a world after one refresh: what its View names. It is read like a
// World, by queries and accessors, and by Read of relations and names. Any number of goroutines may
// use it, at any time, while the world ticks on.
//
//	ships, err := w.NewView(position, health)
//	…
//	f, err := ships.Capture(ctx) // on any goroutine
//	if err != nil {
//		return err
//	}
//	defer f.Release()
//	pos := world.Read[Position](f)
//	for ch := range f.Query(pos).Chunks() {
//		…
//	}
//
// Queries and accessors of a Frame are for that Frame alone. Their results are good until Release:
// then its memory is used for later frames. A Frame that is dropped without Release is released by
// the collector, some time later; then its queries and accessors stay good, and its memory is not
// used again.
//
// Ownership: any goroutine; Release comes after all other uses.
type Frame engine.Frame

// Release ends the use of the frame: its memory may be used for the next one. Accessors,
// queries and slices of the frame must not be used any more. Releasing twice is no error. Safe
// from any goroutine.
func (f *Frame) Release() { (*engine.Frame)(f).Release() }

// Tick returns the number of refreshes that the world had made by then.
func (f *Frame) Tick() uint64 { return (*engine.Frame)(f).Tick() }

// Query selects the frame's entities that match the terms, as World.Query does.
func (f *Frame) Query(terms ...Term) *Query {
	return (*Query)((*engine.Frame)(f).Query(termsOf(terms)...))
}

// Count returns the number of entities. Dying ones, which only Now can find, are included.
func (f *Frame) Count() int { return (*engine.Frame)(f).Count() }

// Alive reports whether the entity was alive.
func (f *Frame) Alive(h handle.Handle) bool { return (*engine.Frame)(f).Alive(h) }

// Locate returns where the entity was, for the accessors' At, or 0 if it was not alive.
func (f *Frame) Locate(h handle.Handle) shard.Loc { return (*engine.Frame)(f).Locate(h) }

// Owner returns the shard that the entity was in, and whether it was alive.
func (f *Frame) Owner(h handle.Handle) (int, bool) { return (*engine.Frame)(f).Owner(h) }

// Has reports whether the entity was alive and had all of the components, of the view or not.
func (f *Frame) Has(h handle.Handle, c ComponentSet) bool { return (*engine.Frame)(f).Has(h, c) }

// Flags returns the flags of the entity, or none if it was not alive.
func (f *Frame) Flags(h handle.Handle) Flags { return Flags((*engine.Frame)(f).Flags(h)) }

// Diff returns the difference from an earlier frame of the world. It looks only at the entities of
// chunks in which something may have changed in between. Flags do not count. It panics if the
// frames are of different worlds.
func (f *Frame) Diff(before *Frame) *Diff {
	d := (*engine.Frame)(f).Diff((*engine.Frame)(before))
	return &Diff{d.Created, d.Destroyed, d.Retyped, d}
}

// Diff is the difference between two frames of a world.
type Diff struct {
	Created   []handle.Handle // alive only in the later frame, in its order
	Destroyed []handle.Handle // alive only in the earlier frame, in its order
	Retyped   []handle.Handle // alive in both, with other components, in the order of the later

	of *engine.Diff
}

// Changed returns the entities that are alive in both frames and have a component in both, with
// different values, in the order of the later frame. For several components it returns the entities
// of each, one after the other. Both views must have the component, otherwise there are none.
// Values without pointers are compared by their memory, padding included, others by ==. Values that
// hold pointers and have a CloneBy count as changed if anything in their chunk may have changed.
func (d *Diff) Changed(c ComponentSet) (all []handle.Handle) { return d.of.Changed(c) }

// Viewable is what World.NewView takes: a *Component, a *Bundle, or what another package keeps
// about entities: a *hierarchy.Relation, a *names.Names or a *near.Index.
type Viewable = engine.Viewable

// ComponentSet names components: a *Component or a *Bundle.
type ComponentSet = engine.ComponentSet
