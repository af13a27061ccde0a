package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/shard"
)

// Build is what a system's constructor gets, once per shard: asking it for an
// accessor declares the access.
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
// What it returns is bound to that shard: it sees the shard's atoms and no
// others, and may be used by the system it was built for alone.
type Build struct {
	w      *World
	shard  *shard.Shard
	system string
	access *Access
	user   *check.User // nil but in the check build
	closed bool
}

// Access is what a system may touch, as found by running its constructor.
type Access struct {
	Reads   shard.Set // components read in the own shard
	Writes  shard.Set // components written or created in the own shard
	Foreign shard.Set // components read in other shards
}

// NewBuild starts the construction of a system for one shard. For schedulers.
func NewBuild(w *World, shardID int, system string) *Build {
	w.mustIdle("NewBuild")
	if shardID < 0 || shardID >= len(w.shards) {
		panic(fmt.Sprintf("world: NewBuild of system %q for shard %d; the shards are 0 to %d", system, shardID, len(w.shards)-1))
	}
	b := &Build{w: w, shard: w.shards[shardID], system: system, access: &Access{}}
	if check.Enabled {
		b.user = w.contexts[shardID].turn.User(system, fmt.Sprintf("system %q on shard %d", system, shardID),
			"what a Build returned is for the system it was asked in, on its shard, while it runs")
	}
	return b
}

// Finish ends the construction and returns what was declared.
func (b *Build) Finish() *Access {
	b.closed = true
	return b.access
}

// Shard returns the shard the system is being built for.
func (b *Build) Shard() int { return b.shard.ID() }

// Creates declares that the system creates from the bundles. Creating counts as
// writing their components.
func (b *Build) Creates(bundles ...Part) {
	b.mustOpen("Creates")
	b.access.Writes = b.access.Writes.Union(b.w.setOf("Build.Creates", bundles))
}

// Query selects the shard's atoms that match the terms; see Term.
func (b *Build) Query(terms ...Term) *Query {
	b.mustOpen("Query")
	return newQuery(b.bind("Query"), b.w.shards[b.shard.ID():b.shard.ID()+1], terms)
}

func (b *Build) mustOpen(call string) {
	if b == nil {
		panic(fmt.Sprintf("world: Build.%s of a nil Build; use the one that a system's constructor is given", call))
	}
	if b.closed {
		panic(fmt.Sprintf("world: system %q calls Build.%s after its constructor returned; ask for all access within it", b.system, call))
	}
}

// binding says what an accessor or filter is bound to.
type binding struct {
	w      *World
	owner  int // the shard, or the number of shards: the idle world
	lookup *shard.Lookup
	access *Access
	call   string      // what was called, and in which system
	user   *check.User // nil but in the check build
}

// idle reports whether it is the idle world.
func (b *binding) idle() bool { return b.owner == len(b.w.shards) }

// guard makes the guard of what is bound.
func (b *binding) guard(what string) (g check.Guard) {
	if check.Enabled {
		g = check.NewGuard(b.user, what)
	}
	return g
}

// Asker is what accessors and filters are asked of: a *Build within a system's
// constructor, a *World for use between ticks.
type Asker interface{ bind(call string) binding }

func (b *Build) bind(call string) binding {
	b.mustOpen(call)
	return binding{w: b.w, owner: b.shard.ID(), lookup: &b.w.contexts[b.shard.ID()].lookup, access: b.access,
		call: fmt.Sprintf("system %q, %s", b.system, call), user: b.user}
}

func (w *World) bind(call string) binding {
	w.mustIdle(call)
	return binding{w: w, owner: len(w.shards), lookup: &w.lookup, access: &Access{}, call: "World." + call, user: w.user}
}

// bind is a.bind for whoever is asked, nil refused.
func bind(a Asker, call string) binding {
	if a == nil {
		panic(fmt.Sprintf("world: world.%s is asked of nil; ask a *Build in a system's constructor, or a *World between ticks", call))
	}
	return a.bind(call)
}

func (b *Bundle[T]) components(w *World) shard.Set {
	if b.w != w {
		panic(fmt.Sprintf("world: bundle %s belongs to another world; use the one that was made for this world", b.name))
	}
	return b.set
}
