package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/line"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// client is one connection and what it holds of the realm.
//
// Invariants: commands under way have consecutive numbers, at most UnderWayMax
// of them; the completion and the early reply of command n are at n modulo
// UnderWayMax. Outcomes are sent in the order of the numbers.
//
// Ownership: the fields of reader and teller belong to the goroutine of that
// name: the reader alone uses the port, the teller alone receives from box and
// commands. Both write to the connection, under the lock of out.
type client struct {
	server      *Server
	conn        net.Conn
	number      uint32
	counters    counters
	completions [UnderWayMax]world.Completion
	commands    chan command // accepted; closed by the reader at its end
	underWay    atomic.Int32
	quiet       chan struct{} // signalled when nothing is under way any more
	died        atomic.Uint64 // the avatar, as a handle, whose death was last sent

	reader struct {
		lines  *line.Reader
		port   *world.Port
		avatar handle.Handle
		seq    uint32 // of the last command accepted
		nth    uint32 // of the last command sent to this avatar
	}
	teller struct {
		box   <-chan realm.Reply
		early [UnderWayMax]realm.Reply // to commands whose turn has not come; Seq 0: none
		told  uint32                   // number of the last command whose outcome was sent
		known handle.Handle            // the avatar that was last sent to the client
		dead  []handle.Handle          // they died before they were sent to the client
		timer *time.Timer
		text  []byte
	}
	out struct {
		sync.Mutex
		failed bool
	}
}

// newClient opens a client's port and mailbox.
func newClient(s *Server, conn net.Conn) (*client, error) {
	number, box, err := s.realm.OpenMailbox(mailboxSize)
	if err != nil {
		return nil, err
	}
	port, err := s.realm.World.OpenPort()
	if err != nil {
		s.realm.CloseMailbox(number)
		return nil, err
	}
	c := &client{
		server: s, conn: conn, number: number,
		commands: make(chan command, UnderWayMax), quiet: make(chan struct{}, 1),
	}
	c.reader.port, c.reader.lines = port, line.NewReader(conn, line.BytesMax)
	c.teller.box, c.teller.timer = box, time.NewTimer(0)
	return c, nil
}

// run serves the client until it disconnects, or the context ends. Outcomes of accepted commands
// are still sent, and the avatar is destroyed.
func (c *client) run(ctx context.Context) {
	defer c.server.forget(c)
	var teller errgroup.Group
	teller.Go(func() error {
		c.tellAll(ctx)
		return nil
	})
	c.say(fmt.Appendf(nil, "WELCOME client %d; HELP lists the commands", c.number))
	quit := c.read()
	close(c.commands)
	_ = teller.Wait()
	c.depart(ctx)
	if quit {
		c.say([]byte("BYE"))
	}
	_ = c.conn.Close()
	c.reader.port.Close()
}

// read obeys the client's lines until it quits, or reading
// fails.
func (c *client) read() (quit bool) {
	for {
		_ = c.conn.SetReadDeadline(time.Now().Add(c.server.options.IdleMax))
		text, err := c.reader.lines.Next()
		switch {
		case errors.Is(err, line.ErrTooLong):
			c.wrong(fmt.Errorf("line is longer than %d bytes; the rest of it is skipped", line.BytesMax))
		case errors.Is(err, os.ErrDeadlineExceeded):
			c.wrong(fmt.Errorf("nothing came for %v; good bye", c.server.options.IdleMax))
			return false
		case err != nil:
			return false
		default:
			switch err := c.do(text); {
			case errors.Is(err, errQuit):
				return true
			case err != nil:
				c.wrong(err)
			}
		}
	}
}

// wrong sends the client an error about a line.
func (c *client) wrong(err error) {
	c.server.counters.errors.Add(1)
	c.say(fmt.Appendf(nil, "ERROR %v", err))
}

// say writes one line. A client that does not read for too long is dropped.
func (c *client) say(text []byte) {
	c.out.Lock()
	defer c.out.Unlock()
	if c.out.failed {
		return
	}
	_ = c.conn.SetWriteDeadline(time.Now().Add(c.server.options.WriteWaitMax))
	if _, err := c.conn.Write(append(text, '\n')); err != nil {
		c.out.failed = true
		_ = c.conn.Close() // ends the reader too
	}
}

// depart destroys the avatar of a client that is gone.
func (c *client) depart(ctx context.Context) {
	r := &c.reader
	if r.avatar == handle.None || r.port.Status(r.avatar) == world.Stale || !c.server.enter() {
		return
	}
	defer c.server.traffic.RUnlock()
	var done world.Completion
	if err := r.port.Notify(&done).Destroy(r.avatar); err != nil {
		return // the port is full: ticks have ended
	}
	if outcome, err := done.Wait(ctx); err == nil && outcome == world.Applied {
		c.server.counters.left.Add(1)
	}
}

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
	if !c.server.enter() {
		c.reject(cmd.verb, errClosing)
		return
	}
	cmd.seq = c.reader.seq + 1
	cmd.done = &c.completions[cmd.seq%UnderWayMax]
	if err := send(cmd.seq, cmd.done); errors.Is(err, errUnsent) {
		cmd.done = nil
	} else if err != nil {
		c.server.traffic.RUnlock()
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

// join creates an avatar, unless the client has one.
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

// stance sets the avatar's stance directly, not by a command.
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
		line.BytesMax, UnderWayMax, QueueRequests))
	return nil
}

// quote quotes a client's word, cut if it is long.
func quote(word string) string {
	if len(word) > quoteBytesMax {
		return strconv.QuoteToASCII(word[:quoteBytesMax]) + "…"
	}
	return strconv.QuoteToASCII(word)
}
