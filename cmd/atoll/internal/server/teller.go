package server

import (
	"context"
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// tellAll sends outcomes, and deaths, until the reader has ended and every outcome
// is sent.
func (c *client) tellAll(ctx context.Context) {
	for {
		select {
		case cmd, ok := <-c.commands:
			if !ok {
				return
			}
			if cmd.ping {
				c.pong()
			} else {
				c.tell(ctx, cmd)
			}
		case r := <-c.teller.box:
			c.hear(r)
		}
	}
}

// tell waits for the outcome of a command and sends it.
func (c *client) tell(ctx context.Context, cmd command) {
	reply, known := c.outcome(ctx, cmd)
	c.teller.told = cmd.seq
	c.enter(cmd, reply, known)
	c.server.traffic.RUnlock()
	c.teller.text = appendOutcome(c.teller.text[:0], &cmd, &reply, known)
	c.say(c.teller.text)
	if cmd.verb == verbJoin {
		c.introduce(cmd.avatar)
	}
	if c.underWay.Add(-1) == 0 {
		select {
		case c.quiet <- struct{}{}:
		default:
		}
	}
}

// outcome returns the outcome of a command. It is not known if no island
// replies in time, or if the context ends.
func (c *client) outcome(ctx context.Context, cmd command) (r realm.Reply, known bool) {
	r.Seq = cmd.seq
	if cmd.done != nil {
		outcome, err := cmd.done.Wait(ctx)
		r.Outcome = outcome
		if err != nil || outcome != world.Applied || !cmd.replied {
			return r, outcome != world.Undecided
		}
	}
	early := &c.teller.early[cmd.seq%UnderWayMax]
	c.teller.timer.Reset(c.server.options.OutcomeWaitMax)
	for early.Seq != cmd.seq {
		select {
		case r := <-c.teller.box:
			c.hear(r)
		case <-c.teller.timer.C:
			return r, false
		case <-ctx.Done():
			return r, false
		}
	}
	r, *early = *early, realm.Reply{}
	return r, true
}

// hear takes a reply from the mailbox. Islands reply in any order, but outcomes
// are sent in the order of the commands.
func (c *client) hear(r realm.Reply) {
	switch {
	case r.Death && r.Who == c.teller.known:
		c.mourn(r.Who)
	case r.Death: // the client does not know yet that it joined
		c.teller.dead = append(c.teller.dead, r.Who)
	case r.Seq-c.teller.told-1 < UnderWayMax:
		c.teller.early[r.Seq%UnderWayMax] = r
	default:
		c.server.counters.stray.Add(1)
	}
}

// introduce notes the avatar that was sent to the client. It may be dead already.
func (c *client) introduce(avatar handle.Handle) {
	c.teller.known = avatar
	if slices.Contains(c.teller.dead, avatar) {
		c.mourn(avatar)
	}
	c.teller.dead = c.teller.dead[:0]
}

// mourn sends the death of an avatar.
func (c *client) mourn(avatar handle.Handle) {
	c.died.Store(uint64(avatar)) // the next JOIN may come
	c.say(fmt.Appendf(nil, "DIED %v", avatar))
}

// enter counts the outcome.
func (c *client) enter(cmd command, r realm.Reply, known bool) {
	switch {
	case !known:
		c.count(lost)
	case r.Outcome == world.Applied:
		c.count(applied)
		switch {
		case cmd.replied:
			c.server.counters.obeyed.Add(1)
		case cmd.verb == verbJoin:
			c.server.counters.joined.Add(1)
		case cmd.verb == "LEAVE":
			c.server.counters.left.Add(1)
		}
	case r.Outcome == world.Refused:
		c.count(refused)
	default:
		c.count(late)
	}
}

// pong answers a PING, after all replies of islands until now were sent.
func (c *client) pong() {
	for {
		select {
		case r := <-c.teller.box:
			c.hear(r)
		default:
			c.say([]byte("PONG"))
			return
		}
	}
}

// appendOutcome appends the line with an outcome.
func appendOutcome(b []byte, cmd *command, r *realm.Reply, known bool) []byte {
	word := "LATE"
	switch {
	case !known:
		word = "LOST"
	case r.Outcome == world.Applied:
		word = "APPLIED"
	case r.Outcome == world.Refused:
		word = "REFUSED"
	}
	b = fmt.Appendf(b, "%s %d %s", word, cmd.seq, cmd.verb)
	if word != "APPLIED" {
		return b
	}
	switch cmd.verb {
	case verbJoin:
		return fmt.Appendf(b, " %v", cmd.avatar)
	case "STANCE":
		return append(append(b, ' '), cmd.stance...)
	case "STEER":
		return fmt.Appendf(b, " %g %g", r.X, r.Y)
	case "WHERE":
		return fmt.Appendf(b, " %.2f %.2f", r.X, r.Y)
	case "ATTACK":
		return fmt.Appendf(b, " %v", r.Who)
	case "TAKE", "STACK", "TRADE":
		return fmt.Appendf(appendDealt(append(b, ' '), r), " items %d", r.Items)
	case "LOOK":
		return appendSeen(b, r)
	}
	return b
}

// appendDealt appends the result of a command about the inventory.
func appendDealt(b []byte, r *realm.Reply) []byte {
	switch {
	case r.Busy:
		return append(b, "busy"...)
	case r.Full:
		return append(b, "full"...)
	case r.Item == handle.None:
		return append(b, "none"...)
	case r.Verb == realm.Stack:
		return fmt.Appendf(b, "%v on %v", r.Item, r.Other)
	case r.Verb == realm.Trade:
		return fmt.Appendf(b, "%v worth %d for %v", r.Item, r.Worth, r.Other)
	}
	return fmt.Appendf(b, "%v worth %d", r.Item, r.Worth)
}

// appendSeen appends a description of a target, or of the avatar and what is near it.
func appendSeen(b []byte, r *realm.Reply) []byte {
	switch {
	case r.Kind != realm.Nothing:
		return fmt.Appendf(b, " %s %v at %.2f %.2f health %d", r.Kind.One(), r.Who, r.X, r.Y, r.Points)
	case r.Self:
		return fmt.Appendf(b, " self at %.2f %.2f health %d items %d near %v item %v", r.X, r.Y, r.Points, r.Items, r.Who, r.Item)
	}
	return append(b, " none"...)
}
