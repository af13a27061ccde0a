package near

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

// Options shape an Index. Lengths are in the units of the positions.
type Options struct {
	// Min and Max bound the space that is divided into cells. Entities outside are found, too, but
	// all of them are in the cells at the border. With Min.Z equal to Max.Z cells are columns.
	Min, Max Point
	// Cell is the side of a cell. The radius of most queries is a good one, as is a length with
	// which a cell has two to eight entities. There may be 4,194,304 cells; each takes some 12
	// bytes, and a nanosecond when the index is computed.
	Cell float64
}

const cellsMax = 1 << 22

// Index finds entities by where they are. Pass it to World.NewView, and frames of the view have the
// index as of the frame.
//
// Ownership: the world's. Call Read where accessors may be asked for.
type Index struct {
	viewable
	w       *world.World
	engine  *engine.World
	options Options
	name    string
	grid    grid
	query   *world.Query
	of      int // the component
	column  column
	current *version
	upkeep  upkeep
}

// viewable makes an Index something that a view can have.
type viewable = world.Viewable

// New makes an index of the entities of a world that have a component P and match the terms, which
// are those of a World.Query. at returns where a value of P is; it must depend on its argument
// alone, is called on several goroutines at once, and breaks the world if it panics. An entity at a
// place that is infinite or not a number is not found.
//
// The world must be idle. New panics if P is not registered, for options that are out of range, and
// for Turns and TurnsFor, which are for the queries of systems.
//
// An index takes 36 bytes for each entity. A refresh takes 20 to 35 ns for each entity in a chunk
// that was handed out for writing P, or in which rows came or went. The whole index is computed
// anew if those are more than a quarter of all entities, or if more than a sixteenth have moved and
// then come to rest, or are gone.
func New[P any](w *world.World, at func(P) Point, o Options, terms ...world.Term) *Index {
	d := engine.Of(w)
	d.MustIdle("near.New")
	typ := reflect.TypeFor[P]()
	if at == nil {
		panic(fmt.Sprintf("near: New for %v with a nil function; pass one that returns where a value is", typ))
	}
	x := &Index{w: w, engine: d, options: o, column: columnOf[P](at), name: fmt.Sprintf("near.Index of %v", typ), grid: gridOf(o)}
	x.query = w.Query(append([]world.Term{world.With[P](w)}, terms...)...)
	if (*engine.Query)(x.query).TakesTurns() {
		panic(fmt.Sprintf("near: New for %v with Turns or TurnsFor; an index has all entities in every tick, so pass them to the query of a system", typ))
	}
	x.of = slices.IndexFunc(d.Survey().Components(), func(c extend.Named) bool { return c.Type == typ })
	x.upkeep.init(x)
	x.upkeep.update(w.Tick(), extend.Alone)
	x.viewable = d.Derive(adapter{x})
	return x
}

// gridOf returns the cells. It panics about options that are out of range.
func gridOf(o Options) grid {
	if size := (Point{o.Max.X - o.Min.X, o.Max.Y - o.Min.Y, o.Max.Z - o.Min.Z}); !size.finite() || !(size.X > 0 && size.Y > 0 && size.Z >= 0) {
		panic(fmt.Sprintf("near: Options from Min %v to Max %v; want finite ones, Max with higher X and Y, and no lower Z", o.Min, o.Max))
	}
	if !(o.Cell > 0) || math.IsInf(o.Cell, 0) {
		panic(fmt.Sprintf("near: Options.Cell is %v; want the side of a cell, more than 0", o.Cell))
	}
	count := func(from, to float64) float64 { return max(1, math.Ceil((to-from)/o.Cell)) }
	x, y, z := count(o.Min.X, o.Max.X), count(o.Min.Y, o.Max.Y), count(o.Min.Z, o.Max.Z)
	if x*y*z > cellsMax {
		panic(fmt.Sprintf("near: Options make %.0f · %.0f · %.0f cells; want %d in all, at most: pass a larger Cell", x, y, z, cellsMax))
	}
	if math.IsInf(1/o.Cell, 0) {
		panic(fmt.Sprintf("near: Options.Cell is %v, with which no number can be divided; pass a larger Cell", o.Cell))
	}
	return grid{o.Min, o.Max, o.Cell, 1 / o.Cell, int(x), int(y), int(z)}
}

// Options returns the options.
func (i *Index) Options() Options { return i.options }

// Cell returns the number of the cell that a point is in. A query finds more in the cache if the
// one before was in the same cell or the one next to it, so order queries by cell. Safe from any
// goroutine.
func (i *Index) Cell(p Point) int { return i.grid.cell(&p) }

// Read returns a Reader of the index: given a Build, for systems; given a World, for use between
// ticks; given a Frame, of the index as it was then. It panics if the frame's view does not have
// the index.
//
// Systems find entities where they were when the tick began. Between ticks, entities are found
// where they were at the last refresh or the last Read: Read of a World updates the index if
// something has changed.
func (i *Index) Read(b world.Binder) *Reader {
	of, idle, c := i.engine.Binds(b, i.viewable, "Index.Read")
	if !of {
		panic(fmt.Sprintf("near: the %s belongs to another world than the reader; use that world's own", i.name))
	}
	if idle {
		i.engine.MustBeWhole("Index.Read")
		i.upkeep.update(i.w.Tick(), extend.Alone)
		return &Reader{index: i, idle: true}
	}
	if v, ok := c.(*version); ok {
		return &v.reader
	}
	return &Reader{index: i}
}

// Where returns where an entity was in a frame, whether it matched the terms or not. It returns
// false if the entity was dead, or at a place that is infinite or not a number. It panics if the
// frame is of another world, or if its view does not have the component. Safe from any goroutine
// while the frame is held.
func (i *Index) Where(f *world.Frame, h handle.Handle) (Point, bool) {
	rows, ok := i.engine.Frozen((*engine.Frame)(f), "Index.Where")
	if !ok {
		panic(fmt.Sprintf("near: the %s belongs to another world than the frame; use that world's own", i.name))
	}
	return i.column.where(rows.View(i.of, "near.Index.Where"), rows.Lookup().Locate(h))
}

// columnIn returns which of a table's columns the component is.
func (i *Index) columnIn(t *store.Table) int {
	k, ok := slices.BinarySearch(t.Components(), i.of)
	if !ok {
		panic(fmt.Sprintf("near: a table without the component of the %s", i.name))
	}
	return k
}

// adapter is an Index as the world sees it. It keeps its methods out of the exported ones of Index.
type adapter struct{ *Index }

// Name says which index it is, for messages.
func (a adapter) Name() string { return a.name }

// Update brings the index up to date.
func (a adapter) Update(tick uint64, step extend.Step) { a.upkeep.update(tick, step) }

// Changed reports whether the newest version is not one that frames have.
func (a adapter) Changed() bool { return a.current != a.upkeep.newest }

// CopySize returns how many bytes the newest version takes.
func (a adapter) CopySize() uint64 { return a.current.Bytes() }

// Copy gives frames the newest version, and takes back the memory of one that they no longer need.
func (a adapter) Copy(old extend.Copy) (c extend.Copy, parts, bytes int) {
	if was, ok := old.(*version); ok && was != a.current {
		was.copied = false
		was.base.copies--
		a.upkeep.recycle(was)
	}
	if a.current.copied { // an unknown frame may have it: its memory is never reused
		a.upkeep.rebuild(extend.Alone)
	}
	a.current.copied = true
	a.current.base.copies++
	a.upkeep.newest = a.current
	return a.current, 0, 0
}

// Forget forgets the versions that frames have, which are left to the collector.
func (a adapter) Forget() { a.upkeep.newest = nil }
