package engine

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Build is the argument of a system's constructor, once per shard.
//
// Ownership: the goroutine that constructs the system, until Finish.
type Build struct {
	buildSelf
	w      *World
	shard  *store.Shard // nil for a global system
	system string
	access *extend.Access
	user   *check.User // nil but in the check build
	closed bool
	hook   bool // it is for a hook
}

// NewBuild starts the construction of a system or hook for one shard or, with AllShards as the
// shard, of a global system. Build.Finish ends it. The scheduler and Hook.construct call it, on the
// idle world.
func (w *World) NewBuild(shard int, system string) *Build {
	w.mustIdle("building a system")
	b := &Build{w: w, system: system, access: &extend.Access{Delta: w.options.TickInterval.Seconds()}}
	owner, name := len(w.shards), fmt.Sprintf("global system %q", system)
	if shard != AllShards {
		b.shard = w.shards[shard]
		owner, name = shard, fmt.Sprintf("system %q on shard %d", system, shard)
	}
	if check.Enabled {
		b.user = w.contexts[owner].turn.User(system, name,
			"what a Build returned is for the system it was asked in, on its shard, while it runs")
	}
	return b
}

// AllShards is the shard number that stands for a global system.
const AllShards = -1

// Finish ends the construction, whose calls panic from now on, and returns what was declared.
func (b *Build) Finish() *extend.Access {
	b.closed = true
	if a := b.access; b.shard == nil && (a.Reads.Len() > 0 || a.Writes.Len() > 0) {
		a.Exclusive = true
	}
	return b.access
}

// Shard returns the shard the system is being built for, or AllShards for a global one.
func (b *Build) Shard() int {
	if b.shard == nil {
		return AllShards
	}
	return b.shard.ID()
}

// Shards returns the number of shards of the world.
func (b *Build) Shards() int { return len(b.w.shards) }

// Creates declares that the system creates from the bundles, and so writes their components.
func (b *Build) Creates(bundles ...ComponentSet) {
	b.mustOpen("Build.Creates")
	b.access.Writes = b.access.Writes.Union(b.w.SetOf("Build.Creates", bundles))
}

// Query selects the entities of the shard, or for a global system of all shards, that match the
// terms; see Term. A global system with a query has all shards to itself.
func (b *Build) Query(terms ...Term) *Query {
	b.mustOpen("Build.Query")
	if b.shard == nil {
		b.access.Exclusive = true
		return newQuery(b.binding("Build.Query"), b.w.shards, terms)
	}
	return newQuery(b.binding("Build.Query"), b.w.shards[b.shard.ID():b.shard.ID()+1], terms)
}

// mustOpen panics if the constructor has returned.
func (b *Build) mustOpen(call string) {
	if b == nil {
		panic(fmt.Sprintf("world: %s of a nil Build; use the one that a system's constructor is given", call))
	}
	if b.closed {
		panic(fmt.Sprintf("world: system %q calls %s after its constructor returned; ask for all access within it", b.system, call))
	}
}

// mustHaveShard panics in the constructor of a global system, about a call that is not for one.
func (b *Build) mustHaveShard(call, why string) {
	if b.shard == nil {
		panic(fmt.Sprintf("world: global system %q calls %s; %s, so ask for it in a system that is not global", b.system, call, why))
	}
}

// reach declares that a component is read in some other shards. It returns, by shard, these and the
// own one. It panics if there is no such shard.
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

// neighbours adds the shards within reach, except the own one, to a list of shards, for
// Build.reach. It returns the list in order, with each shard once.
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
	access *extend.Access
	call   string      // what was called, and in which system
	user   *check.User // nil but in the check build
	frame  *Frame      // nil unless it is for a Frame
}

// guard returns a check.Guard for the accessor or filter; in a release build, and for a Frame, one
// that checks nothing.
func (b *binding) guard(what string) (g check.Guard) {
	if check.Enabled && b.frame == nil {
		g = check.NewGuard(b.user, what)
	}
	return g
}

// Binder makes accessors and filters: a *Build within a system's constructor, a *World for use
// between ticks, a *Frame for reading at any time.
type Binder interface{ bind(call string) binding }

// binding binds what a constructor asks for to the Build's shard, or to all shards. It panics after
// the constructor has returned.
func (b *Build) binding(call string) binding {
	b.mustOpen(call)
	owner := len(b.w.shards)
	if b.shard != nil {
		owner = b.shard.ID()
	}
	return binding{w: b.w, owner: owner, lookup: &b.w.contexts[owner].lookup, access: b.access,
		call: fmt.Sprintf("system %q, %s", b.system, call), user: b.user}
}

// binding binds an accessor or filter to all shards of the idle world. It panics at another time.
func (w *World) binding(call string) binding {
	mustBe(w, call)
	w.mustIdle(call)
	return binding{w: w, owner: len(w.shards), idle: true, lookup: &w.lookup, access: &extend.Access{}, call: call, user: w.user}
}

// bind returns what a Binder binds accessors and filters to; it panics if a is nil, or at a time
// when it must not be asked.
func bind(a Binder, call string) binding {
	if isNil(a) {
		panic(fmt.Sprintf("world: %s is asked of nil; ask a *Build in a system's constructor, or a *World between ticks", call))
	}
	return a.bind(call)
}

// Asking is an access that is being declared. An idle world returns the same accessor each time: it
// is kept up to date for as long as the world lives.
type Asking struct {
	Accessor Accessor
	Lookup   *slots.Lookup
	View     store.View
	Known    Term // the accessor of the idle world, or nil

	bound binding
	key   accessorKey
}

// accessorKey is what an accessor is for.
type accessorKey struct {
	component int
	write     bool
}

// Ask declares the access to a component, for world.Read and world.Write. The caller makes the
// accessor, unless it is Known, and passes it to Keep. Ask panics if the world has no such
// component, or the frame does not show it.
func Ask(a Binder, call string, write bool, t reflect.Type) Asking {
	b := bind(a, call)
	id := b.w.componentOf(t, b.call)
	if b.frame != nil {
		if write {
			panic(fmt.Sprintf("world: %s of a Frame, which is for reading only; use world.Read", call))
		}
		b.frame.mustHave(id, call)
	}
	if write {
		b.access.Writes.Add(id)
	} else {
		b.access.Reads.Add(id)
	}
	x := Asking{bound: b, key: accessorKey{id, write}}
	if b.idle {
		if x.Known = b.w.accessors[x.key]; x.Known != nil {
			return x
		}
	}
	x.Accessor, x.Lookup, x.View = Accessor{id, b.lookup, t}, b.lookup, b.w.space.Columns[id].View(b.owner)
	return x
}

// Keep completes an accessor, which has the view: it gives the view its guard, and keeps the
// accessor of an idle world as Known.
func (a *Asking) Keep(accessor Term, v *store.View) {
	b := &a.bound
	if check.Enabled && b.frame == nil {
		v.Guard(b.guard(fmt.Sprintf("the accessor of component %q", b.w.components[a.key.component].name)))
	}
	if b.idle {
		b.w.accessors[a.key] = accessor
	}
}

// Foreign reads one component of any shard's entities; see world.ForeignReader.
//
// Ownership: the system and shard it was built for.
type Foreign struct {
	space  *store.Space
	column *store.Column
	guard  check.Guard
	reach  []bool // by shard; nil for all
}

// AskForeign declares that a component is read in some other shards, or in all, and returns what
// reads it. It panics if there is no such component or shard.
func (b *Build) AskForeign(t reflect.Type, shards []int) Foreign {
	bound := b.binding("world.ReadForeign")
	id := b.w.componentOf(t, bound.call)
	f := Foreign{
		space: b.w.space, column: b.w.space.Columns[id],
		guard: bound.guard(fmt.Sprintf("the foreign reader of component %q", b.w.components[id].name)),
	}
	if len(shards) == 0 {
		bound.access.Foreign.Add(id)
	} else {
		f.reach = b.reach(id, shards)
	}
	return f
}

// At returns the component of an entity. It returns nil if the entity is dead, lacks the component,
// or is in a shard that was not asked for.
func (f *Foreign) At(h handle.Handle) mem.Address {
	if check.Enabled {
		f.guard.Must()
	}
	if l := f.space.Locate(h); l != 0 && (f.reach == nil || f.reach[f.space.Owner(l)]) {
		return f.column.At(l)
	}
	return nil
}

// AskResource declares that a resource is read, and returns it. It panics if the world has none.
func (b *Build) AskResource(t reflect.Type) Resource {
	bound := b.binding("world.ReadResource")
	id, r := b.w.resourceOf(t, bound.call)
	bound.access.ResourceReads.Add(id)
	return r
}

// AskToWrite declares that a resource is read and written, by a global system, and returns it. It
// panics in any other system.
func (b *Build) AskToWrite(t reflect.Type) Resource {
	bound := b.binding("world.WriteResource")
	id, r := b.w.resourceOf(t, bound.call)
	_, parts := r.Cells()
	switch {
	case parts > 0:
		panic(fmt.Sprintf("world: %s: resource %q is an accumulator, which is merged from what the shards add; ask for Accumulate in a system that is not global", bound.call, r.Name()))
	case b.hook:
		panic(fmt.Sprintf("world: %s: resource %q is written by global systems alone; let the hook send a message to a global system", bound.call, r.Name()))
	case b.shard != nil:
		panic(fmt.Sprintf("world: %s: resource %q is written by global systems alone; make the system global, or register an accumulator", bound.call, r.Name()))
	}
	bound.access.ResourceWrites.Add(id)
	return r
}

// AskToAdd declares that the shard adds to an accumulator, and returns it. It panics in a global
// system.
func (b *Build) AskToAdd(t reflect.Type) Resource {
	bound := b.binding("world.Accumulate")
	id, r := b.w.resourceOf(t, bound.call)
	b.mustHaveShard("world.Accumulate", "each shard has a part of its own")
	if _, parts := r.Cells(); parts == 0 {
		panic(fmt.Sprintf("world: %s: resource %q is no accumulator; register it by RegisterAccumulator, or write it in a global system", bound.call, r.Name()))
	}
	bound.access.ResourceParts.Add(id)
	return r
}

// AskMessages declares that messages of a type are received by a system that is not global. It
// returns them, with the guard of the receiver.
func (b *Build) AskMessages(t reflect.Type) (Messages, check.Guard) {
	bound := b.binding("world.Receive")
	b.mustHaveShard("world.Receive", "messages are delivered to the shard that holds the entity")
	return b.w.messagesOf(t, bound.call), bound.guard(fmt.Sprintf("the receiver of message %v", t))
}
