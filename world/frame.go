package world

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
	"weak"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/shard"
)

// View says what its frames have. See World.NewView.
//
// Ownership: any goroutine.
type View struct {
	w          *World
	components store.Set
	extensions []int // by number
}

// Viewable is what World.NewView takes: a *Component, a *Bundle, or what another package keeps
// about entities: a *hierarchy.Relation, a *names.Names or a *near.Index.
type Viewable interface {
	// enter adds it to a view. It panics if it belongs to another world.
	enter(v *View)
	// framed returns the number and the world of an extension, or nil.
	framed() (*World, int)
}

func (c *Component[T]) enter(v *View) { v.components = v.components.Union(c.components(v.w)) }

func (b *Bundle[T]) enter(v *View) { v.components = v.components.Union(b.components(v.w)) }

func (c *Component[T]) framed() (*World, int) { return nil, 0 }

func (b *Bundle[T]) framed() (*World, int) { return nil, 0 }

// NewView makes a view of some components, relations and names, or, without arguments, of all that
// the world has. The frames of a view have every entity of the world, with its flags, and besides
// that only what the view names. The world must be idle. NewView allocates little and costs nothing
// until a frame is captured.
//
// It returns an error, which names the component and the field, if a copy of a component would
// share something with the world: a pointer, slice, map, channel, function or interface. Give such
// a component Component.CloneBy, or leave it out. Strings, a time.Time, the addresses of package
// netip and a unique.Handle are allowed, because nobody writes to what they point to.
func (w *World) NewView(of ...Viewable) (*View, error) {
	mustBe(w, "World.NewView")
	w.mustIdle("World.NewView")
	v := &View{w: w}
	for i, x := range of {
		if p := reflect.ValueOf(x); x == nil || p.Kind() == reflect.Pointer && p.IsNil() {
			panic(fmt.Sprintf("world: World.NewView: part %d is nil; pass a component, a bundle, a relation or names", i))
		}
		x.enter(v)
	}
	if len(of) == 0 {
		for id := range w.components {
			v.components.Add(id)
		}
		for i := range w.framed {
			v.extensions = append(v.extensions, i)
		}
	}
	for id := range v.components.All {
		if path, what := w.sharing(id); what != 0 {
			return nil, fmt.Errorf("world: component %q cannot be in a view: %s is a %s, which a frame would share with the world; give the component a Component.CloneBy, or name the components of the view", w.components[id].name, path, what)
		}
	}
	return v, nil
}

// sharing returns the path to a part that a frame's copy of the component would share with the
// world, and its kind, or 0.
func (w *World) sharing(component int) (string, reflect.Kind) {
	if w.space.Cloned(component) {
		return "", 0
	}
	t := w.components[component].typ
	return sharing(t, t.String())
}

// sharing returns the path to a part of a type that copies of a value share and that may be written,
// and its kind. Nobody writes to what a string, a *time.Location, a reflect.Type or a unique.Handle
// of such points to. handles are those around the type.
func sharing(t reflect.Type, path string, handles ...reflect.Type) (string, reflect.Kind) {
	switch {
	case t == reflect.TypeFor[*time.Location](), t == reflect.TypeFor[reflect.Type](), slices.Contains(handles, t):
		return "", 0
	case mem.IsUnique(t):
		return sharing(t.Field(0).Type.Elem(), path+".Value()", append(handles[:len(handles):len(handles)], t)...)
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Chan, reflect.Func, reflect.Interface, reflect.UnsafePointer:
		return path, t.Kind()
	case reflect.Array:
		if t.Len() > 0 {
			return sharing(t.Elem(), path+"[0]", handles...)
		}
	case reflect.Struct:
		for i := range t.NumField() {
			if p, what := sharing(t.Field(i).Type, path+"."+t.Field(i).Name, handles...); what != 0 {
				return p, what
			}
		}
	}
	return "", 0
}

// CloneBy says how a value of the component is copied out of the world, for frames, Ask and
// DescribeEntity: it is for a type in which a plain copy would share something with the world. f
// sets *to, which may hold an old value, to a copy of *from. The copy must share nothing with *from
// that is ever written. It must need no release: no share of a reference.Owner, no count of
// references. f is called in the refresh, for frames for each entity of a chunk that was handed out
// for writing, on several goroutines at once. If it panics, the frame is not made, and callers that
// wait for it get a *PanicError; an Ask has the outcome Failed. The world must be idle. CloneBy
// returns the component.
func (c *Component[T]) CloneBy(f func(to, from *T)) *Component[T] {
	c.core.mustClone(f == nil)
	c.core.column.CloneBy(func(to, from mem.Address) { f((*T)(to), (*T)(from)) })
	return c
}

// mustClone panics unless the world is idle and there is a function. Component.Ask calls it from now
// on, too, so that runs code of the user.
func (c *component) mustClone(isNil bool) {
	c.w.mustIdle("Component.CloneBy")
	if isNil {
		panic(fmt.Sprintf("world: Component.CloneBy of %q with a nil function", c.name()))
	}
	c.w.space.Registry.SetCall(c.asking.Number())
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
type Frame struct {
	image      *image
	components store.Set
	extensions []int
	released   atomic.Bool
	cleanup    runtime.Cleanup
}

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
	mustView(v, "View.Capture")
	if ctx == nil {
		panic("world: View.Capture with a nil Context; pass one, or context.Background()")
	}
	return v.w.frames.wait(ctx, v)
}

// Now is Capture on the idle world: it returns the world as it is now, including marked entities.
// It panics within the init of a CreateN or CreateRows.
func (v *View) Now() (*Frame, error) {
	mustView(v, "View.Now")
	if err := v.w.ready("View.Now"); err != nil {
		return nil, err
	}
	v.w.mustBeWhole("View.Now")
	return v.w.frames.now(v)
}

func mustView(v *View, call string) {
	if v == nil {
		panic(fmt.Sprintf("world: %s of a nil View; make one with World.NewView", call))
	}
}

// Release ends the use of the frame: its memory may be used for the next one. Accessors,
// queries and slices of the frame must not be used any more. Releasing twice is no error. Safe
// from any goroutine.
func (f *Frame) Release() {
	if f != nil && !f.released.Swap(true) {
		f.cleanup.Stop()
		f.image.of.release(f.image, false)
	}
}

// must panics if the frame is nil or was released.
func (f *Frame) must(call string) {
	switch {
	case f == nil:
		panic(fmt.Sprintf("world: %s of a nil Frame; View.Capture returns one", call))
	case f.released.Load():
		panic(fmt.Sprintf("world: %s of a Frame that was released; release it after its last use", call))
	}
}

func (f *Frame) bind(call string) binding {
	f.must(call)
	return binding{w: f.image.w, owner: len(f.image.w.shards), lookup: f.image.lookup(), access: &drive.Access{}, call: call, frame: f}
}

// Tick returns the number of refreshes that the world had made by then.
func (f *Frame) Tick() uint64 {
	f.must("Frame.Tick")
	return f.image.w.engine.Tick.Load()
}

// Query selects the frame's entities that match the terms, as World.Query does.
func (f *Frame) Query(terms ...Term) *Query {
	b := f.bind("Frame.Query")
	return newQuery(b, b.w.shards, terms)
}

// Count returns the number of entities. Marked ones, which only Now can find, are included.
func (f *Frame) Count() int {
	f.must("Frame.Count")
	n := 0
	for _, s := range f.image.w.shards {
		for _, t := range s.Tables() {
			n += t.Rows()
		}
	}
	return n
}

// Alive reports whether the entity was alive.
func (f *Frame) Alive(h handle.Handle) bool {
	f.must("Frame.Alive")
	return f.image.lookup().Alive(h)
}

// Locate returns where the entity was, for the accessors' At, or 0 if it was not alive.
func (f *Frame) Locate(h handle.Handle) shard.Loc {
	f.must("Frame.Locate")
	return f.image.lookup().Locate(h)
}

// Owner returns the shard that the entity was in, and whether it was alive.
func (f *Frame) Owner(h handle.Handle) (int, bool) {
	l := f.locate("Frame.Owner", h)
	if l == 0 {
		return 0, false
	}
	return f.image.w.space.Owner(l), true
}

// Has reports whether the entity was alive and had all of the components, of the view or not.
func (f *Frame) Has(h handle.Handle, c ComponentSet) bool {
	l := f.locate("Frame.Has", h)
	if w := f.image.of.world.Value(); w != nil && l != 0 {
		if c == nil {
			panic(noPart("Frame.Has", 0))
		}
		return c.in(w, f.image.w.space.Set(l))
	}
	return false
}

// Flags returns the flags of the entity, or none if it was not alive.
func (f *Frame) Flags(h handle.Handle) Flags {
	if l := f.locate("Frame.Flags", h); l != 0 {
		return f.image.w.space.FlagsAt(l)
	}
	return 0
}

func (f *Frame) locate(call string, h handle.Handle) slots.Loc {
	f.must(call)
	return f.image.lookup().Locate(h)
}

// Diff is the difference between two frames of a world.
type Diff struct {
	Created   []handle.Handle // alive only in the later frame, in its order
	Destroyed []handle.Handle // alive only in the earlier frame, in its order
	Retyped   []handle.Handle // alive in both, with other components, in the order of the later

	changed [store.ComponentsMax][]handle.Handle
	origin  weak.Pointer[World]
}

// Diff returns the difference from an earlier frame of the world. It looks only at the entities of
// chunks in which something may have changed in between. Flags do not count. It panics if the
// frames are of different worlds.
func (f *Frame) Diff(before *Frame) *Diff {
	f.must("Frame.Diff")
	before.must("Frame.Diff from a Frame")
	if f.image.of != before.image.of {
		panic("world: Frame.Diff of frames of two worlds; compare those of one")
	}
	var d store.Diff
	common := f.components.Common(before.components)
	f.image.frame.Diff(&d, before.image.frame, &common, before.image.lookup(), f.image.lookup())
	return &Diff{d.Created, d.Destroyed, d.Retyped, d.Changed, f.image.of.world}
}

// Changed returns the entities that are alive in both frames and have a component in both, with
// different values, in the order of the later frame. For several components it returns those of
// each, one after the other. Both views must have the component, otherwise there are none. Values
// without pointers are compared by their memory, padding included, others by ==. Values that hold
// pointers and have a CloneBy count as changed if anything in their chunk may have changed.
func (d *Diff) Changed(c ComponentSet) (all []handle.Handle) {
	if w := d.origin.Value(); w != nil {
		for id := range w.setOf("Diff.Changed", []ComponentSet{c}).All {
			all = append(all, d.changed[id]...)
		}
	}
	return all
}

// mustHave panics if a component is not in the frame's view.
func (f *Frame) mustHave(component int, call string) {
	if !f.components.Has(component) {
		panic(fmt.Sprintf("world: %s: component %q is not in the view that the frame is of; name it in World.NewView", call, f.image.w.components[component].name))
	}
}
