package world

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/refresh"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/shard"
)

// World holds entities, partitioned into shards.
//
// Invariants: an alive handle names one atom in one shard. Nothing moves while systems run: rows
// move in a refresh, and when the idle world adds or removes components or moves an entity.
//
// Ownership: between ticks one goroutine may use it for everything; it need not be the one that
// made the world. While a tick runs the *World must not be used, except for the calls documented as
// safe from any goroutine at any time, such as Alive, Tick and OpenPort. Systems act through their
// *Context, and all other goroutines through a *Port.
type World struct {
	options Options
	engine  refresh.Engine
	space   *store.Space
	lookup  slots.Lookup
	shards  []*store.Shard

	components  []componentInfo
	cores       []*component // of them
	componentID map[reflect.Type]int
	accessors   map[accessorKey]any // the idle world's
	flagger     *flagger
	functions   map[string]bool // names that are taken
	messages    []anyMessage
	resources   []anyResource
	sealed      string               // the call after which nothing more is registered; empty: not sealed. The owner of the idle world writes it.
	keepNumber  func(n uint32) error // keeps the number of the next incarnation, or nil. Owned as sealed is.

	contexts []*Context // by shard; the global systems have the last
	cursor   int        // shard of the next new entity
	run      int        // how many more are created there
	runLeast int        // the least length of a run
	touched  bool       // the idle world was changed since leave, or may have been; see lookForChanges
	begun    struct {   // the run under way as it began
		after, run int // the shard of the one before, and its length
	}
	user    *check.User // of what is asked of the idle world; nil except in the check build
	turn    check.Turn  // for the check build
	open    int         // how many query loops, and functions, run on the idle world
	loops   []loop      // those loops, in the order in which they began
	filling int         // how many of open may have rows that are not alive yet: an init
	calling string      // the function that it runs
	within  string      // what the extension is doing that a refresh would disturb
	loop    uint64      // number of the newest loop on the idle world

	phase     atomic.Uint32               // what the world is in use for: see phaseIdle
	cause     atomic.Pointer[BrokenError] // nil unless the world is broken
	rejected  atomic.Uint64
	frames    *frames
	capturing *capturing // makes frames; nil until the first

	bundles  map[store.Set]*bundle // of groups
	parts    []any                 // extensions, in the order in which they were added
	framed   []drive.Framed        // those that frames can have copies of
	measured []drive.Measurable    // what is not an extension, and has figures
	hooks    hooks
	closing  struct { // for schedulers, which any goroutine may make
		sync.Mutex
		calls []func() // to be called when the world is closed
		done  bool     // they were
	}
	changed     func()      // called if the idle world was changed and a Recorder wants to know; or nil
	lefts       []uint64    // by component: the hash of its rows at leave, for the check build
	replayed    bool        // within a function that a replay calls too
	logged      atomic.Bool // inputs are recorded or replayed; written while the world is idle
	recorderErr *PanicError // of the last refresh
	// panicked says that a context may have failures. Any worker of a refresh sets it; the next
	// refresh clears it, and them.
	panicked  atomic.Bool
	rungLeast uint8  // see drive.World.LeastRung
	stretch   uint32 // by how much Turns in systems are stretched; 0 for 1
}

// New makes a world.
func New(o Options) (*World, error) {
	o, err := o.validate()
	if err != nil {
		return nil, err
	}
	n := o.Shards
	w := &World{
		options:     o,
		space:       store.NewSpace(n+1, o.IndexMax, o.VersionMax, o.VersionsEach),
		shards:      make([]*store.Shard, n),
		contexts:    make([]*Context, n+1),
		componentID: map[reflect.Type]int{},
		run:         runLeast(n),
		runLeast:    runLeast(n),
		accessors:   map[accessorKey]any{},
	}
	w.space.Growth, w.space.Memory.HugePages = o.growth(), o.HugePages
	w.lookup = w.space.Lookup
	w.flagger = newFlagger(w)
	e := &w.engine
	e.Space, e.Shards, e.PortSlots = w.space, w.shards, slots.NewPortAllocator(&w.space.Directory)
	for i := range w.shards {
		w.shards[i] = store.New(w.space, i)
		w.shards[i].KeepOrder = o.KeepOrder
		w.contexts[i] = newContext(w, i, w.shards[i])
	}
	w.contexts[n] = newContext(w, n, nil)
	for _, c := range w.contexts {
		e.Outboxes = append(e.Outboxes, &c.out.out)
	}
	e.Init((*refreshed)(w))
	w.frames = newFrames(w)
	runtime.AddCleanup(w, func(f *frames) { f.close(ErrClosed) }, w.frames)
	if check.Enabled {
		w.user = w.turn.User(idleTurn, "the idle World", "within a system use what its Build returned, elsewhere a Port")
		w.turn.User(tickTurn, "a running tick", "")
		w.turn.Begin(idleTurn)
	}
	return w, nil
}

// MustNew is New for options that are known to be good; it panics on an error.
func MustNew(o Options) *World {
	w, err := New(o)
	if err != nil {
		panic(err)
	}
	return w
}

// Options returns the options with the defaults filled in.
func (w *World) Options() Options { return w.options }

// Tick returns the number of refreshes so far. Safe from any goroutine.
func (w *World) Tick() uint64 { return w.engine.Tick.Load() }

// Shards returns the number of shards. World.Owner returns the shard that an entity is in; its
// handle does not have it. For an entity that a port creates, Handle.Home is Shards() itself,
// because no shard is its home.
func (w *World) Shards() int { return len(w.shards) }

// Alive reports whether the entity is alive. A marked one is alive until the
// refresh. Safe from any goroutine at any time: three atomic loads, no waiting,
// no writing.
func (w *World) Alive(h handle.Handle) bool { return w.space.Alive(h) }

// Status returns what a handle stands for. Only an idle world returns Dying. From another
// goroutine, or while a tick runs, use a Port.
func (w *World) Status(h handle.Handle) Status {
	w.mustBeAsked("World.Status")
	if l := w.space.Locate(h); l != 0 && w.space.Marked(l) {
		return Dying
	}
	return statusNow(w, h)
}

// Locate returns the entity's location, for the accessors' At, or 0 if the entity is not alive.
// Looking up once serves any number of accessors. The result is good until the refresh. A
// release build does not check that no tick is running.
func (w *World) Locate(h handle.Handle) shard.Loc {
	if check.Enabled {
		w.mustBeAsked("World.Locate")
	}
	return w.lookup.Locate(h)
}

// Has reports whether the entity is alive and has all of the components.
func (w *World) Has(h handle.Handle, c ComponentSet) bool {
	w.mustBeAsked("World.Has")
	return w.has("World.Has", w.space.Locate(h), c)
}

// Destroy marks the entity: it stays alive until the refresh, which removes it. Destroy reports
// whether this call marked the entity: it returns false for a handle that is not alive and for
// an entity that was marked before. Destroying within a query loop is allowed.
func (w *World) Destroy(h handle.Handle) bool {
	w.mustBeAsked("World.Destroy")
	l := w.lookup.Locate(h)
	if check.Enabled && l != 0 {
		s := w.shardOf(l)
		s.Enter(&destroying)
		defer s.Leave()
	}
	if l == 0 || !w.space.Mark(l) {
		return false
	}
	w.touched = true
	return true
}

// The occupants of a shard, in the check build.
var creating, destroying = store.Occupant{What: "Bundle.Create by the World"}, store.Occupant{What: "World.Destroy"}

// Count returns the number of entities, marked ones included.
func (w *World) Count() int {
	w.mustIdle("World.Count")
	return w.entities()
}

// entities returns the number of entities.
func (w *World) entities() int {
	n := 0
	for _, s := range w.shards {
		n += s.Alive()
	}
	return n
}

// Clear is a Refresh that destroys every entity. It also gives back the memory of their components,
// including the room that Bundle.Reserve made. Requests of ports are applied first, so every handle
// given until now is stale afterwards. Entities that hooks create meanwhile stay, and so do those
// that an extension spares.
func (w *World) Clear() {
	w.lookForChanges()
	w.enterPhase("World.Clear", phaseRefresh)
	w.engine.By(drive.ByClear)
	w.doRefresh(refresh.Serial, true)
	for _, s := range w.shards {
		s.ShrinkAll()
	}
	w.space.TrimAll()
	w.leavePhase()
}

func (w *World) shardOf(l slots.Loc) *store.Shard {
	return w.shards[w.space.Owner(l)]
}

// The phases of a world. Callers that use the idle world check the phase. A tick, a refresh and
// Close take the world by compare-and-swap, so that one of two at the same time is refused.
const (
	phaseIdle    = iota
	phaseTick    // a tick runs
	phaseRefresh // requests are applied and the dead removed, at the end of a tick or of the idle world
	phaseOver    // closed, or about to be
	phaseFrame   // the phase of a Frame's World: never idle
)

// enterPhase takes the idle world for a tick or a refresh. It panics if the world is not idle,
// or within a query loop or a function, because rows must not move there.
func (w *World) enterPhase(call string, phase uint32) {
	for !w.tryEnterPhase(call, phase) {
		w.mustIdle(call)
	}
}

// tryEnterPhase is enterPhase, but returns false if the world is closed or not idle.
func (w *World) tryEnterPhase(call string, phase uint32) bool {
	if !w.phase.CompareAndSwap(phaseIdle, phase) {
		_ = w.unready(call)
		return false
	}
	if w.open > 0 {
		w.phase.Store(phaseIdle)
		w.mustNotLoop(call)
	}
	if check.Enabled && phase != phaseOver { // accessors of a closed world may be used: they find nothing
		w.turn.Begin(tickTurn)
	}
	return true
}

// leavePhase makes the world idle again.
func (w *World) leavePhase() {
	if check.Enabled {
		w.turn.Begin(idleTurn)
	}
	w.stretch = 0 // so that hooks of an idle world run the same after a load
	w.phase.Store(phaseIdle)
}

// ready returns ErrClosed if the world is closed, and panics while a tick runs.
func (w *World) ready(call string) error {
	if w.phase.Load() == phaseIdle {
		return nil
	}
	return w.unready(call)
}

// unready is a function of its own so that ready inlines.
//
//go:noinline
func (w *World) unready(call string) error {
	switch w.phase.Load() {
	case phaseIdle: // it has become idle in the meantime
		return nil
	case phaseTick:
		if call == beginTick {
			panic("world: a new tick while a tick runs; a world has one scheduler at a time")
		}
		panic(fmt.Sprintf("world: %s while a tick runs; within a system use its Context and what it asked of its Build, elsewhere a Port or a Frame", call))
	case phaseRefresh:
		panic(fmt.Sprintf("world: %s while a refresh runs; within a hook use its Context, within a function its EntityContext, elsewhere a Port", call))
	}
	if err := w.Err(); err != nil {
		return err
	}
	return ErrClosed // the world will be closed in a moment
}

// mustIdle is ready for calls that return no error: it panics if the world is closed.
func (w *World) mustIdle(call string) {
	if w.ready(call) == nil {
		return
	}
	if e := w.cause.Load(); e != nil {
		panic(fmt.Sprintf("world: %s of a broken world (%v); make another with world.New", call, e))
	}
	panic(fmt.Sprintf("world: %s of a closed world; make another with world.New", call))
}

// mustBeAsked is mustIdle for questions about one entity. In a closed world it does not panic:
// there all entities are dead.
func (w *World) mustBeAsked(call string) { _ = w.ready(call) }

// idle is ready for calls that move rows: it panics within a query loop.
func (w *World) idle(call string) error {
	if w.phase.Load() == phaseIdle && w.open == 0 {
		return nil
	}
	return w.notIdle(call)
}

// notIdle is a function of its own so that idle inlines.
func (w *World) notIdle(call string) error {
	if err := w.ready(call); err != nil {
		return err
	}
	w.mustNotLoop(call)
	return nil
}

// mustBeWhole panics while there may be rows that are not alive yet.
func (w *World) mustBeWhole(call string) {
	if w.filling > 0 {
		panic(fmt.Sprintf("world: %s inside the init of a CreateN or CreateRows would see entities that are not alive yet; call it after that", call))
	}
}

// closeFill undoes adding 1 to open and filling.
func (w *World) closeFill() {
	w.filling--
	w.closeLoop()
}

// panicForeign panics because something of this world was used with another world.
func (w *World) panicForeign(by Actor, call, what, name string) {
	mustActor(by, fmt.Sprintf("%s of %s %q", call, what, name))
	turnDownBy(by)
	panic(fmt.Sprintf("world: %s: %s %q belongs to another world than the %T it is used with; use that world's own", call, what, name, by))
}

// mustActor panics if the Actor is nil or a nil pointer.
func mustActor(by Actor, call string) {
	switch {
	case by == nil:
		panic(fmt.Sprintf("world: %s by a nil Actor; pass a *World, *Context, *EntityContext or *Port", call))
	case by.world() == nil:
		panic(fmt.Sprintf("world: %s by a nil %T; pass one of a world", call, by))
	}
}

// mustBe panics if the world is nil.
func mustBe(w *World, call string) {
	if w == nil {
		panic(fmt.Sprintf("world: %s in a nil World; make one with world.New", call))
	}
}

// Actor is what acts on a world: a *World between ticks, a *Context within a system, an
// *EntityContext within a function, a *Port from outside at any time.
type Actor interface {
	Alive(h handle.Handle) bool
	Status(h handle.Handle) Status
	world() *World
}

func (w *World) world() *World { return w }
