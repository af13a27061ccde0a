package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
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
	c.reader.port, c.reader.lines = port, line.NewReader(conn, LineBytesMax)
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
			c.wrong(fmt.Errorf("line is longer than %d bytes; the rest of it is skipped", LineBytesMax))
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
	if r.avatar == handle.None || r.port.Status(r.avatar) == world.Stale || !c.server.traffic.enter() {
		return
	}
	defer c.server.traffic.leave()
	var done world.Completion
	if err := r.port.Notify(&done).Destroy(r.avatar); err != nil {
		return // the port is full: ticks have ended
	}
	if outcome, err := done.Wait(ctx); err == nil && outcome == world.Applied {
		c.server.counters.left.Add(1)
	}
}
