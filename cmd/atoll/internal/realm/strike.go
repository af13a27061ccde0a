package realm

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
	"github.com/atoll-sim/atoll/world"
)

// striker is the strike system of one island.
type striker struct {
	*Realm
	isle   *island
	pos    *world.Reader[Position]
	health *world.Writer[Health]
	beast  *world.Reader[Creature]
	avatar *world.Writer[Avatar]
}

// strike lets the attacks land that were made in the tick before. A creature
// that is hit by an avatar and survives hits back, wherever the avatar is.
func (r *Realm) strike(b *world.Build) func(*world.Context) {
	s := &striker{
		Realm: r, isle: r.island(b),
		pos: world.Read[Position](b), health: world.Write[Health](b), beast: world.Read[Creature](b), avatar: world.Write[Avatar](b),
	}
	b.Creates(r.items)
	hits := world.Receive[blow](b)
	return func(c *world.Context) {
		for _, hit := range hits.All() {
			at := c.Locate(hit.To)
			health := s.health.At(at)
			if health == nil || health.Points <= 0 { // an earlier one killed
				continue
			}
			s.isle.ledger.Blows++
			if !c.Owns(hit.Body.From) && c.Alive(hit.Body.From) {
				s.isle.ledger.Abroad++
			}
			health.Points -= hit.Body.Damage
			if health.Points <= 0 {
				s.kill(c, hit.To, at)
			} else if beast := s.beast.At(at); beast != nil && hit.Body.ByAvatar {
				s.isle.sent(r.blows.Send(c, hit.Body.From, blow{From: hit.To, Damage: beast.Strength}))
			}
		}
	}
}

// kill marks who has no health left.
func (s *striker) kill(c *world.Context, who handle.Handle, at shard.Loc) {
	must(c.Destroy(who))
	if a := s.avatar.At(at); a != nil {
		s.isle.destroyed(Avatars, who)
		if a.Pick.Item != handle.None {
			s.isle.ledger.Late++
			s.tell(s.isle, a.Client, Reply{Seq: a.Pick.Seq, Verb: Take, Outcome: world.Gone})
		}
		s.tell(s.isle, a.Client, Reply{Death: true, Who: who})
		return
	}
	s.isle.destroyed(Creatures, who)
	if s.isle.dice.IntN(dropOdds) == 0 {
		s.drop(c, *s.pos.At(at))
	}
}

// drop leaves an item where somebody died.
func (s *striker) drop(c *world.Context, at Position) {
	_, err := s.items.Create(c, item{at, Item{Worth: 1 + s.isle.dice.Int32N(worthMax), Expires: c.Tick() + itemLife}})
	if s.isle.sent(err) {
		s.isle.created(Items)
	}
}
