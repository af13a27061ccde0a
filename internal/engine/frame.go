package engine

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
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/shard"
)

// View says what its frames have.
//
// Ownership: immutable.
type View struct {
	w          *World
	components store.Set
	extensions []int // by number
}

// NewView makes a view of some components, relations and names, or, without arguments, of all that
// the idle world has. It returns an error if a frame would share a component with the world.
func (w *World) NewView(of ...Viewable) (*View, error) {
	mustBe(w, "World.NewView")
	w.mustIdle("World.NewView")
	v := &View{w: w}
	for i, x := range of {
		if isNil(x) {
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
// world, and its kind, or 0. It looks at the type alone.
func (w *World) sharing(component int) (string, reflect.Kind) {
	if w.space.Cloned(component) {
		return "", 0
	}
	t := w.components[component].typ
	return sharing(t, t.String())
}

// sharing returns the path to a part of a type that copies of a value share and that may be
// written, and its kind. Nobody writes to what a string, a *time.Location, a reflect.Type or a
// unique.Handle of such points to. handles are those around the type.
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

// Frame is the frozen state of a world after one refresh: what its View names.
//
// Ownership: any goroutine; Release comes after all other uses.
type Frame struct {
	frameSelf
	image      *image
	components store.Set
	extensions []int
	released   atomic.Bool
	cleanup    runtime.Cleanup
}

// Capture waits for the end of the tick that is under way, or of the next one, and returns the
// world as it is then. Any goroutine may call it. After an error it holds no frame.
func (v *View) Capture(ctx context.Context) (*Frame, error) {
	mustView(v, "View.Capture")
	if ctx == nil {
		panic("world: View.Capture with a nil Context; pass one, or context.Background()")
	}
	return v.w.frames.wait(ctx, v)
}

// Now is Capture on the idle world: it returns the world as it is now, including dying entities.
// After an error it holds no frame.
func (v *View) Now() (*Frame, error) {
	mustView(v, "View.Now")
	if err := v.w.ready("View.Now"); err != nil {
		return nil, err
	}
	v.w.MustBeWhole("View.Now")
	return v.w.frames.now(v)
}

// mustView panics if a view is nil.
func mustView(v *View, call string) {
	if v == nil {
		panic(fmt.Sprintf("world: %s of a nil View; make one with World.NewView", call))
	}
}

// Release ends the use of the frame, if it has not ended: its memory may be used for the next one.
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

// binding binds accessors and filters to the rows of the frame's image. Any goroutine may ask; the
// first to ask makes the image's index.
func (f *Frame) binding(call string) binding {
	f.must(call)
	return binding{w: f.image.w, owner: len(f.image.w.shards), lookup: f.image.lookup(), access: &extend.Access{}, call: call, frame: f}
}

// Tick returns the number of refreshes that the world had made by then.
func (f *Frame) Tick() uint64 {
	f.must("Frame.Tick")
	return f.image.w.engine.Tick.Load()
}

// Query selects the frame's entities that match the terms, as World.Query does.
func (f *Frame) Query(terms ...Term) *Query {
	b := f.binding("Frame.Query")
	return newQuery(b, b.w.shards, terms)
}

// Count returns the number of entities. Dying ones, which only Now can find, are included. It
// panics, as the other methods do, if the frame was released.
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
func (f *Frame) Locate(h handle.Handle) shard.Loc { return shard.Loc(f.locate("Frame.Locate", h)) }

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
		mustPart("Frame.Has", 0, c)
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

// locate is Locate; call is the name for the panic of a Frame that was released.
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

// Diff returns the difference from an earlier frame of the world. It panics if the frames are of
// two worlds, or one was released.
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
// different values, in the order of the later frame. It returns none when the world was collected.
func (d *Diff) Changed(c ComponentSet) (all []handle.Handle) {
	if w := d.origin.Value(); w != nil {
		for id := range w.SetOf("Diff.Changed", []ComponentSet{c}).All {
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

// Freeze copies the rows of the idle world, of all components or only of some, if a copy shares
// nothing with the world. It returns ErrFrames, and holds nothing, if too many frames are held.
func (w *World) Freeze(only *store.Set) (*Frozen, error) {
	v := &View{w: w}
	for id := range w.components {
		if (only == nil || only.Has(id)) && w.Survey().Copied(id) {
			v.components.Add(id)
		}
	}
	f, err := v.Now()
	return (*Frozen)(f), err
}

// Frozen has the rows of a world as they were: a Frame, as tools see it. Safe from any goroutine
// until Release.
type Frozen Frame

// Frozen returns the rows of a frame, and whether the frame is of this world. It panics for a nil
// or released frame; call is the name for messages.
func (w *World) Frozen(f *Frame, call string) (*Frozen, bool) {
	f.must(call)
	return (*Frozen)(f), f.image.of == w.frames
}

// Has reports whether a component was copied.
func (f *Frozen) Has(component int) bool { return f.components.Has(component) }

// Chunk returns a chunk by its place in the store.Image of the world, if it has rows: its handles,
// and the Cells of components that were copied.
func (f *Frozen) Chunk(shard, table, chunk int) *store.Chunk {
	return f.image.w.shards[shard].Tables()[table].Chunks()[chunk]
}

// Shard returns a shard as it was: its tables and chunks, with the Cells of components that were
// copied, and nothing else.
func (f *Frozen) Shard(i int) *store.Shard { return f.image.w.shards[i] }

// Release is Frame.Release.
func (f *Frozen) Release() { (*Frame)(f).Release() }

// Lookup returns where entities were, for the View of a Column.
func (f *Frozen) Lookup() *slots.Lookup { return f.image.lookup() }

// View finds the rows of a component. It panics if that was not copied; call is what messages name.
func (f *Frozen) View(component int, call string) store.View {
	(*Frame)(f).mustHave(component, call)
	return f.image.w.space.Columns[component].View(len(f.image.w.shards))
}

// image is the common part of the frames of one refresh.
//
// Invariants: while an image is in held or is indexed, nothing of it is written but its index.
//
// Ownership: refs as for frames.mu.
type image struct {
	of     *frames
	w      *World // has only the fields that queries and accessors read
	frame  *store.Frame
	copies []*extensionCopy // by number of the extension; nil for those that were not asked for
	refs   int
	lost   bool                        // a frame of it was not released, so somebody may still read it
	index  atomic.Pointer[slots.Index] // nil until the first look-up
}

// lookup finds where entities were, by an index that is made on the first call. Any goroutine may
// call it; it takes indexing, and then mu.
func (i *image) lookup() *slots.Lookup {
	if index := i.index.Load(); index != nil {
		return &index.Lookup
	}
	f := i.of
	f.indexing.Lock()
	defer f.indexing.Unlock()
	if index := i.index.Load(); index != nil {
		return &index.Lookup
	}
	f.mu.Lock()
	from := f.mu.indexed
	f.mu.Unlock()
	var was *store.Frame
	var index *slots.Index
	if from != nil {
		was, index = from.frame, from.index.Load()
	}
	index = i.frame.Index(was, index)
	i.w.space.Lookup = index.Lookup
	i.index.Store(index)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.over == nil && i.refs > 0 {
		f.unindex()
		f.mu.indexed = i
	}
	return &index.Lookup
}
