package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
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
type World engine.World

// Err returns nil while the world can be used, a *BrokenError if it is broken, or ErrClosed
// if it is closed. Safe from any goroutine at any time.
func (w *World) Err() error { return (*engine.World)(w).Err() }

// Close ends the world: it destroys every entity, as Clear does, and gives the memory of its tables
// back. Hooks are called; entities that they create die, too. Requests that ports have sent and no
// refresh has applied are not done. Their outcome is Closed, so that no sender waits for ever; to
// have them done, call Refresh first. A world has no goroutines of its own, so there are none to
// end.
//
// A broken world is closed already; see BrokenError. So is a world that breaks while Close
// runs: then Close panics with the *BrokenError.
//
// From then on every call that returns an error returns ErrClosed, including ports' requests
// and a scheduler's Step. All handles are dead: Alive is false, Status is Stale, Get is nil,
// and every reference is empty. All other calls panic with a message that says so.
//
// Only a goroutine that may use the idle World may call Close. Close panics while a tick or a
// refresh runs, within what those call (systems, functions, hooks), or within a query loop:
// stop the scheduler first. Ports may be in use meanwhile. Closing twice is no error; the
// second call returns at once, even if the first Close is still running.
func (w *World) Close() { (*engine.World)(w).Close() }

// NewView makes a view of some components, relations and names, or, without arguments, of all that
// the world has. The frames of a view have every entity of the world, with its flags, and besides
// that only what the view names; resources are in no frame. The world must be idle. NewView
// allocates little and costs nothing until a frame is captured.
//
// It returns an error, which names the component and the field, if a copy of a component would
// share something with the world: a pointer, slice, map, channel, function or interface. Give such
// a component Component.CloneBy, or leave it out. Strings, a time.Time, the addresses of package
// netip and a unique.Handle are allowed, because nobody writes to what they point to.
func (w *World) NewView(of ...Viewable) (*View, error) {
	x, err := (*engine.World)(w).NewView(of...)
	return (*View)(x), err
}

// Incarnation returns the number of the world's incarnation, from 1. It is saved and restored with
// the world. Only a goroutine that may use the idle World may call it.
func (w *World) Incarnation() uint32 { return (*engine.World)(w).Incarnation() }

// Reincarnate makes the world its n-th incarnation: from now on it gives handles of the n-th
// Options.VersionsEach versions. It is for a world that was restored after a crash. What happened
// between saving the state and the crash is lost, but clients or databases may still have handles
// from that time. If no process has used the number n before, none of these handles is ever given
// again: they are stale, and stay so. So write the number to a file, and sync it, before
// Reincarnate, whatever the snapshot says. Package durable does that, also
// for this call while it keeps the world.
//
// Living entities keep their handles. Slots that were retired are used again. The number must not
// be lower than Incarnation. If Reincarnate returns ErrVersions, ErrClosed, or an error because
// ports are open, or of the disk of a durable.Store, it has changed nothing. It looks at each slot
// that was ever used. The world must be idle.
func (w *World) Reincarnate(n uint32) error { return (*engine.World)(w).Reincarnate(n) }

// Owner returns the shard that holds the entity, and whether the entity is alive. The world must be
// idle.
func (w *World) Owner(h handle.Handle) (shard int, ok bool) { return (*engine.World)(w).Owner(h) }

// Failure returns the panics of the last refresh, joined, or nil if there was none: a *PanicError
// for each function and transaction, by shard, and in each shard in the order of the requests; then
// one for each hook, and one for the recorder of an input log. Each shard keeps the errors of 64
// functions divided by the number of shards, but at least one; if there were more, a last error
// says how many. The world must be idle.
func (w *World) Failure() error { return (*engine.World)(w).Failure() }

// Pin keeps entities that have any of the components in their shard when shards are balanced. Pin a
// component that only these entities have: a bundle pins all entities with any of its components.
// Move can still move them. A load of a snapshot keeps the pins of components that the snapshot
// does not have. For the others what was saved holds, so pin again after the load, as in
// durable.Options.Upgrade.
func (w *World) Pin(components ...ComponentSet) { (*engine.World)(w).Pin(components...) }

// OpenPort opens a port. Safe from any goroutine at any time. It returns ErrPorts if
// Options.PortsMax ports are open already; a closed port counts until the refresh has taken
// what it had sent. It returns ErrClosed once the world is closed, and another error while a log is
// replayed, or for options out of range. PortOptions, one at most, give the port limits of its own.
//
// A port that is dropped without Close is closed when the collector finds it. The handles that
// other ports get then depend on when that happens: close ports where runs must be equal.
func (w *World) OpenPort(options ...PortOptions) (*Port, error) {
	if len(options) > 1 {
		panic(fmt.Sprintf("world: OpenPort with %d PortOptions; put them into one", len(options)))
	}
	var o PortOptions
	if len(options) == 1 {
		o = options[0]
	}
	x, err := (*engine.World)(w).OpenPort(engine.PortOptions(o))
	return (*Port)(x), err
}

// Query selects all entities that match the terms, for use between ticks. It panics if a
// component is named twice, or if a term was asked of another world or of a Build.
func (w *World) Query(terms ...Term) *Query {
	return (*Query)((*engine.World)(w).Query(termsOf(terms)...))
}

// Refresh ends a tick, or settles the idle world: requests are applied, dying entities are
// destroyed and their handles become stale, storage is compact again, and messages become
// readable. Its cost depends on what changed.
//
// It panics while a tick or another refresh runs, also when called by a function, hook or
// extension of that refresh. It panics within a query loop, because it would move the rows that
// the loop walks. It panics with a *BrokenError if an extension panics: the world is broken
// then.
func (w *World) Refresh() { (*engine.World)(w).Refresh() }

// Tick returns the number of refreshes so far. Safe from any goroutine.
func (w *World) Tick() uint64 { return (*engine.World)(w).Tick() }

// Shards returns the number of shards. World.Owner returns the shard that an entity is in; its
// handle does not have it. For an entity that a port creates, Handle.Home is Shards() itself,
// because no shard is its home.
func (w *World) Shards() int { return (*engine.World)(w).Shards() }

// Alive reports whether the entity is alive. A dying one is alive until the
// refresh. Safe from any goroutine at any time: three atomic loads, no waiting,
// no writing.
func (w *World) Alive(h handle.Handle) bool { return (*engine.World)(w).Alive(h) }

// Status returns what a handle stands for. Only an idle world returns Dying. From another
// goroutine, or while a tick runs, use a Port.
func (w *World) Status(h handle.Handle) Status { return Status((*engine.World)(w).Status(h)) }

// Locate returns the entity's location, for the accessors' At, or 0 if the entity is not alive.
// Looking up once serves any number of accessors. The result is good until the refresh. A
// release build does not check that no tick is running.
func (w *World) Locate(h handle.Handle) shard.Loc { return (*engine.World)(w).Locate(h) }

// Has reports whether the entity is alive and has all of the components. The world must be idle.
func (w *World) Has(h handle.Handle, c ComponentSet) bool { return (*engine.World)(w).Has(h, c) }

// Destroy marks the entity: it stays alive until the refresh, which removes it. Destroy reports
// whether this call marked the entity: it returns false for a handle that is not alive and for
// an entity that was marked before, and for one that is away; see package transit. Destroying within a
// query loop is allowed.
func (w *World) Destroy(h handle.Handle) bool { return (*engine.World)(w).Destroy(h) }

// Count returns the number of entities, dying ones included. The world must be idle.
func (w *World) Count() int { return (*engine.World)(w).Count() }

// Clear is a Refresh that destroys every entity. It also gives back the memory of their components,
// including the room that Bundle.Reserve made. Requests of ports are applied first, so every handle
// given until now is stale afterwards. All entities are marked by then, so a transaction under way
// gets ErrStale for each, as for any that its refresh destroys. Entities that hooks create meanwhile
// stay, and so do those that an extension spares.
func (w *World) Clear() { (*engine.World)(w).Clear() }

// New makes a world, which is idle. If options exceed a limit, it returns an error that names each
// of them, and no world.
func New(o Options) (*World, error) {
	w, err := engine.New(engine.Options(o))
	return (*World)(w), err
}

// MustNew is New for options that are known to be good; it panics on an error.
func MustNew(o Options) *World {
	w, err := New(o)
	if err != nil {
		panic(err)
	}
	return w
}

// AllShards is the shard number that stands for a global system.
const AllShards = engine.AllShards

// Refusable is a request that may be refused to ports while a server is late: a *Message, *Func,
// *Question or *Transaction. See scheduler.Refuse.
type Refusable interface{ refusable }
