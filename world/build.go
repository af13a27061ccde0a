package world

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/atoll-sim/atoll/internal/slots"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/store"
)

// Build is the argument of a system's constructor, once per shard. Asking it for an accessor
// declares the access.
//
//	func Move(b *world.Build) func(*world.Context) {
//		pos, vel := world.Write[Position](b), world.Read[Velocity](b)
//		moving := b.Query(pos, vel)
//		return func(c *world.Context) {
//			for ch := range moving.Chunks() {
//				p, v := pos.Slice(ch), vel.Slice(ch)
//				for i := range p {
//					p[i].X += v[i].X * c.Delta()
//				}
//			}
//		}
//	}
//
// Its accessors and queries are bound to that shard: they see only the shard's entities, and only
// the system that it was built for may use them. The constructor of a global system runs once, and
// its accessors see the entities of all shards.
type Build struct {
	w      *World
	shard  *store.Shard // nil for a global system
	system string
	access *drive.Access
	user   *check.User // nil but in the check build
	closed bool
	hook   bool // it is for a hook
}

// newBuild starts the construction of a system for one shard, or, with AllShards as the shard,
// of a global system.
func newBuild(w *World, shardID int, system string) *Build {
	w.mustIdle("building a system")
	b := &Build{w: w, system: system, access: &drive.Access{Delta: w.options.TickInterval.Seconds()}}
	owner, name := len(w.shards), fmt.Sprintf("global system %q", system)
	if shardID != AllShards {
		b.shard = w.shards[shardID]
		owner, name = shardID, fmt.Sprintf("system %q on shard %d", system, shardID)
	}
	if check.Enabled {
		b.user = w.contexts[owner].turn.User(system, name,
			"what a Build returned is for the system it was asked in, on its shard, while it runs")
	}
	return b
}

// AllShards is the shard number that stands for a global system.
const AllShards = -1

// finish ends the construction and returns what was declared.
func (b *Build) finish() *drive.Access {
	b.closed = true
	if a := b.access; b.shard == nil && (a.Reads.Len() > 0 || a.Writes.Len() > 0) {
		a.Exclusive = true
	}
	return b.access
}

// Shard returns the shard the system is being built for, or AllShards for a
// global one.
func (b *Build) Shard() int {
	if b.shard == nil {
		return AllShards
	}
	return b.shard.ID()
}

// Shards returns the number of shards of the world.
func (b *Build) Shards() int { return len(b.w.shards) }

// Creates declares that the system creates from the bundles. Creating counts as
// writing their components.
func (b *Build) Creates(bundles ...ComponentSet) {
	b.mustOpen("Build.Creates")
	for i, x := range bundles { // a nil Prefab has no message of its own for this
		if v := reflect.ValueOf(x); v.Kind() == reflect.Pointer && v.IsNil() {
			panic(fmt.Sprintf("world: Build.Creates: part %d is a nil %T; pass what world.NewBundle, prefab.New or prefab.Load returned", i, x))
		}
	}
	b.access.Writes = b.access.Writes.Union(b.w.setOf("Build.Creates", bundles))
}

// Query selects the shard's entities that match the terms, or for a global system those of all
// shards; see Term.
func (b *Build) Query(terms ...Term) *Query {
	b.mustOpen("Build.Query")
	if b.shard == nil {
		b.access.Exclusive = true
		return newQuery(b.bind("Build.Query"), b.w.shards, terms)
	}
	return newQuery(b.bind("Build.Query"), b.w.shards[b.shard.ID():b.shard.ID()+1], terms)
}

func (b *Build) mustOpen(call string) {
	if b == nil {
		panic(fmt.Sprintf("world: %s of a nil Build; use the one that a system's constructor is given", call))
	}
	if b.closed {
		panic(fmt.Sprintf("world: system %q calls %s after its constructor returned; ask for all access within it", b.system, call))
	}
}

// mustHaveShard panics about a call in the constructor of a global system.
func (b *Build) mustHaveShard(call, why string) {
	if b.shard == nil {
		panic(fmt.Sprintf("world: global system %q calls %s; %s, so ask for it in a system that is not global", b.system, call, why))
	}
}

// reach declares that a component is read in some other shards. It returns these shards and the own
// one.
func (b *Build) reach(component int, shards []int) []bool {
	b.mustHaveShard("world.ReadForeign", "it has no neighbours")
	reach := make([]bool, len(b.w.shards))
	for _, s := range shards {
		if s < 0 || s >= len(reach) {
			panic(fmt.Sprintf("world: system %q reads %q in shard %d, want 0 to %d", b.system, b.w.components[component].name, s, len(reach)-1))
		}
		reach[s] = true
	}
	b.access.Neighbour.Add(component)
	b.access.Neighbours = neighbours(b.access.Neighbours, reach, b.shard.ID())
	reach[b.shard.ID()] = true
	return reach
}

// neighbours adds the shards within reach, except the own one, to a list of shards.
func neighbours(list []int, reach []bool, own int) []int {
	for s, reached := range reach {
		if reached && s != own {
			list = append(list, s)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// binding says what an accessor or filter is bound to.
type binding struct {
	w      *World
	owner  int // the shard, or the number of shards: all of them
	idle   bool
	lookup *slots.Lookup
	access *drive.Access
	call   string      // what was called, and in which system
	user   *check.User // nil but in the check build
	frame  *Frame      // nil unless it is for a Frame
}

// guard returns a check.Guard for the accessor or filter.
func (b *binding) guard(what string) (g check.Guard) {
	if check.Enabled && b.frame == nil {
		g = check.NewGuard(b.user, what)
	}
	return g
}

// Binder makes accessors and filters: a *Build within a system's constructor, a *World for use
// between ticks, a *Frame for reading at any time.
type Binder interface{ bind(call string) binding }

func (b *Build) bind(call string) binding {
	b.mustOpen(call)
	owner := len(b.w.shards)
	if b.shard != nil {
		owner = b.shard.ID()
	}
	return binding{w: b.w, owner: owner, lookup: &b.w.contexts[owner].lookup, access: b.access,
		call: fmt.Sprintf("system %q, %s", b.system, call), user: b.user}
}

func (w *World) bind(call string) binding {
	mustBe(w, call)
	w.mustIdle(call)
	return binding{w: w, owner: len(w.shards), idle: true, lookup: &w.lookup, access: &drive.Access{}, call: call, user: w.user}
}

// bind is a.bind; it panics if a is nil.
func bind(a Binder, call string) binding {
	if a == nil {
		panic(fmt.Sprintf("world: %s is asked of nil; ask a *Build in a system's constructor, or a *World between ticks", call))
	}
	return a.bind(call)
}

func (b *Bundle[T]) components(w *World) store.Set {
	if b == nil {
		panic(fmt.Sprintf("world: a bundle is a nil %T; pass what world.NewBundle returned", b))
	}
	return b.core.components(w)
}

func (b *Bundle[T]) in(w *World, set *store.Set) bool {
	of := b.components(w)
	return set.Contains(&of)
}

func (b *bundle) components(w *World) store.Set {
	if b.w != w {
		panic(fmt.Sprintf("world: bundle %s belongs to another world; use the one that was made for this world", b.name))
	}
	return b.set
}
