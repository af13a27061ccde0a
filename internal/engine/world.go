package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/refresh"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/shard"
)

// World holds entities, partitioned into shards.
type World struct {
	worldSelf
	options Options
	engine  refresh.Engine
	space   *store.Space
	lookup  slots.Lookup
	shards  []*store.Shard

	components  []componentInfo
	cores       []*Component // of them
	componentID map[reflect.Type]int
	accessors   map[accessorKey]Term // the idle world's
	flagger     *flagger
	tx          *Tx             // nil: there are no transactions
	outputs     *outputs        // nil: there are none
	functions   map[string]bool // names that are taken
	messages    []Messages
	resources   []Resource
	sealed      string                                          // the call after which nothing more is registered; empty: not sealed. The owner of the idle world writes it.
	keepNumber  func(n uint32) error                            // keeps the number of the next incarnation, or nil. Owned as sealed is.
	kept        atomic.Pointer[func(ctx context.Context) error] // of KeepBy

	contexts []*Context // by shard; the global systems have the last
	cursor   int        // shard of the next new entity
	run      int        // how many more are created there
	runLeast int        // the least length of a run
	touched  bool       // the idle world was changed since leave, or may have been; see LookForChanges
	seals    bool       // ticks are sealed: the idle world must not change
	lenient  bool       // it may all the same; see Lenient
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

	phase     atomic.Uint32             // what the world is in use for: see phaseIdle
	cause     atomic.Pointer[Breakdown] // nil unless the world is broken
	lost      atomic.Pointer[error]     // nil unless the world is closed because its log cannot be written
	rejected  atomic.Uint64
	frames    *frames
	capturing *capturing // makes frames; nil until the first

	pieces   any                   // see Pieces
	bundles  map[store.Set]*Bundle // of groups
	placers  []placer              // that a load into another number of shards asks; see Rehome
	parts    []extend.Base         // extensions, in the order in which they were added
	husks    store.Set             // components of what extensions guard
	framed   []extend.Framed       // those that frames can have copies of
	measured []extend.Measurable   // what is not an extension, and has figures
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
	recorderErr *Panic      // of the last refresh
	// panicked says that a context may have failures. Any worker of a refresh sets it; the next
	// refresh clears it, and them.
	panicked  atomic.Bool
	rungLeast uint8  // see LeastRung
	stretch   uint32 // by how much Turns in systems are stretched; 0 for 1
}

// New makes an idle world. After an error, which names the options that are wrong, there is none.
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
		accessors:   map[accessorKey]Term{},
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

// Options returns the options with the defaults filled in. They never change, so any goroutine may
// ask.
func (w *World) Options() Options { return w.options }

// Tick returns the number of refreshes so far. Safe from any goroutine.
func (w *World) Tick() uint64 { return w.engine.Tick.Load() }

// Shards returns the number of shards. It never changes, so any goroutine may ask.
func (w *World) Shards() int { return len(w.shards) }

// Alive reports whether the entity is alive. Safe from any goroutine at any time.
func (w *World) Alive(h handle.Handle) bool { return w.space.Alive(h) }

// Status returns what a handle stands for. The world must be idle, or closed.
func (w *World) Status(h handle.Handle) Status {
	w.MustBeAsked("World.Status")
	if l := w.space.Locate(h); l != 0 && w.space.Marked(l) {
		return Dying
	}
	return statusNow(w, h)
}

// Locate returns the entity's location, for the accessors' At, or 0 if the entity is not alive. The
// world must be idle, or closed; a release build does not check it.
func (w *World) Locate(h handle.Handle) shard.Loc {
	if check.Enabled {
		w.MustBeAsked("World.Locate")
	}
	return shard.Loc(w.lookup.Locate(h))
}

// Has reports whether the entity is alive and has all of the components. The world must be idle.
func (w *World) Has(h handle.Handle, c ComponentSet) bool {
	w.MustBeAsked("World.Has")
	return w.has("World.Has", w.space.Locate(h), c)
}

// Destroy marks the entity: it stays alive until the refresh, which removes it. It returns false,
// and changes nothing, if the entity is dead, marked or guarded. The world must be idle.
func (w *World) Destroy(h handle.Handle) bool {
	w.MustBeAsked("World.Destroy")
	l := w.lookup.Locate(h)
	if check.Enabled && l != 0 {
		s := w.shardOf(l)
		s.Enter(&destroying)
		defer s.Leave()
	}
	if l == 0 || w.engine.Extensions.Guarded(h) {
		return false
	}
	w.refuseSealed()
	if !w.space.Mark(l) {
		return false
	}
	w.touched = true
	return true
}

// The occupants of a shard, in the check build.
var creating, destroying = store.Occupant{What: "Bundle.Create by the World"}, store.Occupant{What: "World.Destroy"}

// Count returns the number of entities, dying ones included. The world must be idle.
func (w *World) Count() int {
	w.mustIdle("World.Count")
	return w.entities()
}

// entities returns the number of entities, dying ones included, while nothing is created.
func (w *World) entities() int {
	n := 0
	for _, s := range w.shards {
		n += s.Alive()
	}
	return n
}

// Clear is a Refresh of the idle world that destroys every entity, and gives memory back.
func (w *World) Clear() {
	w.beforeRefresh()
	w.enterPhase("World.Clear", phaseRefresh)
	w.engine.By(extend.ByClear)
	w.doRefresh(refresh.Serial, true)
	if w.phase.Load() == phaseRefresh {
		for _, s := range w.shards {
			s.ShrinkAll()
		}
		w.space.TrimAll()
	}
	w.afterRefresh()
	w.Tell()
}

// afterRefresh makes the world idle again, unless the refresh has closed it.
func (w *World) afterRefresh() {
	if w.phase.Load() == phaseRefresh {
		w.leavePhase()
	}
}

// shardOf returns the shard that owns the row at l, which must be alive.
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

// enterPhase takes the idle world for a tick or a refresh. It panics, and takes nothing, if the
// world is not idle, or within a query loop or a function, because rows must not move there.
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

// leavePhase makes the world idle again, by the goroutine that has taken it.
func (w *World) leavePhase() {
	if check.Enabled {
		w.turn.Begin(idleTurn)
	}
	w.stretch = 0 // so that hooks of an idle world run the same after a load
	w.phase.Store(phaseIdle)
}

// ready returns ErrClosed, or the *BrokenError, if the world is closed, and panics while a tick or
// a refresh runs.
func (w *World) ready(call string) error {
	if w.phase.Load() == phaseIdle {
		return nil
	}
	return w.unready(call)
}

// unready is what ready does if the world is not idle. It is a function of its own so that ready
// inlines.
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
		panic(fmt.Sprintf("world: %s while a refresh runs; within a hook use its Context, within a function its EntityContext, within a transaction its Tx, elsewhere a Port", call))
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
		panic(fmt.Sprintf("world: %s of a broken world (%v); make another with world.New", call, e.Err))
	}
	panic(fmt.Sprintf("world: %s of a closed world; make another with world.New", call))
}

// MustBeAsked is MustIdle for questions about one entity. In a closed world it does not panic:
// there all entities are dead.
func (w *World) MustBeAsked(call string) { _ = w.ready(call) }

// idle is ready for calls that move rows: it also panics within a query loop.
func (w *World) idle(call string) error {
	if w.phase.Load() == phaseIdle && w.open == 0 {
		return nil
	}
	return w.notIdle(call)
}

// notIdle is what idle does otherwise. It is a function of its own so that idle inlines.
func (w *World) notIdle(call string) error {
	if err := w.ready(call); err != nil {
		return err
	}
	w.mustNotLoop(call)
	return nil
}

// closeFill undoes adding 1 to open and filling, when rows are filled in or init has panicked.
func (w *World) closeFill() {
	w.filling--
	w.closeLoop()
}

// panicForeign panics because something of this world was used by an actor of another world, or by
// none. If that is a port, the request does not stay half made: its Completion and batch are given
// up first.
func (w *World) panicForeign(by Self, call, what, name string) {
	mustActor(by, fmt.Sprintf("%s of %s %q", call, what, name))
	turnDownBy(by)
	panic(fmt.Sprintf("world: %s: %s %q belongs to another world than the %s it is used with; use that world's own", call, what, name, nameOf(by)))
}

// mustActor panics if the Actor is nil or a nil pointer.
func mustActor(by Self, call string) {
	if by == nil || by.world() == nil {
		panic(noActor(by, call))
	}
}

// mustBe panics if the world is nil.
func mustBe(w *World, call string) {
	if w == nil {
		panic(fmt.Sprintf("world: %s in a nil World; make one with world.New", call))
	}
}

// world implements Self.
func (w *World) world() *World { return w }

// Close ends the world: it destroys every entity, as Clear does, and gives memory back. The world
// must be idle, or closed: then it does nothing.
func (w *World) Close() {
	w.LookForChanges()
	for w.phase.Load() != phaseOver {
		if w.tryEnterPhase("World.Close", phaseOver) {
			w.close()
			return
		}
	}
}

// close is Close by the caller that has taken the world. Extensions, and then hooks, may keep
// entities for one more refresh. If one of these refreshes fails, the world is broken instead, and
// close panics.
func (w *World) close() {
	w.frames.close(ErrClosed)
	w.capturing = nil
	w.engine.Closed.Store(true) // before the queues are emptied: senders look here after they have sent
	w.engine.Ports.AbandonActive(queue.Closed)
	w.engine.MarkAll()
	w.doRefresh(refresh.Serial, false)
	w.engine.Extensions.Drop()
	w.parts = nil
	if w.engine.MarkAll() > 0 { // extensions have spared some
		w.doRefresh(refresh.Serial, false)
	}
	w.dropHooks()
	if w.engine.MarkAll() > 0 { // hooks have created some
		w.doRefresh(refresh.Serial, false)
	}
	w.drop()
}

// drop gives back the memory of a world in which all entities are dead, notifies senders that wait
// for an outcome, and calls the functions of OnClose.
func (w *World) drop() {
	w.space.Liveness().Cut()
	for _, m := range w.messages {
		m.Drop()
	}
	if w.outputs != nil {
		w.outputs.drop()
	}
	for _, s := range w.shards {
		s.Drop()
	}
	w.space.Drop()
	w.engine.Ports.NotifyAbandoned()
	w.closing.Lock()
	calls := w.closing.calls
	w.closing.calls, w.closing.done = nil, true
	w.closing.Unlock()
	for _, f := range calls {
		f()
	}
}

// Refresh settles the idle world: it applies requests and removes the dead, on this goroutine. It
// panics with the *BrokenError if that fails.
func (w *World) Refresh() {
	w.beforeRefresh()
	w.enterPhase("World.Refresh", phaseRefresh)
	w.engine.By(extend.ByRefresh)
	w.doRefresh(refresh.Serial, false)
	w.afterRefresh()
	w.Tell()
}

// beforeRefresh looks for changes. A refresh within a function that a replay calls as well is a
// change: the replay would make it without its inputs.
func (w *World) beforeRefresh() {
	if w.replayed {
		w.Touched()
	}
	w.LookForChanges()
}

// doRefresh does a refresh, by the goroutine that has taken the world; with all, one that destroys
// all entities. If the refresh is not completed, the world is broken: see guard.
func (w *World) doRefresh(parallel extend.Parallel, all bool) {
	done := false
	defer w.guard(&done)
	w.recorderErr = nil
	if w.panicked.Load() {
		w.panicked.Store(false)
		for _, c := range w.contexts {
			c.failures, c.failedHooks, c.omitted = nil, nil, 0
		}
	}
	if w.tx != nil {
		w.tx.forgetRefused()
	}
	if w.seals && !w.commit() {
		done = true
		return
	}
	w.engine.Run(parallel, all)
	if w.outputs != nil {
		w.outputs.gather()
	}
	w.leave()
	for _, s := range w.shards { // loops of the idle world get higher numbers than those of systems and hooks
		w.loop = max(w.loop, s.Loop)
	}
	done = true
}

// refreshed is a world as a refresh.Owner, which says what the methods do.
type refreshed World

// GatherEvents implements refresh.Owner.
func (r *refreshed) GatherEvents() int { return r.hooks.due() }

// CallHooks implements refresh.Owner.
func (r *refreshed) CallHooks(shard int) { r.hooks.callers[shard].call() }

// FramesDue implements refresh.Owner.
func (r *refreshed) FramesDue() bool { return r.frames.asked.Load() > 0 || r.frames.last > 0 }

// Capture implements refresh.Owner.
func (r *refreshed) Capture(parallel extend.Parallel) { r.frames.refresh((*World)(r), parallel) }

// MoveTaken implements refresh.Owner.
func (r *refreshed) MoveTaken() { (*World)(r).moveTaken() }

// RecorderPanicked implements refresh.Owner: it keeps the panic for Failure, and no longer looks
// for changes.
func (r *refreshed) RecorderPanicked(p *refresh.Panic) error {
	r.changed = nil
	e := &Panic{In: InRecorder, Name: p.During, Shard: AllShards, Tick: r.engine.Tick.Load(), Value: p.Value, Stack: p.Stack}
	if e.Value == nil {
		e.Value = aside.ErrGoexit
	}
	r.recorderErr = newPanic(e)
	return e.Err
}

// outdate makes the check build refuse views of rows that are about to move.
func (w *World) outdate() {
	if check.Enabled {
		w.space.Outdate()
	}
}

// Incarnation returns the number of the world's incarnation, from 1. The world must be idle.
func (w *World) Incarnation() uint32 { return w.space.Incarnation() }

// Reincarnate makes the idle world its n-th incarnation. After an error it is the one that it was.
func (w *World) Reincarnate(n uint32) error {
	if err := w.idle("World.Reincarnate"); err != nil {
		return err
	}
	if w.engine.Replay != nil {
		return errors.New("world: Reincarnate while a log is played; call it before, or when the Player is closed")
	}
	open, err := w.engine.Ports.Alone(func() error {
		now := w.Incarnation()
		if n > now {
			w.refuseSealed()
		}
		if n < now {
			return fmt.Errorf("world: Reincarnate with %d, while the world is incarnation %d; take a higher number", n, now)
		}
		err := w.engine.PortSlots.Reincarnate(n, w.keepNumber)
		w.touched = w.touched || err == nil && n > now
		return err
	})
	if open > 0 {
		return fmt.Errorf("world: Reincarnate while %d ports are open; open ports when it has returned", open)
	}
	return err
}

// Status is the state of a handle.
type Status uint8

// The statuses of a handle; see world.Status.
const (
	Forged Status = iota
	Unused
	Pending
	Alive
	Dying
	Stale
)

// String returns the status as a lower-case word.
func (s Status) String() string {
	if s > Stale {
		return "unknown"
	}
	return [...]string{"forged", "unused", "pending", "alive", "dying", "stale"}[s]
}

// statusInTick returns the Status of a handle for systems, functions and hooks: never Dying. Ports
// draw handles at any time, and a replay does not know when. So it depends only on what was drawn
// and stored at the last cut: all free slots of ports are pending, in a hand or not, and what was
// drawn since is forged.
func statusInTick(w *World, h handle.Handle) Status {
	if w.space.IsPorts(h) && h.Index() >= w.engine.PortSlots.Settled() {
		return Forged
	}
	return status(w, h, true)
}

// statusNow returns the Status of a handle as any goroutine may know it: never Dying. A free slot
// of ports is pending only if a port has given its handle to a caller. Any goroutine may call it.
func statusNow(w *World, h handle.Handle) Status {
	s := status(w, h, false)
	if s != Unused || !w.space.IsPorts(h) {
		return s
	}
	switch {
	case h.Index() >= w.engine.PortSlots.Drawn():
		return Forged
	case !w.engine.PortSlots.Given(h):
		return status(w, h, false) // again: meanwhile it may have been created, have died and be drawn anew
	}
	return w.pending()
}

// pending returns the Status of a handle that is to come, or Stale in a closed world.
func (w *World) pending() Status {
	if w.engine.Closed.Load() {
		return Stale // no create is applied any more
	}
	return Pending
}

// status returns the Status of a handle, except that a dying entity is Alive. free says that free
// slots of ports are pending. Any goroutine may call it.
func status(w *World, h handle.Handle, free bool) Status {
	version, state, ok := w.space.Look(h)
	switch {
	case !ok || h.Version() == 0 || h.Version() > version:
		return Forged
	case h.Version() < version:
		return Stale
	}
	switch state {
	case slots.StateAlive:
		return Alive
	case slots.StateStaged: // the refresh has yet to decide whether it lives
		return Pending
	case slots.StateUnused:
		if free && w.space.IsPorts(h) {
			return w.pending()
		}
		return Unused
	default: // retired at this version
		return Stale
	}
}

// failuresMax is how many panics of functions a refresh keeps with all details, including a
// stack. Each shard keeps an equal part of these, at least one: the first in the order of the
// requests. The others are only counted. Hooks that panic beyond this number are kept without
// their stacks. The limit is there because a hostile client may request thousands of calls that
// fail.
const failuresMax = 64

// keepsFailure reports whether a shard that has kept n failures keeps the next. The shard's worker
// asks.
func (w *World) keepsFailure(n int) bool { return n < max(1, failuresMax/len(w.shards)) }

// Failure returns the panics of the last refresh, joined, or nil if there was none: first of
// functions, then of hooks, of the recorder, and of handlers of outputs. The world must be idle.
func (w *World) Failure() error {
	w.mustIdle("World.Failure")
	var all []error
	for _, e := range w.failures() {
		all = append(all, e.Err)
	}
	if _, err := w.omitted(); err != nil {
		all = append(all, err)
	}
	for _, e := range w.failedHooks() {
		all = append(all, e.Err)
	}
	if w.recorderErr != nil {
		all = append(all, w.recorderErr.Err)
	}
	handlers, _, more := w.FailedOutputs()
	for _, e := range handlers {
		all = append(all, e.Err)
	}
	if more != nil {
		all = append(all, more)
	}
	return errors.Join(all...)
}

// omitted returns how many panics of functions are not in failures, and an error that says so. It
// is called between refreshes.
func (w *World) omitted() (calls int, err error) {
	if !w.panicked.Load() {
		return 0, nil
	}
	tick := uint64(0)
	for _, c := range w.contexts {
		if calls += c.omitted; c.omitted > 0 {
			tick = c.failures[0].Tick
		}
	}
	if calls > 0 {
		err = fmt.Errorf("world: %d more functions panicked at the end of tick %d; details are kept of %d", calls, tick, len(w.failures()))
	}
	return calls, err
}

// failures returns the panics of functions in the last refresh, by shard. It is called between
// refreshes.
func (w *World) failures() (all []*Panic) {
	if !w.panicked.Load() {
		return nil
	}
	for _, c := range w.contexts {
		all = append(all, c.failures...)
	}
	return all
}

// failedHooks returns the panics of hooks in the last refresh, by shard. It is called between
// refreshes.
func (w *World) failedHooks() (all []*Panic) {
	if !w.panicked.Load() {
		return nil
	}
	for _, c := range w.contexts {
		all = append(all, c.failedHooks...)
	}
	return all
}

// Err returns nil while the world can be used, a *BrokenError if it is broken, or ErrClosed if it
// is closed. Safe from any goroutine.
func (w *World) Err() error {
	if e := w.cause.Load(); e != nil {
		return e.Err
	}
	if err := w.lost.Load(); err != nil {
		return *err
	}
	if w.engine.Closed.Load() {
		return ErrClosed
	}
	return nil
}

// newBroken makes the Breakdown of a world by a value that was recovered during something, on this
// goroutine, whose stack it has.
func newBroken(w *World, during string, value any) *Breakdown {
	if value == nil {
		value = aside.ErrGoexit
	}
	return &Breakdown{Tick: w.engine.Tick.Load(), During: during, Value: value, Stack: debug.Stack()}
}

// asBroken is newBroken for a value recovered in a refresh, on the goroutine that has taken the
// world. The stack is of the goroutine that panicked.
func asBroken(w *World, v any) *Breakdown {
	p, ok := v.(*refresh.Panic)
	if !ok {
		return newBroken(w, w.engine.Extensions.During(), v)
	}
	e := newBroken(w, p.During, p.Value)
	e.Stack = p.Stack
	return e
}

// fail breaks the world, unless it is broken.
//
// Ownership: the goroutine that has taken the world; no other goroutine works on it any more.
func (w *World) fail(e *Breakdown) {
	e.Err = ShowBreakdown(e)
	if w.cause.CompareAndSwap(nil, e) {
		w.end(e.Err, w.engine.Abandon)
	}
}

// end closes the world without a refresh.
func (w *World) end(err error, abandon func()) {
	w.phase.Store(phaseOver)
	w.frames.close(err)
	w.capturing = nil
	w.engine.Closed.Store(true) // before the queues are emptied: senders look here after they have sent
	abandon()
	w.engine.Extensions.Drop()
	w.engine.Record(nil)
	w.parts, w.changed = nil, nil
	w.dropHooks()
	w.space.EndAll()
	w.drop()
	if check.Enabled {
		w.turn.Begin(idleTurn) // accessors of a closed world may be used: they find nothing
	}
}

// guard breaks the world if the function that defers it, by the goroutine that has taken the world,
// does not complete. It then panics again, with the *BrokenError.
func (w *World) guard(done *bool) {
	if *done {
		return
	}
	v := recover()
	e := asBroken(w, v)
	w.fail(e)
	if v != nil { // nil: the goroutine ends anyway
		panic(e.Err)
	}
}
