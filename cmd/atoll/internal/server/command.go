package server

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// command is an accepted command whose outcome was not sent yet.
type command struct {
	verb    string
	seq     uint32
	done    *world.Completion // nil: nothing was sent
	replied bool              // an island replies once it is delivered
	avatar  handle.Handle     // JOIN: the new avatar
	stance  string            // STANCE
	ping    bool              // not a command: send PONG
}

var errClosing = errors.New("the server is closing")

// accept gives a command its number and sends it to the world. If too much is
// under way it is rejected, and has no effect.
func (c *client) accept(cmd command, send func(seq uint32, done *world.Completion) error) {
	if c.underWay.Load() == UnderWayMax {
		c.reject(cmd.verb, fmt.Errorf("%d commands are under way; wait for an outcome", UnderWayMax))
		return
	}
	if !c.server.traffic.enter() {
		c.reject(cmd.verb, errClosing)
		return
	}
	cmd.seq = c.reader.seq + 1
	cmd.done = &c.completions[cmd.seq%UnderWayMax]
	if err := send(cmd.seq, cmd.done); errors.Is(err, errUnsent) {
		cmd.done = nil
	} else if err != nil {
		c.server.traffic.leave()
		c.reject(cmd.verb, err)
		return
	}
	c.reader.seq = cmd.seq
	c.underWay.Add(1)
	c.count(accepted)
	c.say(fmt.Appendf(nil, "ACCEPTED %d", cmd.seq))
	if cmd.verb == verbJoin {
		cmd.avatar = c.reader.avatar
	}
	c.commands <- cmd
}

func (c *client) reject(verb string, why error) {
	c.count(rejected)
	c.say(fmt.Appendf(nil, "REJECTED %s: %v", verb, why))
}

// errUnsent is for tests: a request that is accepted, but not sent.
var errUnsent = errors.New("not sent")

// order sends a command to the client's avatar.
func (c *client) order(verb string, o realm.Command) error {
	r := &c.reader
	if r.avatar == handle.None {
		return fmt.Errorf("%s needs an avatar; JOIN first", verb)
	}
	c.accept(command{verb: verb, replied: true}, func(seq uint32, done *world.Completion) error {
		o.Client, o.Seq, o.Nth = c.number, seq, r.nth+1
		err := c.deliver(o, done)
		if err == nil || errors.Is(err, errUnsent) {
			r.nth++
		}
		return err
	})
	return nil
}

// deliver sends a command once, unless a test changes that.
func (c *client) deliver(o realm.Command, done *world.Completion) error {
	r := &c.reader
	times := 1
	if hook := c.server.options.Deliver; hook != nil {
		times = hook(o)
	}
	if times == 0 {
		return errUnsent
	}
	err := c.server.realm.Command(r.port.Notify(done), r.avatar, o)
	for i := 1; i < times && err == nil; i++ {
		err = c.server.realm.Command(r.port, r.avatar, o)
	}
	return err
}
