package world

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
)

// Hook is a function that is called when something has happened to entities.
//
// Ownership: the world's; each part is called by the worker of its shard.
type Hook engine.Hook

// SetEnabled enables or disables the hook. The hook never sees what happens while it is
// disabled. For an idle world.
func (h *Hook) SetEnabled(on bool) { (*engine.Hook)(h).SetEnabled(on) }

// Observe makes a hook under a name that errors use. A hook is a function that each refresh
// calls on each shard where an event has happened since the last refresh. It is called once for
// each event, with the handles of all entities concerned. parts are components and bundles: the
// hook is called for entities that have all of them; without parts, for all entities.
//
//	w.Observe("blood", world.OnDestroy, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
//		pos := world.Read[Position](b)
//		return func(c *world.Context, _ world.Event, dead []handle.Handle) {
//			for _, h := range dead {
//				fmt.Println("at", *pos.Get(h))
//			}
//		}
//	}, health)
//
// It is built like a system, once for each shard, and acts through a Context as a system does. It
// reads and writes the entities of its shard, and creates in its shard, at once. Everything else is
// a request, even to destroy an entity of its own shard. The next refresh applies these requests
// and calls hooks for what they changed. A hook must not ask to read foreign shards, nor for an
// accumulator: to add something up, let it send the values to a system, by Message.SendShard.
//
// Hooks are called when all requests were applied and it is known which entities die. At that time
// no entity has been removed yet, or has moved to another shard. But the dying have already left
// relations, and lost their names: keep in a component what a hook must know of them. Hooks are
// called in the order of the events, and for one event in the order of the hooks. The handles are
// in the order in which the events happened in the shard, each once; those of dying entities are in
// the order of their rows, one set of components after the other. None of this depends on the
// number of workers.
//
// What counts is how entities differ from the last refresh. An entity that was created is
// reported as created, with the components that it has by now, and not as changed. An entity
// that gained and then lost a component is not reported, nor is one that lost it and got it again,
// whatever its value is now. A transaction is one change, and counts by what it leaves: a component
// that it sets and then removes was not replaced, and one that it removes and adds again was. It
// changes entities in the order in which it first wrote each. An entity that one refresh creates
// and then destroys by a request was never alive, and no hook is called for it. One that a
// transaction creates and destroys was alive to it: hooks are called for both events. An entity may
// also die as a consequence in the refresh that creates it, by the last release of its owner or with
// its parent; it was alive, and hooks are called for both events. A move is no event.
//
// A hook that panics is contained: the refresh is completed, the hook's calls on other shards
// and the other hooks still run, and the error is in World.Failure. See SetEnabled for what to
// do with such a hook.
//
// Make hooks on an idle world. They may miss requests and marks from before. A hook costs about a
// nanosecond for each entity that a batch creates or changes, and some nanoseconds for each that
// changes by itself. What a hook is not told of costs a batch nothing; an entity that is created by
// itself is noted, in some nanoseconds, as long as there is a hook for other events than OnDestroy.
func (w *World) Observe(name string, on Event, build func(b *Build) func(c *Context, on Event, hs []handle.Handle), parts ...ComponentSet) *Hook {
	var of func(b *engine.Build) func(*engine.Context, engine.Event, []handle.Handle)
	if build != nil {
		of = func(b *engine.Build) func(*engine.Context, engine.Event, []handle.Handle) {
			run := build((*Build)(b))
			if run == nil {
				return nil
			}
			return func(c *engine.Context, on engine.Event, hs []handle.Handle) { run((*Context)(c), Event(on), hs) }
		}
	}
	return (*Hook)((*engine.World)(w).Observe(name, engine.Event(on), of, parts...))
}
