// Package drive is what a world offers only to the other packages of this module, and not to
// programs: to run ticks, take part in refreshes, record and replay inputs from outside, and read
// its whole state. It lies below package world, which implements World; package driver offers it
// with the types of package world.
package drive

import (
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
)

// World is what a world offers to this module's packages. B is *world.Build, C *world.Context and E
// *world.PanicError, which this package cannot name.
//
// Ownership: as for the *world.World, unless a method says otherwise. Methods panic at the wrong
// time.
type World[B, C, E any] interface {
	Schedule[B, C, E]
	Join
	Tools
}

// Schedule is for schedulers.
type Schedule[B, C, E any] interface {
	// NewBuild starts the construction of a system for one shard, or, with world.AllShards as
	// the shard, of a global system. Finish ends it and returns what was declared.
	NewBuild(shard int, system string) B
	Finish(b B) *Access
	// BeginTick takes the world for a tick. It panics if a tick is running already, or within a
	// query loop, and with a *world.BrokenError if an extension panics.
	BeginTick() Tick[E]
	// Context returns the Context that systems act through on a shard, or with world.AllShards that
	// of global systems, which act one at a time. It is the same in each tick. Only the one worker
	// that runs the shard, or a global system, may use it.
	Context(shard int) C
	// Acting returns the part of a Context that says which system it acts for.
	Acting(c C) *Acting
	// Replayed calls a function on the idle world that a replay calls as well. LookForChanges calls
	// the function that RecordInputs was given if the idle world has changed since the last refresh
	// or Replayed.
	Replayed(f func())
	LookForChanges()
	// Rung chooses the rung of the ladder that the next tick runs with, which is recorded, and
	// returns it; while inputs are replayed it returns the recorded one. Stretch sets over how many
	// times as many runs Turns spreads entities in systems.
	Rung(wanted uint8) uint8
	Stretch(times uint32)
	// RefuseAtPorts adds rungs, which may be negative, to the number of rungs that refuse a
	// world.Refusable at ports. It returns false if x belongs to another world.
	RefuseAtPorts(x any, rungs int) (name string, ok bool)
	// ComponentName and ResourceName return the name that a number in an Access stands for.
	ComponentName(id int) string
	ComponentNames(set store.Set) string
	ResourceName(id int) string
	// MergeResource merges the parts of an accumulator, when every shard has passed the last
	// system that adds to it.
	MergeResource(id int)
}

// Tick is a running tick of a world: the right to run systems on its shards.
//
// Ownership: the goroutine that began it.
type Tick[E any] interface {
	// Number returns the number of the tick, from 0.
	Number() uint64
	// Entities returns the number of entities in a shard, marked ones included, while no system
	// runs.
	Entities(shard int) int
	// Transfer decides that entities move at the refresh, between the last system and End.
	// While inputs are replayed it does nothing: the recorded decisions count. It panics if
	// there are no such shards, or if there is nothing to move.
	Transfer(transfers []Transfer)
	// End is Refresh and Leave.
	End(parallel Parallel)
	// Refresh refreshes the world, running the steps with parallel. No system may be running. It
	// panics as World.Refresh does if the world breaks.
	Refresh(parallel Parallel)
	// Leave makes the world idle after a Refresh, unless it is closed.
	Leave()
	// Trace makes later refreshes keep spans of their steps. StepSpans returns them in order, until
	// the next refresh. Step returns the step that runs; the coordinator calls it when it begins to
	// run one in parallel.
	Trace(on bool)
	StepSpans() []StepSpan
	Step() RefreshStep
	// Break gives up a tick that cannot be completed: the world is broken, with the value of a
	// panic as the cause. It returns the *world.BrokenError. No system may be running.
	Break(value any) error
	// Failures returns the panics of functions in the refresh, by shard. If there were more,
	// omitted is how many, and the error says so.
	Failures() (all []E, omitted int, err error)
	// FailedHooks returns the panics of hooks in the refresh, by shard, in the order of the
	// calls. DisableHook disables the hook of one, on one shard or on world.AllShards.
	FailedHooks() []E
	DisableHook(e E, shard int)
	// FailedRecorder returns the panic of the Recorder in the refresh, or nil.
	FailedRecorder() E
}

// Join is for packages that keep something about entities.
type Join interface {
	// MustIdle panics unless the world is idle; call is what messages name. Idle reports whether
	// it is. Safe from any goroutine, but another one may begin a tick.
	MustIdle(call string)
	// MustRegister is MustIdle for what makes something that snapshots or logs name, or that
	// decides what a replay does, and panics if the world is sealed, too.
	MustRegister(call, name string)
	// MustName is MustRegister for an extension that snapshots name, and panics for a name that is
	// empty or that another extension has. call begins with the package, as in "timer.New".
	MustName(call, name string)
	// MustBeWhole panics within a call of the idle world that is making entities: some have rows
	// but are not alive yet.
	MustBeWhole(call string)
	Idle() bool
	// OnClose has f called when the world is closed or broken, or at once if it is.
	OnClose(f func())
	// Touched records that the idle world was changed, or is about to be. Whatever an extension
	// changes by a *world.World, or when Acts returns ByWorld, tells so.
	Touched()
	// Hold makes calls that would move rows of the idle world panic, as in a query loop, until the
	// function that it returns is called. within is the name for messages.
	Hold(within string) (over func())
	// Binds reports whether a world.Binder is of this world. For a *world.Frame it also returns the
	// frame's copy of the extension that Extend returned x for. It panics if the binder may not be
	// used now, or if the frame has no such copy.
	Binds(binder, x any, call string) (bool, Copy)
	// Frame returns the rows of a *world.Frame of this world, or false for one of another world. It
	// panics for a nil or released frame; call is the name for messages.
	Frame(f any, call string) (Frozen, bool)
	// Extend makes an extension take part in the world's refreshes, after the extensions that were
	// added before. It takes no part in the deaths of entities that are marked already. It returns
	// the world.Viewable of the extension.
	Extend(x Extension) any
	// Derive keeps x up to date, and returns its world.Viewable; name is what messages call it.
	Derive(x Derived, name string) any
	// Tables calls f for each table that has rows matching a *world.Query of the idle world, at any
	// time at which no rows are written, and returns the filter that selects those rows.
	Tables(query any, f func(*store.Table)) store.Filter
	// Extension returns the Framed of what Extend returned, or of something that embeds that. It
	// returns nil if it is of another world. Components returns the components of a
	// world.ComponentSet.
	Extension(viewable any) any
	Components(of any) store.Set
	// Shared returns what a plain copy of a component's value would share with the value, as an
	// error that says what to do; or nil, also if the component has a CloneBy, or if the world's
	// inputs are neither recorded nor replayed. copied, which may be nil, reports that slices,
	// pointers and maps of a type are copied as well. Safe from any goroutine.
	Shared(component int, value mem.Address, copied func(reflect.Type) bool) error
	// TakesTurns reports whether a *world.Query has Turns or TurnsFor, which Tables ignores.
	TakesTurns(query any) bool
	// ExtendLate makes x take part in the world's refreshes, after those that were added before.
	ExtendLate(x Late)
	// Acts returns the home in which an actor acts, or ByWorld or ByPort. It returns an error if
	// the actor may not change the world now. It panics if the actor is not of this world, or is a
	// Context of a system that does not run. extension and call are names for messages.
	Acts(actor any, extension, call string) (home int, err error)
	// RefusedAtPort returns the error with which a *world.Port may not send a world.Refusable now,
	// or nil. With an error it ends the call, as Refuse does, and counts the request as rejected.
	RefusedAtPort(port, x any) error
	// Delivers returns the function that delivers a *world.Message, for Late.Deliver.
	Delivers(message any) Deliver
	// Liveness returns the world's liveness. Safe from any goroutine at any time.
	Liveness() *Liveness
	// Given reports whether a port has given h, a handle that is pending according to the
	// liveness, to a caller. Safe from any goroutine at any time; no system may ask, because the
	// answer depends on time.
	Given(h handle.Handle) bool
	// Sender returns the sender of the request that is being applied, within the functions of
	// NewRequests.
	Sender() *Sender
	// IsDying reports whether an entity is marked, for the idle world and within the functions
	// of Requests.
	IsDying(h handle.Handle) bool

	requester
}

// Tools is for packages that record, replay, hash or save worlds.
type Tools interface {
	// Survey returns the world's whole state.
	Survey() Survey
	// Freeze copies the rows of the idle world, of all components or only of some, if a copy shares
	// nothing with the world. It returns world.ErrFrames if too many frames are held.
	Freeze(only *store.Set) (Frozen, error)
	// SetBy sets a component of an entity by a *world.Port, to a value of its type, as
	// Component.Set does.
	SetBy(port any, component int, h handle.Handle, value any) error
	// Load begins to load the state of another world. It returns an error if this world has given a
	// handle, made a tick, or was sent something. call is the name for messages. MayLoad returns that
	// error, and begins nothing.
	Load(call string) (Loader, error)
	MayLoad(call string) error
	// MayInsert returns an error if the world is closed, and prepares its shards to get entities.
	// It panics at the wrong time; call is the name for messages.
	MayInsert(call string) error
	// MayCopy returns the components of an entity that an actor may copy, as world.Copy says; call
	// is the name for messages. CopyAll copies such entities with their flags, all or none, if
	// there is room for them and for the requests.
	MayCopy(actor any, call string, h handle.Handle) (*store.Set, error)
	// For the idle world it calls link before it copies, when c.Made has the handles that the
	// copies are going to have; an error of link is its own.
	CopyAll(actor any, c *Copying, link func() error) error
	// NewGroup makes a Group, which is a world.ComponentSet. It returns world.ErrTooLarge if no
	// queue can ever hold the group. The world must be idle.
	NewGroup(x Grouping) (Group, error)
	// Seal makes registering panic from now on; by is the call that messages name.
	Seal(by string)
	// KeepIncarnation makes World.Reincarnate call a function before it takes a number, which keeps
	// that number, and to return its error; nil ends that. The world must be idle.
	KeepIncarnation(keep func(n uint32) error)
	// RecordInputs sets the Recorder that receives the world's inputs, from the next refresh on;
	// nil removes it. It returns an error if another Recorder is set. changed, if not nil, is
	// called when the idle world was changed by something that is no input. It is called on the
	// goroutine that uses the world: before a tick of a scheduler or a refresh, or after functions
	// between ticks. It may set another Recorder.
	RecordInputs(r Recorder, changed func()) error
	// ReplayInputs begins to replay inputs. No port may be open.
	ReplayInputs() (Replayer, error)
	// AddMeasured makes Measure include x, which is no extension. Measure returns the figures of
	// everything that has some; the world must be idle.
	AddMeasured(x Measurable)
	Measure(add func(Measured))
	// Scatter makes the next shard take new entities after each run of so few, for tests in which a
	// small world must have entities in all its shards.
	Scatter(run int)
	// LeastRung makes the rung of each tick at least n, for tests in which ticks do not take too
	// long.
	LeastRung(n uint8)
}

// Parallel runs f(0) … f(n-1), on as many goroutines as it likes, and returns when all are done.
// f does not panic.
type Parallel = func(n int, f func(i int))

// Transfer is a decision to move a number of entities from one shard to another, without naming
// them. The last rows of From's tables move, from each table in proportion to its rows, so that
// From keeps its mixture. Which ones move depends on the world alone, so a log of inputs only needs
// to hold the decision. Entities that are marked, that a request moves already, or that have a
// pinned component stay; if From has too few others, fewer move.
type Transfer struct {
	From, To, Entities int
}

// open finds the World of a *world.World, or of any actor. Package world sets it when the program
// starts.
var open func(actor any) any

// Register sets what Of calls. It is for package world.
func Register(f func(actor any) any) { open = f }

// Of returns the World, as a D, of a *world.World or of a world.Actor. It panics if that is nil.
func Of[D any](actor any) D { return open(actor).(D) }
