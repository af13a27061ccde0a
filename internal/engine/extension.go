package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/refresh"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// The turns of the world itself, in the check build.
const (
	idleTurn = "idle"
	tickTurn = "tick"
)

// MustIdle panics unless the world is idle; call is what messages name. Safe from any goroutine,
// but another one may begin a tick.
func (w *World) MustIdle(call string) {
	mustBe(w, call)
	w.mustIdle(call)
}

// Idle reports whether the world is idle. Safe from any goroutine, but another one may begin a
// tick.
func (w *World) Idle() bool { return w.phase.Load() == phaseIdle }

// MustBeNamed is MustIdle for what makes something that snapshots or logs name, or that decides
// what a replay does. It panics if the world is sealed, too; otherwise it counts as a change of the
// world.
func (w *World) MustBeNamed(call, name string) {
	w.MustIdle(call)
	w.MustRegister("%s of %q", call, name)
}

// MustName is MustBeNamed, so the world must be idle, for an extension that snapshots name. It
// panics for a name that is empty or that another extension has. call begins with the package, as
// in "timer.New".
func (w *World) MustName(call, name string) {
	w.MustBeNamed(call, name)
	pkg, call, _ := strings.Cut(call, ".")
	if name == "" {
		panic(fmt.Sprintf("%s: %s without a name; pass one that errors and snapshots can use", pkg, call))
	}
	for _, x := range w.parts {
		if x.Name() == name {
			panic(fmt.Sprintf("%s: %s of %q, a name that is taken in this world; pass another", pkg, call, name))
		}
	}
}

// MustBeWhole panics within a call of the idle world that is making entities: some have rows but
// are not alive yet.
func (w *World) MustBeWhole(call string) {
	if w.filling > 0 {
		panic(fmt.Sprintf("world: %s inside the init of a CreateN or CreateRows would see entities that are not alive yet; call it after that", call))
	}
}

// OnClose has f called when the world is closed or broken, by the goroutine that closes it, or at
// once if it is. Safe from any goroutine.
func (w *World) OnClose(f func()) {
	c := &w.closing
	c.Lock()
	if !c.done {
		c.calls = append(c.calls, f)
		c.Unlock()
		return
	}
	c.Unlock()
	f()
}

// Hold makes calls that would move rows of the idle world panic, as in a query loop, until the
// function that it returns is called, by the same goroutine. within is the name for messages.
func (w *World) Hold(within string) (over func()) {
	outer := w.within
	w.within = within
	w.open++
	return func() {
		w.within = outer
		w.closeLoop()
	}
}

// Extend makes an extension take part in the world's refreshes, after the extensions that were
// added before. It takes no part in the deaths of entities that are marked already. The world must
// be idle and not sealed.
func (w *World) Extend(x extend.Extension) Viewable {
	w.MustBeNamed("an extension", x.Name())
	w.engine.Extensions.Add(x)
	w.parts = append(w.parts, x)
	return w.view(x)
}

// Guard makes an extension take part in the deaths of each refresh, which has nothing to save. What it
// guards has the component, which is no part of a piece. The world must be idle and not sealed.
func (w *World) Guard(x extend.Extension, husk ComponentSet) {
	w.MustBeNamed("an extension", x.Name())
	w.engine.Extensions.Add(x)
	w.husks = w.husks.Union(husk.components(w))
}

// Husks returns the components of what is guarded.
func (w *World) Husks() *store.Set { return &w.husks }

// ExtendLate makes x take part in the step deliver of the world's refreshes, after those that were
// added before. The world must be idle and not sealed.
func (w *World) ExtendLate(x extend.Late) {
	w.MustBeNamed("an extension", x.Name())
	w.engine.Extensions.AddLate(x)
	w.parts = append(w.parts, x)
}

// Derive keeps x up to date, in each refresh and when a tick begins. The world must be idle.
func (w *World) Derive(x extend.Derived) Viewable {
	w.mustIdle("an index")
	w.engine.Extensions.Derived = append(w.engine.Extensions.Derived, x)
	return w.view(x)
}

// Family is an extend.Extension in which entities have parents and children.
type Family interface {
	// LinkSize returns the size, as a queue counts it, of a request to make an entity a child.
	LinkSize() uint32
	// Children returns the children of an entity in order, with None in empty places, and whether
	// the places are fixed. It may be called while the extension does not change.
	Children(h handle.Handle) (all []handle.Handle, fixed bool)
	// Parent returns the parent of an entity, or None, at the same times.
	Parent(h handle.Handle) handle.Handle
	// Fix fixes the number of a parent's places, or with 0 makes them not fixed. Place makes a
	// child take one of them. Both may exceed the limits of the program, because lists from
	// elsewhere may. For the idle world Fix takes what Link does.
	Fix(by Actor, parent handle.Handle, places int) error
	Place(by Actor, child, parent handle.Handle, place int) error
	// Link makes a child take a place, or with a negative one come after the others, at once, for
	// the idle world. Both may be entities that it is about to create. Unlink takes an entity and
	// all below it out again, if it is not created.
	Link(child, parent handle.Handle, place int) error
	Unlink(h handle.Handle)
}

// Extension returns the Framed of what Extend or Derive returned, or of something that embeds it.
// It returns nil if it is of another world. It only reads what changes on an idle world, so systems
// may ask.
func (w *World) Extension(x Viewable) extend.Framed {
	of, number := x.framed()
	if of != w {
		return nil
	}
	return w.framed[number]
}

// Binds reports whether a Binder is of this world, and whether it is the idle World. For a Frame it
// also returns the frame's copy of the extension that Extend returned x for, on any goroutine. It
// panics if the binder may not be used now, or if the frame has no such copy.
func (w *World) Binds(a Binder, x Viewable, call string) (of, idle bool, c extend.Copy) {
	if is, ok := a.(interface{ itself() *Frame }); ok { // not by bind, which makes an index
		var f *Frame
		if !isNil(a) {
			f = is.itself()
		}
		f.must(call)
		if f.image.of != w.frames {
			return false, false, nil
		}
		return true, false, f.copyOf(x.(*extensionView), call)
	}
	b := bind(a, call)
	return b.w == w, b.idle, nil
}

// Tables calls f for each table that has rows matching a query of the idle world, at any time at
// which no rows are written, and returns the filter that selects those rows. It ignores Turns and
// TurnsFor; see TakesTurns.
func (q *Query) Tables(f func(*store.Table)) store.Filter {
	for i := range q.parts {
		p := &q.parts[i]
		p.look(q)
		for _, t := range p.tables {
			if t.Rows() > 0 {
				f(t)
			}
		}
	}
	return q.filter
}

// TakesTurns reports whether the query has Turns or TurnsFor.
func (q *Query) TakesTurns() bool { return q.turns.n != 0 }

// Components returns the components of a ComponentSet of this world. It panics if that is of
// another.
func (w *World) Components(of ComponentSet) store.Set { return of.components(w) }

// Space returns the world's storage, for extensions and persistence: what of it they may touch
// depends on the phase of the world.
func (w *World) Space() *store.Space { return w.space }

// Shard returns a shard, for the goroutine that has it: the world's when it is idle, or the shard's
// worker.
func (w *World) Shard(i int) *store.Shard { return w.shards[i] }

// Refreshes returns what refreshes the world, for statistics of the idle world.
func (w *World) Refreshes() *refresh.Engine { return &w.engine }

// Rejected returns how many requests were not accepted. Safe from any goroutine.
func (w *World) Rejected() uint64 { return w.rejected.Load() }

// Liveness returns the world's liveness. Safe from any goroutine.
func (w *World) Liveness() *extend.Liveness {
	mustBe(w, "a reference")
	if a := w.engine.Liveness.Load(); a != nil {
		return a
	}
	of := w.space.Liveness()
	a := extend.NewLiveness(of)
	if !w.engine.Liveness.CompareAndSwap(nil, a) {
		return w.engine.Liveness.Load()
	}
	runtime.AddCleanup(w, func(a *slots.Liveness) { a.Cut() }, of)
	return a
}

// Given reports whether a port has given h, a handle that is pending according to the liveness, to
// a caller. Safe from any goroutine at any time; no system may ask, because the answer depends on
// time.
func (w *World) Given(h handle.Handle) bool { return w.engine.PortSlots.Given(h) }

// Sender tells whose request is being applied, within the functions of NewRequests: the coordinator
// asks.
func (w *World) Sender() *extend.Sender { return &w.engine.Extensions.Sender }

// IsDying reports whether an entity is marked, on the idle world and, by the coordinator, within
// the functions of NewRequests.
func (w *World) IsDying(h handle.Handle) bool {
	l := w.space.Locate(h)
	return l != 0 && w.space.Marked(l)
}

// Where an actor without a shard acts; see Acts.
const (
	ByWorld = -1 - iota // the idle world, which may change everything at once
	ByPort              // by request
)

// Refuse ends a call by an actor of this world that sends nothing, and returns err. The call uses
// up what Port.Notify and Port.Within set. Unless err is nil, the batch under way is refused.
func (w *World) Refuse(by Actor, err error) error {
	if p, ok := SelfOf(by, "a call").(*Port); ok {
		return p.turnDown(err)
	}
	return err
}

// Acts returns the home in which an actor acts, for an extension on the actor's goroutine: the first
// of its shard, for a global system the home of ports, or ByWorld or ByPort. It returns the error of
// a closed world. It panics if the actor is not of this world, or is a Context of a system that does
// not run, and where it acts by the idle world while ticks are sealed. extension and call are names
// for messages.
func (w *World) Acts(by Actor, extension, call string) (home int, err error) {
	self := w.own(by, extension)
	switch by := self.(type) {
	case *World:
		by.refuseSealed()
		return ByWorld, by.ready(call)
	case *Context:
		by.mustRun(call)
		return int(by.home), nil
	case *EntityContext:
		if by.mustRun(call); w.phase.Load() == phaseIdle {
			w.refuseSealed()
			return ByWorld, nil
		}
		return int(by.c.home), nil
	case *Tx:
		if err := by.mayWrite(call); err != nil {
			return 0, err
		}
		return 0, fmt.Errorf("%w: %s of %q", ErrNotInTx, call, extension)
	}
	return ByPort, nil
}

// BindsTx returns the transaction that a Binder is, or nil. It panics if that does not run, or is of
// another world.
func (w *World) BindsTx(a Binder, call string) *Tx {
	x, ok := a.(interface{ transaction() *Tx })
	if !ok || isNil(a) {
		return nil
	}
	t := x.transaction()
	t.must(call)
	if t.w != w {
		w.panicForeign(t, call, "extension", "of that name")
	}
	return t
}

// ErrNotInTx is the error of an extension that takes no part in transactions.
var ErrNotInTx = errors.New("world: a call of an extension that takes no part in transactions; make it by a function or system, or before and after the transaction")

// MustOwn panics unless an actor is of this world.
func (w *World) MustOwn(by Actor, extension string) { w.own(by, extension) }

// own is SelfOf for an actor that must be of this world: it panics about another.
func (w *World) own(by Actor, extension string) Self {
	self := Is(by)
	if self == nil {
		SelfOf(by, fmt.Sprintf("a request of extension %q", extension)) // panics
	}
	if self.world() != w {
		w.panicForeign(self, "a request", "extension", extension)
	}
	return self
}

// openFor makes sure that there is room for a request of a size about h, and one about each of the
// others, and returns where to push them. It panics for an idle world, which sends no requests.
// After each openFor that returns no error the caller pushes, and then calls publish. After an
// error nothing is sent. done is for one of the requests.
func (w *World) openFor(by Self, extension string, h handle.Handle, others []handle.Handle, size uint32) (q *queue.Queue, epoch uint32, done queue.Finisher, err error) {
	epoch = w.engine.Epoch.Load()
	switch by := by.(type) {
	case *Port:
		q, done, err = by.openFor(1+len(others), size)
		return q, epoch, done, err
	case *World:
		panic(fmt.Sprintf("world: extension %q sends a request of *world.World; an idle World acts at once", extension))
	case *Tx:
		return nil, 0, nil, fmt.Errorf("%w: %q", ErrNotInTx, extension)
	}
	s := outboxOf(by, extension)
	if !by.Alive(h) || slices.ContainsFunc(others, func(h handle.Handle) bool { return !by.Alive(h) }) {
		return nil, 0, nil, ErrStale
	}
	if q = s.open(); !q.Room(1+len(others), size) {
		return nil, 0, nil, s.refuse(q, 1+len(others), size)
	}
	return q, epoch, nil, nil
}

// openFor makes sure that there is room for n requests of a size, and returns the queue to push
// them to and the Finisher to push them with. After an error nothing may be pushed, and the batch
// under way is refused.
func (p *Port) openFor(n int, size uint32) (q *queue.Queue, done queue.Finisher, err error) {
	if check.Enabled {
		p.enter()
		defer func() {
			if q == nil {
				p.leave()
			}
		}()
	}
	if p.unusual() || !p.out.Room(n, size) {
		if err := p.ready(n, size); err != nil {
			return nil, nil, err
		}
	}
	done = p.finisher() // may panic
	return p.out, done, nil
}

// publish sends what a port has pushed after openFor. The refresh publishes what systems push.
func publish(by Self) {
	if p, ok := by.(*Port); ok {
		p.Send()
		if check.Enabled {
			p.leave()
		}
	}
}

// Seal makes registering panic from now on; by is the call that messages name. durable.Open calls
// it, on the idle world.
func (w *World) Seal(by string) { w.sealed = by }

// KeepIncarnation makes World.Reincarnate call a function before it takes a number, which keeps
// that number, and to return its error; nil ends that. The world must be idle.
func (w *World) KeepIncarnation(keep func(n uint32) error) { w.keepNumber = keep }

// KeepBy says that the world is kept on disk: wait returns when all that is applied by now is there.
// The world must be idle.
func (w *World) KeepBy(wait func(ctx context.Context) error) { w.kept.Store(&wait) }

// Wait waits until all that is applied by now is on disk, if the world is kept there. Safe from any
// goroutine outside of ticks.
func (w *World) Wait(ctx context.Context) error {
	if wait := w.kept.Load(); wait != nil {
		return (*wait)(ctx)
	}
	return ctx.Err()
}

// MayInsert returns an error if the world is closed, and prepares its shards to get entities. It
// panics unless the world is idle and outside of query loops; call is the name for messages.
func (w *World) MayInsert(call string) error {
	if err := w.idle(call); err != nil {
		return err
	}
	for _, s := range w.shards {
		s.Loop = w.loop
	}
	return nil
}

// SetBy sets a component of an entity to a value of its type, by a request of an actor, as
// Component.Set does. After an error nothing has changed.
func (w *World) SetBy(by Actor, component int, h handle.Handle, value any) error {
	x, err := w.cores[component].Set(by.self(), h)
	if err != nil {
		return err
	}
	of := w.space.TypeOf(component)
	of.Copy(x.To.Address, of.Box(value), 1)
	x.Done()
	return nil
}

// AddMeasured makes Measure include x, which is no extension. The world must be idle.
func (w *World) AddMeasured(x extend.Measurable) { w.measured = append(w.measured, x) }

// Measure adds the figures of everything that has some; the world must be idle.
func (w *World) Measure(add func(extend.Measured)) {
	w.MustIdle("a measurement")
	for _, x := range w.parts {
		if m, ok := x.(extend.Measurable); ok {
			m.Measure(add)
		}
	}
	for _, x := range w.engine.Extensions.Derived {
		if m, ok := x.(extend.Measurable); ok {
			m.Measure(add)
		}
	}
	for _, x := range w.measured {
		x.Measure(add)
	}
}
