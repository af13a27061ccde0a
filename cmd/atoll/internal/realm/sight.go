package realm

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// witness reads what other islands wrote in this tick.
type witness struct {
	pos    *world.ForeignReader[Position]
	health *world.ForeignReader[Health]
	beast  *world.ForeignReader[Creature]
	item   *world.ForeignReader[Item]
	avatar *world.ForeignReader[Avatar]
}

// sight answers clients' questions about entities anywhere. It runs after every
// island has written what it reads.
func (r *Realm) sight(b *world.Build) func(*world.Context) {
	w := witness{
		pos: world.ReadForeign[Position](b), health: world.ReadForeign[Health](b),
		beast: world.ReadForeign[Creature](b), item: world.ReadForeign[Item](b), avatar: world.ReadForeign[Avatar](b),
	}
	isle := r.island(b)
	return func(*world.Context) {
		for _, l := range isle.looks {
			reply := w.describe(l.target)
			reply.Seq = l.seq
			r.tell(isle, l.client, reply)
		}
		isle.looks = isle.looks[:0]
	}
}

// describe describes an entity that has a position.
func (w *witness) describe(h handle.Handle) Reply {
	reply := Reply{Verb: Look, Outcome: world.Applied}
	pos, ok := w.pos.Get(h)
	if !ok {
		return reply
	}
	reply.Who, reply.X, reply.Y = h, pos.X, pos.Y
	if health, ok := w.health.Get(h); ok {
		reply.Points = health.Points
	}
	if _, ok := w.beast.Get(h); ok {
		reply.Kind = Creatures
	}
	if _, ok := w.avatar.Get(h); ok {
		reply.Kind = Avatars
	}
	if it, ok := w.item.Get(h); ok {
		reply.Kind, reply.Worth = Items, it.Worth
	}
	return reply
}
