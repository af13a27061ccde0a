package realm

import (
	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// obeyer is the obey system of one island.
type obeyer struct {
	*Realm
	isle   *island
	avatar *world.Writer[Avatar]
	vel    *world.Writer[Velocity]
	pos    *world.Reader[Position]
	health *world.Reader[Health]
	stance *world.Reader[Stance]
	bags   *hierarchy.Reader
}

// subject is the avatar that a command is for.
type subject struct {
	*Avatar
	self   handle.Handle
	vel    *Velocity
	pos    Position
	health int32
	fierce bool
}

// obey applies clients' commands to their avatars and replies. Every command
// that arrives is answered once: in this tick or, if the answer needs other
// islands, in one of the next.
func (r *Realm) obey(b *world.Build) func(*world.Context) {
	o := &obeyer{
		Realm: r, isle: r.island(b),
		avatar: world.Write[Avatar](b), vel: world.Write[Velocity](b),
		pos: world.Read[Position](b), health: world.Read[Health](b), stance: world.Read[Stance](b), bags: r.Inventory.Read(b),
	}
	inbox := world.Receive[Command](b)
	return func(c *world.Context) {
		for i := range inbox.All() {
			e := &inbox.All()[i]
			o.obey(c, e.To, &e.Body)
		}
	}
}

// obey takes a command that did not come before, and counts those that are missing.
func (o *obeyer) obey(c *world.Context, to handle.Handle, cmd *Command) {
	at := c.Locate(to)
	a := o.avatar.At(at)
	if a == nil { // it died after the command was delivered
		o.isle.ledger.Late++
		o.tell(o.isle, cmd.Client, Reply{Seq: cmd.Seq, Verb: cmd.Verb, Outcome: world.Gone})
		return
	}
	if cmd.Nth <= a.Nth {
		o.isle.ledger.Doubled++
		return
	}
	o.isle.ledger.Skipped += uint64(cmd.Nth - a.Nth - 1)
	a.Nth = cmd.Nth
	o.apply(c, cmd, subject{
		Avatar: a, self: to, vel: o.vel.At(at), pos: *o.pos.At(at), health: o.health.At(at).Points, fierce: o.stance.At(at).Fierce,
	})
}

// apply applies a command.
func (o *obeyer) apply(c *world.Context, cmd *Command, s subject) {
	reply := Reply{Seq: cmd.Seq, Verb: cmd.Verb, Outcome: world.Applied}
	switch cmd.Verb {
	case Steer:
		*s.vel = Velocity{cmd.X * AvatarSpeed, cmd.Y * AvatarSpeed}
		reply.X, reply.Y = cmd.X, cmd.Y
	case Where:
		reply.X, reply.Y = s.pos.X, s.pos.Y
	case Look:
		if cmd.Target != handle.None { // sight will reply
			o.isle.looks = append(o.isle.looks, look{target: cmd.Target, client: cmd.Client, seq: cmd.Seq})
			o.isle.count(s.Avatar, cmd.Seq)
			return
		}
		reply.Self = true
		reply.X, reply.Y, reply.Points, reply.Items = s.pos.X, s.pos.Y, s.health, uint32(o.bags.Count(s.self))
		reply.Who, reply.Item = o.isle.people.nearest(s.pos, s.self), o.isle.litter.nearest(s.pos, handle.None)
	case Attack:
		o.attack(c, cmd, &s, &reply)
	case Take, Stack, Trade:
		if !s.Deal.Open { // deal will reply
			s.Deal = Deal{Open: true, Verb: cmd.Verb, Seq: cmd.Seq, Target: o.aim(cmd, &s)}
			return
		}
		reply.Busy, reply.Items = true, uint32(o.bags.Count(s.self))
	}
	o.applied(o.isle, s.Avatar, reply)
}

// attack sends a blow to the target, or to an entity nearby.
func (o *obeyer) attack(c *world.Context, cmd *Command, s *subject, reply *Reply) {
	target := cmd.Target
	if target == handle.None {
		target = o.isle.people.nearest(s.pos, s.self)
	}
	damage := int32(avatarStrength)
	if s.fierce {
		damage = fierceStrength
	}
	switch o.blows.Send(c, target, blow{From: s.self, Damage: damage, ByAvatar: true}) {
	case nil:
		reply.Who = target
	case world.ErrStale:
	default:
		reply.Outcome = world.Refused
	}
}

// aim returns the target of a deal if the command has none.
func (o *obeyer) aim(cmd *Command, s *subject) handle.Handle {
	switch {
	case cmd.Target != handle.None:
		return cmd.Target
	case cmd.Verb == Take:
		return o.isle.litter.nearest(s.pos, handle.None)
	}
	return o.isle.people.nearest(s.pos, s.self)
}

// applied sends a client the outcome of a command that arrived.
func (r *Realm) applied(i *island, a *Avatar, reply Reply) {
	if reply.Outcome == world.Applied {
		i.count(a, reply.Seq)
	} else {
		i.ledger.Refused++
	}
	r.tell(i, a.Client, reply)
}

// count adds an applied command to the avatar's and the island's books.
func (i *island) count(a *Avatar, seq uint32) {
	a.Obeyed++
	a.Sum += uint64(seq)
	i.ledger.Obeyed++
}

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
