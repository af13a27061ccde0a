package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

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
	traffic  traffic

	mu struct {
		sync.Mutex
		clients map[uint32]*client // by number
		closed  bool
	}
}

// New makes a server of a realm. Serve starts it.
func New(r *realm.Realm, l net.Listener, o Options) *Server {
	s := &Server{realm: r, listener: l, options: o.withDefaults()}
	s.traffic.init()
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
	select {
	case <-s.traffic.close():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("server: %d commands have no outcome: %w", s.traffic.left(), ctx.Err())
	}
}

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
func (s *Server) ClientTally(number uint32) (Tally, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mu.clients[number]
	if c == nil {
		return Tally{}, false
	}
	return c.counters.tally(), true
}
