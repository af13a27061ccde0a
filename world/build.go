package world

import (
	"github.com/atoll-sim/atoll/internal/engine"
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
type Build engine.Build

// Shard returns the shard the system is being built for, or AllShards for a
// global one.
func (b *Build) Shard() int { return (*engine.Build)(b).Shard() }

// Shards returns the number of shards of the world.
func (b *Build) Shards() int { return (*engine.Build)(b).Shards() }

// Creates declares that the system creates from the bundles. Creating counts as
// writing their components.
func (b *Build) Creates(bundles ...ComponentSet) { (*engine.Build)(b).Creates(bundles...) }

// Query selects the entities of the shard, or for a global system of all shards, that match the
// terms; see Term.
func (b *Build) Query(terms ...Term) *Query {
	return (*Query)((*engine.Build)(b).Query(termsOf(terms)...))
}
