package server

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// verb is a word that a line may begin with.
type verb struct {
	name    string
	usage   string // of the arguments
	help    string
	argsMin int
	argsMax int
	run     func(c *client, args []string) error // returns what is wrong with the line
}

const verbJoin = "JOIN"

// errQuit ends a client that said QUIT.
var errQuit = errors.New("quit")

// verbs is set in init, because HELP lists it.
var verbs []verb

func init() {
	verbs = []verb{
		{verbJoin, "", "create your avatar", 0, 0, (*client).join},
		{"STEER", "x y", "set its velocity, -1 to 1 in each direction", 2, 2, (*client).steer},
		{"STANCE", "calm|fierce", "set how hard it hits", 1, 1, (*client).stance},
		{"ATTACK", "[entity]", "hit an entity, or whoever is near", 0, 1, target("ATTACK", realm.Attack)},
		{"TAKE", "[item]", "take an item, or one that is near", 0, 1, target("TAKE", realm.Take)},
		{"STACK", "", "put an item that it carries onto another of the same sort", 0, 0, (*client).stack},
		{"TRADE", "[entity]", "exchange an item with an entity, or whoever is near, who loses nothing", 0, 1, target("TRADE", realm.Trade)},
		{"LOOK", "[entity]", "tell of an entity, or of the avatar and what is near", 0, 1, target("LOOK", realm.Look)},
		{"WHERE", "", "tell where the avatar is", 0, 0, (*client).where},
		{"LEAVE", "", "destroy your avatar, when all commands before have their outcome", 0, 0, (*client).leave},
		{"PING", "", "answer PONG, when all commands before have their outcome", 0, 0, (*client).ping},
		{"HELP", "", "list the commands", 0, 0, (*client).help},
		{"QUIT", "", "leave and close the connection", 0, 0, func(*client, []string) error { return errQuit }},
	}
}

// do obeys a line, or returns what is wrong with it.
func (c *client) do(text []byte) error {
	words := strings.Fields(string(text))
	if len(words) == 0 {
		return errors.New("line is empty; HELP lists the commands")
	}
	for i := range verbs {
		v := &verbs[i]
		if !strings.EqualFold(v.name, words[0]) {
			continue
		}
		if args := len(words) - 1; args < v.argsMin || args > v.argsMax {
			return fmt.Errorf("%s has %d arguments, want: %s", v.name, args, v.line())
		}
		return v.run(c, words[1:])
	}
	return fmt.Errorf("%s is no command; HELP lists them", quote(words[0]))
}

// line returns how the verb is used.
func (v *verb) line() string { return strings.TrimSpace(v.name + " " + v.usage) }

func (c *client) join([]string) error {
	r := &c.reader
	if r.avatar != handle.None && !c.bereft(r.avatar) {
		return fmt.Errorf("JOIN: you have avatar %v; LEAVE first", r.avatar)
	}
	c.accept(command{verb: verbJoin}, func(seq uint32, done *world.Completion) error {
		h, err := c.server.realm.Join(r.port.Notify(done), c.number, seq)
		if err == nil {
			r.avatar, r.nth = h, 0
		}
		return err
	})
	return nil
}

// bereft reports whether the client's avatar is dead. If its death was sent, it is
// dead at the next refresh, which is before anything sent from now on applies.
func (c *client) bereft(avatar handle.Handle) bool {
	return c.died.Load() == uint64(avatar) || c.reader.port.Status(avatar) == world.Stale
}

func (c *client) steer(args []string) error {
	var xy [2]float32
	for i, arg := range args {
		f, err := strconv.ParseFloat(arg, 32)
		if err != nil || !(f >= -1 && f <= 1) {
			return fmt.Errorf("STEER: %s is %s, want a number from -1 to 1", "xy"[i:i+1], quote(arg))
		}
		xy[i] = float32(f)
	}
	return c.order("STEER", realm.Command{Verb: realm.Steer, X: xy[0], Y: xy[1]})
}

func (c *client) stance(args []string) error {
	stance := strings.ToLower(args[0])
	if stance != "calm" && stance != "fierce" {
		return fmt.Errorf("STANCE: %s is no stance, want calm or fierce", quote(args[0]))
	}
	r := &c.reader
	if r.avatar == handle.None {
		return errors.New("STANCE needs an avatar; JOIN first")
	}
	c.accept(command{verb: "STANCE", stance: stance}, func(_ uint32, done *world.Completion) error {
		return c.server.realm.SetStance(r.port.Notify(done), r.avatar, realm.Stance{Fierce: stance == "fierce"})
	})
	return nil
}

// target returns the run function of a verb that may name an entity.
func target(name string, v realm.Verb) func(*client, []string) error {
	return func(c *client, args []string) error {
		o := realm.Command{Verb: v}
		if len(args) > 0 {
			h, err := handle.Parse(args[0])
			if err != nil || h == handle.None {
				return fmt.Errorf("%s: %s is no handle, want the form shard:index@version", name, quote(args[0]))
			}
			o.Target = h
		}
		return c.order(name, o)
	}
}

func (c *client) stack([]string) error { return c.order("STACK", realm.Command{Verb: realm.Stack}) }

func (c *client) where([]string) error { return c.order("WHERE", realm.Command{Verb: realm.Where}) }

// leave waits for earlier commands: a command is applied in the tick
// after it was delivered, and must find its avatar.
func (c *client) leave([]string) error {
	r := &c.reader
	if r.avatar == handle.None {
		return errors.New("LEAVE needs an avatar; JOIN first")
	}
	for c.underWay.Load() > 0 {
		<-c.quiet
	}
	c.accept(command{verb: "LEAVE"}, func(_ uint32, done *world.Completion) error {
		err := r.port.Notify(done).Destroy(r.avatar)
		if err == nil {
			r.avatar = handle.None
		}
		return err
	})
	return nil
}

func (c *client) ping([]string) error {
	c.commands <- command{ping: true}
	return nil
}

func (c *client) help([]string) error {
	for i := range verbs {
		c.say(fmt.Appendf(nil, "HELP %-18s %s", verbs[i].line(), verbs[i].help))
	}
	c.say(fmt.Appendf(nil, "HELP limits: %d bytes a line, %d commands under way, %d of them within a tick",
		LineBytesMax, UnderWayMax, QueueRequests))
	return nil
}

// quote quotes a client's word, cut if it is long.
func quote(word string) string {
	if len(word) > quoteBytesMax {
		return strconv.QuoteToASCII(word[:quoteBytesMax]) + "…"
	}
	return strconv.QuoteToASCII(word)
}
