package engine

import (
	"fmt"
	"math/rand/v2"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/shard"
)

// Context is what a system acts through: on its own shard at once, on the rest of the world by
// request.
//
// Ownership: the goroutine that runs the system, hook or function, while it runs.
type Context struct {
	contextSelf
	w      *World
	shard  *store.Shard // nil for global systems
	lookup slots.Lookup
	home   uint32 // the first of the shard; for global systems the home of ports
	ports  uint32 // the home of ports
	out    sender
	acting extend.Acting
	random random

	entity      EntityContext // of the function that runs
	failures    []*Panic      // of functions, in the last refresh
	omitted     int           // how many more there were
	failedHooks []*Panic      // of hooks, in the last refresh

	// For the check build.
	turn     check.Turn
	read     []digest
	occupant store.Occupant
}

// newContext makes the Context of a shard, once for the world's life. If owner is the number of
// shards, and s is nil, it makes the Context of the global systems.
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

// world implements Self; a nil Context has none.
func (c *Context) world() *World {
	if c == nil {
		return nil
	}
	return c.w
}

// Tick returns the number of the tick, from 0.
func (c *Context) Tick() uint64 { return c.w.engine.Tick.Load() }

// Delta returns the simulated time from one run of the system to the next, in seconds.
func (c *Context) Delta() float64 { return c.acting.Delta }

// Shard returns the number of the shard the system runs on, or AllShards for a global one.
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

// Count returns the number of entities in the shard, dying ones included; for a global system,
// which must have all shards to itself, in the world.
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

// Alive reports whether the entity is alive, in whichever shard. What another shard has created in
// this tick is hidden.
func (c *Context) Alive(h handle.Handle) bool {
	return func() bool { // inlined, as Writer.Get is
		return c.lookup.Alive(h) && (!c.isElsewhere(h) || c.locate(h) != 0)
	}()
}

// Status returns what a handle stands for; Dying only for entities of the own shard.
func (c *Context) Status(h handle.Handle) Status {
	c.mustRun("Context.Status")
	if l := c.lookup.Locate(h); l != 0 && c.owns(l) && c.w.space.Marked(l) {
		return Dying
	}
	return c.status(h)
}

// Owns reports whether the entity is in the shard the system runs on, or in any if it has all. It
// panics when no system runs.
func (c *Context) Owns(h handle.Handle) bool {
	c.mustRun("Context.Owns")
	l := c.w.space.Locate(h)
	return l != 0 && c.owns(l)
}

// Locate returns the entity's location, for the accessors' At, or 0 if the entity is not alive.
func (c *Context) Locate(h handle.Handle) shard.Loc {
	return func() shard.Loc { // inlined, as Writer.Get is
		if check.Enabled {
			c.mustRun("Context.Locate")
		}
		l := c.lookup.Locate(h)
		if c.isElsewhere(h) {
			l = c.seen(l)
		}
		return shard.Loc(l)
	}()
}

// Has reports whether the entity is in the shard and has all of the components. It panics when no
// system runs.
func (c *Context) Has(h handle.Handle, x ComponentSet) bool {
	c.mustRun("Context.Has")
	l := c.w.space.Locate(h)
	if l != 0 && !c.owns(l) {
		l = 0
	}
	return c.w.has("Context.Has", l, x)
}

// Destroy marks an entity of the shard, or requests that an entity of another shard be destroyed:
// either way the refresh removes the entity. A hook always requests it. After an error nothing has
// changed.
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

// owns reports whether the row at l is of a shard that the running system has: its own or, for a
// global one that is Exclusive, any.
func (c *Context) owns(l slots.Loc) bool {
	if c.shard == nil {
		return c.acting.Access != nil && c.acting.Access.Exclusive
	}
	return c.shard.Owns(l)
}

// enter is the rest of acting.Start, in the check build: the goroutine that runs a system or a hook
// calls it before that runs. It takes the shards, which leave gives back.
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

// leave is the rest of acting.Stop, and undoes enter, also after a panic. Check build only.
func (c *Context) leave() {
	if check.Enabled {
		for _, s := range c.used() {
			s.Leave()
		}
		c.turn.End()
	}
}

// used returns the shards that the system has to itself, for enter and leave.
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

// panicLate is the panic of mustRun, in a function of its own so that mustRun inlines.
//
//go:noinline
func (c *Context) panicLate(call string) {
	panic(fmt.Sprintf("world: %s on shard %d after system %q returned; a Context is for the running system alone", call, c.Shard(), c.acting.System))
}

// mustWrite panics unless the system runs and has asked to write the component.
func (c *Context) mustWrite(component int, call string) {
	c.mustRun(call)
	if !c.acting.Access.Writes.Has(component) {
		name, typ := c.w.components[component].name, c.w.components[component].typ
		panic(fmt.Sprintf("world: %s calls %s of component %q without having asked for it; call world.Write[%v](b) in its constructor",
			c.who(), call, name, typ))
	}
}

// mustCreate panics unless the system runs, in w, and has declared that it creates what has the
// components of set; what and name are of that, for messages.
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

// What another shard creates while this one runs is hidden from it: whether it is there yet depends
// on time, and a client may guess its handle. Only a handle of another home from which a shard has
// drawn since can be of such an entity, so all other look-ups cost a comparison or two more; see
// store.Space.Reveal.

// isElsewhere reports whether an entity with h may be hidden from this shard.
func (c *Context) isElsewhere(h handle.Handle) bool {
	return h.Home() != c.home && c.lookup.Drawn(h)
}

// isForeign reports whether the home of h belongs to another shard.
func (c *Context) isForeign(h handle.Handle) bool {
	return h.Home() != c.home && h.Home() != c.ports && c.w.space.IsOfOther(h, int(c.home))
}

// seen returns the location of an entity that may be hidden, or 0 if it is: created by another shard
// since shards last saw each other's creates.
//
//go:noinline
func (c *Context) seen(l slots.Loc) slots.Loc {
	if l == 0 || c.acting.Access != nil && c.acting.Access.Exclusive || !c.w.space.Hidden(l) {
		return l
	}
	if c.shard != nil && c.shard.Owns(l) { // the home was another shard's in a world that was loaded
		return l
	}
	return 0
}

// locate is Locate, for calls that check themselves whether the system runs.
func (c *Context) locate(h handle.Handle) slots.Loc {
	l := c.lookup.Locate(h)
	if c.isElsewhere(h) {
		l = c.seen(l)
	}
	return l
}

// status returns the Status of a handle but Dying.
func (c *Context) status(h handle.Handle) Status {
	if c.locate(h) != 0 {
		return Alive
	}
	if s := statusInTick(c.w, h); s != Alive {
		return s
	}
	return Unused // it is hidden: before it was created, its handle was the next
}

// digest is the hash of a component's rows in a shard.
type digest struct {
	component int
	sum       uint64
}

// digest hashes the components that a system must not write, before the system runs, for
// mustBeUnwritten. Check build only.
func (c *Context) digest(components store.Set) {
	c.read = c.read[:0]
	for id := range components.All {
		c.read = append(c.read, digest{id, c.sum(id)})
	}
}

// sum hashes a component's rows in the shard, or for a global system in all shards. Check build
// only.
func (c *Context) sum(component int) uint64 {
	if c.shard != nil {
		return c.shard.Digest(component)
	}
	sum := uint64(0)
	for _, s := range c.w.shards {
		sum = mix(sum ^ s.Digest(component))
	}
	return sum
}

// mustBeUnwritten panics, when the system has returned, if one of the components that digest hashed
// has changed: only the system can have done that. Check build only.
func (c *Context) mustBeUnwritten() {
	for _, d := range c.read {
		if c.sum(d.component) != d.sum {
			info := c.w.components[d.component]
			panic(fmt.Sprintf("world: %s wrote component %q, which it asked to read; ask with world.Write[%v](b) in its constructor",
				c.who(), info.name, info.typ))
		}
	}
}

// digest hashes all components when the idle world is left, for mustBeAsLeft. Check build only.
func (w *World) digest() {
	w.lefts = w.lefts[:0]
	for id := range w.components {
		w.lefts = append(w.lefts, w.sum(id))
	}
}

// mustBeAsLeft panics, before the next tick or refresh, if a component has changed while nothing
// was handed out for writing. It does not look at what pointers in the component point to. Check
// build only.
func (w *World) mustBeAsLeft() {
	for id, sum := range w.lefts {
		if w.sum(id) != sum {
			info := w.components[id]
			w.digest() // it is told once
			panic(fmt.Sprintf("world: the idle world's component %q was written through what is for reading, or was handed out for writing before the last tick or function of Scheduler.Between, so no log has it; ask world.Write[%v](w) again where you write",
				info.name, info.typ))
		}
	}
}

// sum hashes a component's rows in all shards of the idle world. Check build only.
func (w *World) sum(component int) uint64 { return w.contexts[len(w.shards)].sum(component) }

// random is a system's random numbers on one shard in one tick.
//
// Ownership: as for the Context.
type random struct {
	source rand.PCG
	rand   *rand.Rand
}

// init makes the source, which Context.Rand seeds anew for each system and tick.
func (r *random) init() { r.rand = rand.New(&r.source) }

// Rand returns the random numbers of the running system or hook on this shard in this tick. It
// seeds them on the first call, with the world's seed, the name, the tick and the shard.
func (c *Context) Rand() *rand.Rand {
	c.mustRun("Context.Rand")
	if s := &c.random; !c.acting.Seeded {
		c.acting.Seeded = true
		seed := named(c.w.options.Seed, c.acting.System)
		seed = mix(mix(seed) + c.Tick())
		seed = mix(seed + uint64(c.Shard()+1))
		s.source.Seed(seed, mix(seed))
	}
	return c.random.rand
}

// named makes a seed for what has a name.
func named(seed uint64, name string) uint64 {
	seed = mix(seed)
	for i := 0; i < len(name); i++ { // FNV-1a over the name
		seed = (seed ^ uint64(name[i])) * 1099511628211
	}
	return seed
}

// mix is a bijection in which each bit of x changes about half of the others: the next value of
// SplitMix64 (Steele, Lea and Flood, 2014). It is for seeds, and for sums of the check build.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
