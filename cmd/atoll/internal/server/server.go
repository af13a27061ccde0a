// Package server is the gate to a realm: a TCP server with a line protocol, in
// which each client steers one avatar. The protocol is described in
// docs/protocol.md.
//
// A client has two goroutines. Its reader parses lines and sends requests to the
// world through the client's own port; its teller waits for their outcomes, in
// the order of the commands, and writes them. Only a tick decides what a command does to the world,
// and when:
//
//	          lines            requests               messages
//	socket ──────────▶ reader ──────────▶ port ─ ─ ─▶ systems
//	   ▲                  │ commands under way           │
//	   │    outcomes      ▼                              │ replies
//	   └─────────────── teller ◀───────── mailbox ◀──────┘
//
// Nothing on this path waits for a client within a tick: ports and mailboxes are
// bounded, and a client that does not read is dropped after WriteWaitMax.
package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/line"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
)

// acceptPause is how long the server waits after a failed accept.
const acceptPause = 20 * time.Millisecond

// Options shape a server. The zero value means the defaults.
type Options struct {
	IdleMax        time.Duration // 0: the constant of that name
	WriteWaitMax   time.Duration // 0: the constant of that name
	OutcomeWaitMax time.Duration // 0: the constant of that name

	// Deliver, if not nil, returns how often to send a command to the world,
	// instead of once. It is for tests that lose or double one.
	Deliver func(realm.Command) int
}

func (o Options) withDefaults() Options {
	fill := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	fill(&o.IdleMax, IdleMax)
	fill(&o.WriteWaitMax, WriteWaitMax)
	fill(&o.OutcomeWaitMax, OutcomeWaitMax)
	return o
}

// Server lets clients into a realm.
//
// Ownership: mu guards the present clients. All methods are safe for
// concurrent use; Serve is called once.
type Server struct {
	realm    *realm.Realm
	listener net.Listener
	options  Options
	counters counters
	traffic  sync.RWMutex // read-locked for each command under way
	closing  atomic.Bool  // no further commands

	mu struct {
		sync.Mutex
		clients map[uint32]*client // by number
		closed  bool
	}
}

// New makes a server of a realm. Serve starts it.
func New(r *realm.Realm, l net.Listener, o Options) *Server {
	s := &Server{realm: r, listener: l, options: o.withDefaults()}
	s.mu.clients = map[uint32]*client{}
	return s
}

// Addr returns the address on which the server listens.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Serve serves clients until the context ends. Then it drops them and returns nil
// when all are gone. It needs another goroutine that makes ticks.
func (s *Server) Serve(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		<-ctx.Done()
		s.close()
		return nil
	})
	g.Go(func() error {
		for {
			conn, err := s.listener.Accept()
			switch {
			case errors.Is(err, net.ErrClosed) && ctx.Err() != nil:
				return nil
			case errors.Is(err, net.ErrClosed):
				return fmt.Errorf("server: the listener was closed: %w", err)
			case err != nil: // out of files, or a client that gave up
				time.Sleep(acceptPause)
				continue
			}
			if c := s.admit(conn); c != nil {
				g.Go(func() error {
					c.run(ctx)
					return nil
				})
			}
		}
	})
	return g.Wait()
}

// admit makes a client of a connection, or refuses it.
func (s *Server) admit(conn net.Conn) *client {
	c, err := newClient(s, conn)
	if err != nil {
		// Nothing was sent to it yet, so this does not wait for the client, and holds up nobody.
		_ = conn.SetWriteDeadline(time.Now().Add(s.options.WriteWaitMax))
		_, _ = fmt.Fprintf(conn, "ERROR %v; come again later\n", err)
		_ = conn.Close()
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.clients[c.number] = c
	s.counters.clients.Add(1)
	if s.mu.closed {
		_ = conn.Close() // the client's reader notices it
	}
	return c
}

// forget removes a client. Who sees by Totals that it is gone finds its place free; the lock keeps
// the next client that gets its number from coming in between.
func (s *Server) forget(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.realm.CloseMailbox(c.number)
	delete(s.mu.clients, c.number)
}

// close closes the listener and all connections.
func (s *Server) close() {
	_ = s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.closed = true
	for _, c := range s.mu.clients {
		_ = c.conn.Close()
	}
}

// Drain makes the server reject all further commands and returns when those
// under way have their outcomes. From then on the counts are final, and no more
// ticks are needed. If the context ends first, it returns an error that says how many are
// left.
func (s *Server) Drain(ctx context.Context) error {
	s.closing.Store(true)
	drained := make(chan struct{})
	go func() {
		s.traffic.Lock()
		defer s.traffic.Unlock()
		close(drained)
	}()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		t := s.counters.tally()
		return fmt.Errorf("server: %d commands have no outcome: %w", t.Accepted-t.Decided(), ctx.Err())
	}
}

// enter counts a command as under way until it leaves the traffic, unless the server drains.
func (s *Server) enter() bool { return !s.closing.Load() && s.traffic.TryRLock() }

// Totals returns the sums of all clients, past and present.
func (s *Server) Totals() Totals {
	c := &s.counters
	s.mu.Lock()
	here := len(s.mu.clients)
	s.mu.Unlock()
	return Totals{
		Tally: c.tally(), Obeyed: c.obeyed.Load(), Stray: c.stray.Load(), Joined: c.joined.Load(), Left: c.left.Load(),
		Errors: c.errors.Load(), Clients: c.clients.Load(), Here: here,
	}
}

// ClientTally returns the counts of a present client.
func (s *Server) ClientTally(number uint32) (line.Tally, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mu.clients[number]
	if c == nil {
		return line.Tally{}, false
	}
	return c.counters.tally(), true
}

// Totals are the counts of a server.
type Totals struct {
	line.Tally
	Obeyed  uint64 // of the applied, those that an island replied to
	Stray   uint64 // replies to no command under way, which is a failure
	Joined  uint64 // avatars created
	Left    uint64 // avatars destroyed by a request, not by a system
	Errors  uint64 // lines that were wrong
	Clients uint64 // that ever connected
	Here    int    // connected now
}

// counters are the running counts of a client or of a server.
//
// Ownership: any client's goroutines count, any goroutine reads. Each counter is exact.
// Together they are consistent only when no command is under way.
type counters struct {
	accepted, applied, late, refused, lost, rejected atomic.Uint64
	obeyed, stray, joined, left, errors, clients     atomic.Uint64
}

func (c *counters) tally() line.Tally {
	return line.Tally{
		Accepted: c.accepted.Load(), Applied: c.applied.Load(), Late: c.late.Load(),
		Refused: c.refused.Load(), Lost: c.lost.Load(), Rejected: c.rejected.Load(),
	}
}

// count counts an event for the client and for the server.
func (c *client) count(which func(*counters) *atomic.Uint64) {
	which(&c.counters).Add(1)
	which(&c.server.counters).Add(1)
}

// The counters, for count.
func accepted(c *counters) *atomic.Uint64 { return &c.accepted }
func applied(c *counters) *atomic.Uint64  { return &c.applied }
func late(c *counters) *atomic.Uint64     { return &c.late }
func refused(c *counters) *atomic.Uint64  { return &c.refused }
func lost(c *counters) *atomic.Uint64     { return &c.lost }
func rejected(c *counters) *atomic.Uint64 { return &c.rejected }

// The limits of the server.
const (
	// UnderWayMax is how many commands of a client may be accepted and without an
	// outcome.
	UnderWayMax = 32
	// QueueRequests is how many requests of a client the world holds until the
	// next refresh: the Options.QueueRequests for a realm that is served.
	QueueRequests = 16
	// IdleMax is how long a client may send nothing before it is dropped.
	IdleMax = 5 * time.Minute
	// WriteWaitMax is how long a client may not read before it is dropped.
	WriteWaitMax = 5 * time.Second
	// OutcomeWaitMax is how long an island may take to reply to a command that
	// was delivered. A command without a reply is reported as lost, which means a bug
	// in the server or the world.
	OutcomeWaitMax = 5 * time.Second

	// mailboxSize has room for the outcome of every command under way and for the
	// death of every avatar these may have made, and of the one before.
	mailboxSize = 2*UnderWayMax + 1
	// quoteBytesMax is how many bytes of a wrong word an error repeats.
	quoteBytesMax = 32
)
