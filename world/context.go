package world

import (
	"math/rand/v2"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/shard"
)

// Context is what a system acts through: on its own shard at once, on the rest of the world by
// request. A global system has no shard. Its Context acts on every shard at once if the system
// asked for something in the shards. If the system asked only for resources and foreign reads,
// everything it does is by request.
//
// Each request of a Context is accepted or refused on its own: there is no batch that is done as a
// whole or not at all. If the first request was accepted, the second may still be refused. When a
// request is refused with ErrFull, keep in the components what it was about, and send it again in
// the next tick. For example, take the gold out of the account only when the request that gives it
// to another entity was accepted.
//
// Ownership: the goroutine that runs the system or hook, while it runs.
type Context engine.Context

// Tick returns the number of the tick, from 0.
func (c *Context) Tick() uint64 { return (*engine.Context)(c).Tick() }

// Delta returns the simulated time from one run of the system to the next, in seconds: the time
// of one tick, or of several for a system that does not run in every tick.
func (c *Context) Delta() float64 { return (*engine.Context)(c).Delta() }

// Shard returns the number of the shard the system runs on, or AllShards for a
// global one.
func (c *Context) Shard() int { return (*engine.Context)(c).Shard() }

// Shards returns the number of shards of the world.
func (c *Context) Shards() int { return (*engine.Context)(c).Shards() }

// System returns the name of the running system.
func (c *Context) System() string { return (*engine.Context)(c).System() }

// Count returns the number of entities in the shard, dying ones included. For a global system
// that asked for something in the shards, it returns the number in the world.
func (c *Context) Count() int { return (*engine.Context)(c).Count() }

// Alive reports whether the entity is alive, in whichever shard. A dying one is alive until the
// refresh. What another shard creates in this tick is not alive here before the next tick, unless a
// global system that has all shards to itself runs in between: until then no call of a Context
// shows that its handle was given. The refresh hides from a hook in the same way what hooks create
// on other shards.
func (c *Context) Alive(h handle.Handle) bool { return (*engine.Context)(c).Alive(h) }

// Status returns what a handle stands for. It returns Dying only for entities of the own shard;
// a dying entity elsewhere is Alive. What ports were given since the last refresh is Forged, and
// what they may be given of the slots that they had before is Pending.
func (c *Context) Status(h handle.Handle) Status { return Status((*engine.Context)(c).Status(h)) }

// Owns reports whether the entity is in the shard the system runs on; for a global system that has
// all shards, whether it is alive.
func (c *Context) Owns(h handle.Handle) bool { return (*engine.Context)(c).Owns(h) }

// Locate returns the entity's location, for the accessors' At, or 0 if the entity is not alive.
// This shard's accessors do not find an entity of another shard. A release build does not check
// that the system is running.
func (c *Context) Locate(h handle.Handle) shard.Loc { return (*engine.Context)(c).Locate(h) }

// Has reports whether the entity is in the shard and has all of the components.
func (c *Context) Has(h handle.Handle, x ComponentSet) bool { return (*engine.Context)(c).Has(h, x) }

// Destroy marks an entity of the shard, or requests that an entity of another shard be
// destroyed: either way the entity is removed at the refresh. Destroying twice is no error. It
// returns ErrStale for a handle that is not alive, and ErrFull if the request was not accepted.
func (c *Context) Destroy(h handle.Handle) error { return (*engine.Context)(c).Destroy(h) }

// Owner is World.Owner. The answer is good until the refresh.
func (c *Context) Owner(h handle.Handle) (shard int, ok bool) { return (*engine.Context)(c).Owner(h) }

// Rand returns the random numbers of the running system or hook on this shard in this tick. They
// are a stream of their own, made from the world's Seed, the tick, the system's name and the shard.
// So they are the same on any number of workers, and other systems do not affect them. A hook that
// is called for two events in a tick gets the same numbers twice. The first call in a run costs
// some tens of nanoseconds; Rand allocates nothing.
func (c *Context) Rand() *rand.Rand { return (*engine.Context)(c).Rand() }
