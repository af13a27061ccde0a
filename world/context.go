package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
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
type Context struct {
	w      *World
	shard  *store.Shard // nil for global systems
	lookup slots.Lookup
	home   uint32 // the shard, or for global systems no home
	ports  uint32 // the home of ports; those below are shards
	out    sender
	acting drive.Acting
	random random

	self        EntityContext // of the function that runs
	failures    []*PanicError // of functions, in the last refresh
	omitted     int           // how many more there were
	failedHooks []*PanicError // of hooks, in the last refresh

	// For the check build.
	turn     check.Turn
	read     []digest
	occupant store.Occupant
}

// newContext makes the Context of a shard. If owner is the number of shards, and s is nil, it makes
// the Context of the global systems.
func newContext(w *World, owner int, s *store.Shard) *Context {
	c := &Context{
		w: w, shard: s, lookup: w.space.Lookup, home: uint32(owner), ports: uint32(len(w.shards)),
		out: sender{w: w, maxRequests: w.options.OutboxRequests, maxBytes: w.options.OutboxBytes},
	}
	c.random.init()
	if s == nil {
		c.acting.Reveal = func() { w.space.Reveal(w.shards) }
	}
	c.acting.Enter, c.acting.Leave, c.acting.Unwritten = c.enter, c.leave, c.mustBeUnwritten
	return c
}

func (c *Context) world() *World {
	if c == nil {
		return nil
	}
	return c.w
}

// Tick returns the number of the tick, from 0.
func (c *Context) Tick() uint64 { return c.w.engine.Tick.Load() }

// Delta returns the simulated time from one run of the system to the next, in seconds: the time
// of one tick, or of several for a system that does not run in every tick.
func (c *Context) Delta() float64 { return c.acting.Delta }

// Shard returns the number of the shard the system runs on, or AllShards for a
// global one.
func (c *Context) Shard() int {
	if c.shard == nil {
		return AllShards
	}
	return c.shard.ID()
}

// Shards returns the number of shards of the world.
func (c *Context) Shards() int { return len(c.w.shards) }

// System returns the name of the running system.
func (c *Context) System() string { return c.acting.System }

// Count returns the number of entities in the shard, marked ones included. For a global system
// that asked for something in the shards, it returns the number in the world.
func (c *Context) Count() int {
	c.mustRun("Context.Count")
	if c.shard != nil {
		return c.shard.Alive()
	}
	if !c.acting.Access.Exclusive {
		panic(fmt.Sprintf("world: %s calls Context.Count without having asked for anything in the shards, which may be running; call b.Query in its constructor", c.who()))
	}
	n := 0
	for _, s := range c.w.shards {
		n += s.Alive()
	}
	return n
}

// Alive reports whether the entity is alive, in whichever shard. A marked one is alive until the
// refresh. What another shard creates in this tick is not alive here before the next tick, unless a
// global system that has all shards to itself runs in between: until then no call of a Context shows
// that its handle was given. The refresh hides from a hook in the same way what hooks create on
// other shards.
func (c *Context) Alive(h handle.Handle) bool {
	return func() bool { // inlined, as Writer.Get is
		return c.lookup.Alive(h) && (!c.isElsewhere(h) || c.locate(h) != 0)
	}()
}

// Status returns what a handle stands for. It returns Dying only for entities of the own shard;
// a marked entity elsewhere is Alive. What ports were given since the last refresh is Forged, and
// what they may be given of the slots that they had before is Pending.
func (c *Context) Status(h handle.Handle) Status {
	c.mustRun("Context.Status")
	if l := c.lookup.Locate(h); l != 0 && c.owns(l) && c.w.space.Marked(l) {
		return Dying
	}
	return c.status(h)
}

// Owns reports whether the entity is in the shard the system runs on.
func (c *Context) Owns(h handle.Handle) bool {
	c.mustRun("Context.Owns")
	l := c.w.space.Locate(h)
	return l != 0 && c.owns(l)
}

// Locate returns the entity's location, for the accessors' At, or 0 if the entity is not alive.
// This shard's accessors do not find an entity of another shard. A release build does not check
// that the system is running.
func (c *Context) Locate(h handle.Handle) shard.Loc {
	return func() slots.Loc { // inlined, as Writer.Get is
		if check.Enabled {
			c.mustRun("Context.Locate")
		}
		l := c.lookup.Locate(h)
		if c.isElsewhere(h) {
			l = c.seen(l)
		}
		return l
	}()
}

// Has reports whether the entity is in the shard and has all of the components.
func (c *Context) Has(h handle.Handle, x ComponentSet) bool {
	c.mustRun("Context.Has")
	l := c.w.space.Locate(h)
	if l != 0 && !c.owns(l) {
		l = 0
	}
	return c.w.has("Context.Has", l, x)
}

// Destroy marks an entity of the shard, or requests that an entity of another shard be
// destroyed: either way the entity is removed at the refresh. Destroying twice is no error. It
// returns ErrStale for a handle that is not alive, and ErrFull if the request was not accepted.
func (c *Context) Destroy(h handle.Handle) error {
	c.mustRun("Context.Destroy")
	l := c.locate(h)
	switch {
	case l == 0:
		return ErrStale
	case c.owns(l) && !c.acting.Hook:
		c.w.space.Mark(l)
		return nil
	}
	return c.out.sendBare(queue.Destroying(), h)
}

func (c *Context) owns(l slots.Loc) bool {
	if c.shard == nil {
		return c.acting.Access != nil && c.acting.Access.Exclusive
	}
	return c.shard.Owns(l)
}

// enter is the rest of acting.Start, in the check build: it is called before a system or a hook
// runs, by the goroutine that runs it.
func (c *Context) enter() {
	if check.Enabled {
		c.occupant = store.Occupant{What: "system", Name: c.acting.System}
		for _, s := range c.used() {
			s.Enter(&c.occupant)
		}
		c.turn.Begin(c.acting.System)
		c.digest(c.acting.Access.Reads.Minus(c.acting.Access.Writes))
	}
}

// leave is the rest of acting.Stop, and undoes enter.
func (c *Context) leave() {
	if check.Enabled {
		for _, s := range c.used() {
			s.Leave()
		}
		c.turn.End()
	}
}

// used returns the shards that the system has to itself.
func (c *Context) used() []*store.Shard {
	switch {
	case c.shard != nil:
		return c.w.shards[c.Shard() : c.Shard()+1]
	case c.acting.Access != nil && c.acting.Access.Exclusive:
		return c.w.shards
	}
	return nil
}

// who returns the system's name for messages.
func (c *Context) who() string {
	if c.shard == nil {
		return fmt.Sprintf("global system %q", c.acting.System)
	}
	return fmt.Sprintf("system %q on shard %d", c.acting.System, c.Shard())
}

// mustRun panics when no system is running. It is small enough to be inlined.
func (c *Context) mustRun(call string) {
	if c.acting.Access == nil {
		c.panicLate(call)
	}
}

//go:noinline
func (c *Context) panicLate(call string) {
	panic(fmt.Sprintf("world: %s on shard %d after system %q returned; a Context is for the running system alone", call, c.Shard(), c.acting.System))
}

func (c *Context) mustWrite(component int, call string) {
	c.mustRun(call)
	if !c.acting.Access.Writes.Has(component) {
		name, typ := c.w.components[component].name, c.w.components[component].typ
		panic(fmt.Sprintf("world: %s calls %s of component %q without having asked for it; call world.Write[%v](b) in its constructor",
			c.who(), call, name, typ))
	}
}

func (c *Context) mustCreate(call string, w *World, set *store.Set, what, name string) {
	if w != c.world() {
		w.panicForeign(c, call, what, name)
	}
	c.mustRun(call)
	if !c.acting.Access.Writes.Contains(set) {
		panic(fmt.Sprintf("world: %s creates from %s %s without having asked for it; call b.Creates in its constructor",
			c.who(), what, name))
	}
}
