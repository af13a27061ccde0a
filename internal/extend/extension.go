package extend

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
)

// Base is what an Extension, a Late and a Derived have in common.
type Base interface {
	// Name returns the name by which errors, metrics and snapshots know it.
	Name() string
}

// Extension is what a package outside the core keeps about entities, such as a relation among them
// or an index of them. It takes part in each refresh, after all requests on single entities were
// applied and before any entity is destroyed:
//
//	its Requests, in order           the functions that NewRequests was given
//	Spare, until none spares more    find entities that must not die
//	Spread, until none marks more    find entities that die with them: first extensions that
//	                                 mark, then extensions that follow
//	Settle                           finish the extension's own state
//
// An extension that panics, or ends its goroutine, breaks the world, because it may have
// changed in part. The functions that NewRequests was given do so as well. See
// world.BrokenError.
//
// Ownership: the coordinator calls, while no shard runs.
type Extension interface {
	Base
	// Begin is called when a tick begins. Until the refresh the extension must not change, so that
	// systems may read it.
	Begin()
	// Spare looks at the marked entities and removes marks with DyingSet.Spare. It reports
	// whether it removed any. When it is called again, it is enough to look at what follows from
	// DyingSet.News.
	Spare(d *DyingSet) bool
	// Spread handles the entities of d.All from the given position on, and marks others with
	// DyingSet.Mark. It is not called again for those it marks itself.
	Spread(d *DyingSet, from int)
	// Settle is called when it is known which entities die.
	Settle()
}

// Following is an Extension that can say that its Spread marks no entities. Then Spread is called
// once, when all are marked.
type Following interface{ Follows() bool }

// Guarding is an Extension that keeps the rows of entities which are somewhere else, and may come
// back. It says how other extensions are to treat these.
//
// Ownership: as for Extension.
type Guarding interface {
	// Guards reports whether an entity may come back, so that it must not die. With handle.None it
	// reports whether there are any.
	Guards(h handle.Handle) bool
	// Left reports whether an entity is somewhere else, so that nobody dies, or lives on, because it
	// dies here.
	Left(h handle.Handle) bool
}

// Excerpt lists the entities of a piece, in the order of their places in it.
//
// Ownership: the goroutine that makes the piece.
type Excerpt struct {
	Handles []handle.Handle
	places  map[handle.Handle]int // of more than a few, once it was needed
}

// fewPlaces is the number of entities up to which one is found by looking at all.
const fewPlaces = 8

// Place returns the place of an entity in the piece, and whether it is there.
func (e *Excerpt) Place(h handle.Handle) (place int, ok bool) {
	if len(e.Handles) <= fewPlaces {
		place = slices.Index(e.Handles, h)
		return place, place >= 0
	}
	if e.places == nil {
		e.places = make(map[handle.Handle]int, len(e.Handles))
		for i, h := range e.Handles {
			e.places[h] = i
		}
	}
	place, ok = e.places[h]
	return place, ok
}

// Naming is an Extension that gives entities names.
type Naming interface {
	// TextOf returns the name of an entity as text, and whether it has one. Safe from any
	// goroutine.
	TextOf(h handle.Handle) (string, bool)
}

// DyingSet holds the entities that die in a refresh: first the marked ones, by shard in order,
// then those that extensions mark as a consequence.
//
// Ownership: as for Extension.
type DyingSet struct {
	space  *store.Space
	all    []handle.Handle
	spared []handle.Handle
	known  int
	notify bool // other extensions must be notified of what one marks
	guards []Guarding
	open   []handle.Handle // of those to mark, the ones that nobody guards
}

// Add adds an extension that has a say in who dies. The world is idle.
func (d *DyingSet) Add(g Guarding) { d.guards = append(d.guards, g) }

// Guards reports whether any entity is guarded.
func (d *DyingSet) Guards() bool { return len(d.guards) > 0 && d.Guarded(handle.None) }

// SpareGuarded removes the marks of entities that are guarded.
func (d *DyingSet) SpareGuarded() {
	for _, h := range d.all {
		if d.Guarded(h) {
			d.Spare(h)
		}
	}
}

// Guarded reports whether an entity must not be marked; see Guarding.Guards.
func (d *DyingSet) Guarded(h handle.Handle) bool {
	return slices.ContainsFunc(d.guards, func(g Guarding) bool { return g.Guards(h) })
}

// Left reports whether an entity is somewhere else; see Guarding.Left.
func (d *DyingSet) Left(h handle.Handle) bool {
	return slices.ContainsFunc(d.guards, func(g Guarding) bool { return g.Left(h) })
}

// Collect lists the marked entities of each shard, for a refresh with that many extensions. The
// coordinator calls it in the step extend.
func (d *DyingSet) Collect(space *store.Space, shards []*store.Shard, extensions int) {
	d.space, d.notify = space, extensions > 1
	d.all, d.spared = d.all[:0], d.spared[:0]
	for _, s := range shards {
		d.all = s.AppendMarked(d.all)
	}
}

// Spared returns how many marks were removed since Collect.
func (d *DyingSet) Spared() int { return len(d.spared) }

// Know sets how many of the spared entities the extension that is called next knows, or -1 in its
// first call.
func (d *DyingSet) Know(n int) { d.known = n }

// News returns the entities whose marks were removed since Spare of the extension was called last,
// and whether this is the first call in the refresh.
func (d *DyingSet) News() (spared []handle.Handle, first bool) {
	return d.spared[max(d.known, 0):], d.known < 0
}

// All returns the dying entities that the extension must know. The slice is good until the next
// call of Mark.
func (d *DyingSet) All() []handle.Handle { return d.all }

// Has reports whether an entity is marked.
func (d *DyingSet) Has(h handle.Handle) bool {
	l := d.space.LocateStaged(h)
	return l != 0 && d.space.Marked(l)
}

// Mark marks the given entities that are alive and not guarded, for use in Extension.Spread. If
// there are other extensions, they are notified of them.
func (d *DyingSet) Mark(hs []handle.Handle) {
	if d.Guards() {
		d.open = d.open[:0]
		for _, h := range hs {
			if h != handle.None && !d.Guarded(h) {
				d.open = append(d.open, h)
			}
		}
		hs = d.open
	}
	if d.notify {
		d.space.MarkEach(hs, &d.all)
	} else {
		d.space.MarkEach(hs, nil)
	}
}

// WithoutGuarded removes the guarded ones from a list.
func (d *DyingSet) WithoutGuarded(hs []handle.Handle) []handle.Handle {
	if d.Guards() {
		hs = slices.DeleteFunc(hs, d.Guarded)
	}
	return hs
}

// Spare removes the mark of an entity, for use in Extension.Spare.
func (d *DyingSet) Spare(h handle.Handle) {
	if l := d.space.LocateStaged(h); l != 0 {
		d.space.Spare(l)
		d.spared = append(d.spared, h)
	}
}

// Sender tells extensions whose requests are being applied.
type Sender struct {
	Port  bool // it is a port, also in a replay, and not the program itself
	Shard int  // where its systems run, if it is no port; the number of shards for global ones
	Steps int  // what its requests in this refresh have taken, as the extensions that limit it count
	Calls int  // of its transactions in this refresh
}
