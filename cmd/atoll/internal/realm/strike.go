package realm

import (
	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
	"github.com/atoll-sim/atoll/world"
)

// striker is the strike system of one island.
type striker struct {
	*Realm
	isle   *island
	bags   *hierarchy.Reader
	pos    *world.Writer[Position]
	health *world.Writer[Health]
	beast  *world.Reader[Creature]
	avatar *world.Writer[Avatar]
}

// strike applies the attacks of the tick before. A creature
// that is hit by an avatar and survives hits back, wherever the avatar is.
func (r *Realm) strike(b *world.Build) func(*world.Context) {
	s := &striker{
		Realm: r, isle: r.island(b), bags: r.Inventory.Read(b),
		pos: world.Write[Position](b), health: world.Write[Health](b), beast: world.Read[Creature](b), avatar: world.Write[Avatar](b),
	}
	world.Write[Litter](b) // for drop
	hits := world.Receive[blow](b)
	return func(c *world.Context) {
		for _, hit := range hits.All() {
			at := c.Locate(hit.To)
			health := s.health.At(at)
			if health == nil || health.Points <= 0 { // an earlier attack killed it
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

// kill destroys an entity without health.
func (s *striker) kill(c *world.Context, who handle.Handle, at shard.Loc) {
	must(c.Destroy(who))
	s.drop(c, who, *s.pos.At(at))
	if a := s.avatar.At(at); a != nil {
		s.isle.destroyed(Avatars, who)
		if a.Deal.Open {
			s.isle.ledger.Late++
			s.tell(s.isle, a.Client, Reply{Seq: a.Deal.Seq, Verb: a.Deal.Verb, Outcome: world.Gone})
			a.Deal = Deal{}
		}
		s.tell(s.isle, a.Client, Reply{Death: true, Who: who})
		return
	}
	s.isle.destroyed(Creatures, who)
}
