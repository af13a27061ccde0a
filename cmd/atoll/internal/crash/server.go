package crash

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"go.uber.org/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// ServerEnv is set in the environment of a process that is to call Serve.
const ServerEnv = "ATOLL_CRASH_SERVER"

// life is what a server is told at its start, as one JSON object.
type life struct {
	Path       string
	Sealed     bool
	Clients    int
	Workers    int
	Seed       uint64
	Interval   time.Duration // of ticks
	Save       time.Duration // from one snapshot to the next
	Increments int
	Answers    uint64 // it kills itself when so many are told; 0: never
	Fault      fault
}

// fault is what a test has a server do wrong.
type fault uint8

// The faults.
const (
	none  fault = iota
	early       // answers, and has no log
	hasty       // answers before the log is written
	twice       // does an order again that comes again
	half        // keeps what an order has done that is refused
	stays       // leaves a ware where it is that was bought
	apart       // takes gold, and sends it in a transaction of its own
)

// halfDone is the Turn of the receipt of an order that is to be told refused.
const halfDone = ^uint64(0)

// look is what a server finds at its start. It tells that as one JSON object.
type look struct {
	Address     string // where it serves
	Tick        uint64
	Incarnation uint32
	Played      uint64 // ticks of the log
	Took        time.Duration
	Accounts    []Account // by name
	Wares       []held
	Bags        [][]uint64 // the wares of each account
}

// held is a ware that a server finds.
type held struct {
	Ware
	Handle handle.Handle
	Owner  uint64
}

// answer is what a client is told about an order.
type answer struct {
	Status  status
	Receipt Receipt
	Why     string
}

// status is what became of an order.
type status uint8

const (
	done    status = iota
	refused        // and nothing is left of it
	failed         // so by a panic
	full           // it was not accepted
	unknown        // and the client asks again
)

// String returns the status's name.
func (s status) String() string {
	return [...]string{"done", "refused", "failed", "full", "unknown"}[s]
}

// server serves orders.
type server struct {
	*market
	life
	store   *durable.Store
	replies atomic.Uint64
}

// The servers that there are, as values of ServerEnv.
const (
	marketServer = "market"
	townServer   = "town"
)

// Serve is a server until from ends, or it is killed.
func Serve(ctx context.Context, from io.Reader, to io.Writer) error {
	if os.Getenv(ServerEnv) == townServer {
		return serveTown(ctx, from, to)
	}
	in := json.NewDecoder(from)
	s := &server{}
	err := in.Decode(&s.life)
	if err != nil {
		return err
	}
	if s.market, err = newMarket(s.life); err != nil {
		return err
	}
	s.store, err = durable.Open(ctx, s.Path, s.World, s.s, durable.Options{
		New:  func(*world.World) error { return s.fill(s.Clients) },
		Sync: s.Sealed, Interval: s.Save, Increments: s.Increments, NoLog: s.Fault == early,
		Snapshot: snapshot.Options{Compression: snapshot.None},
	})
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	at, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := json.NewEncoder(to).Encode(s.look(at.Addr().String())); err != nil {
		return err
	}
	ran := make(chan error, 1)
	go func() {
		err := s.s.Run(ctx)
		ran <- err
		_ = at.Close() // it ends the next Accept, too
	}()
	go func() {
		_, _ = io.Copy(io.Discard, io.MultiReader(in.Buffered(), from)) // the parent ends it, or has died
		s.s.Stop()
	}()
	for {
		conn, err := at.Accept()
		if err != nil {
			break
		}
		go s.serve(ctx, conn)
	}
	return errors.Join(<-ran, s.store.Close())
}

// look looks at the idle world.
func (s *server) look(address string) *look {
	found := s.store.Recovered()
	l := &look{Address: address, Tick: s.Tick(), Incarnation: found.Incarnation, Played: found.Ticks, Took: found.Took}
	accounts, wares, bags := world.Read[Account](s.World), world.Read[Ware](s.World), s.bags.Read(s.World)
	for rows := range s.Query(accounts).Chunks() {
		l.Accounts = append(l.Accounts, accounts.Slice(rows)...)
	}
	slices.SortFunc(l.Accounts, func(a, b Account) int { return int(a.Name) - int(b.Name) })
	for _, a := range l.Accounts {
		h, _ := s.called.Lookup(a.Name)
		bag := []uint64{}
		for it := range bags.Each(h) {
			bag = append(bag, wares.Get(it).ID)
		}
		l.Bags = append(l.Bags, bag)
	}
	for h := range s.Query(wares).Entities() {
		x := held{Ware: *wares.Get(h), Handle: h, Owner: ^uint64(0)}
		if a := accounts.Get(bags.Parent(h)); a != nil {
			x.Owner = a.Name
		}
		l.Wares = append(l.Wares, x)
	}
	return l
}

// pending is an order that was sent to the world.
type pending struct {
	answer world.Answer[Receipt]
	err    error // of the sending
}

// serve serves a client, whose orders may come before it has read the answers.
func (s *server) serve(ctx context.Context, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	port, err := s.OpenPort()
	if err != nil {
		return
	}
	defer port.Close()
	sent := make(chan *pending, 16)
	defer close(sent)
	go s.reply(ctx, conn, sent)
	in := json.NewDecoder(conn)
	for {
		var o Order
		if in.Decode(&o) != nil {
			return
		}
		x := &pending{}
		x.err = s.trade.Send(port, o, &x.answer)
		sent <- x
	}
}

// reply tells the answers to a client. If ticks are sealed, it tells them when it gets them.
func (s *server) reply(ctx context.Context, conn net.Conn, sent <-chan *pending) {
	out := json.NewEncoder(conn)
	for x := range sent {
		var a answer
		err := x.err
		if err == nil {
			if a.Receipt, err = x.answer.Get(ctx); a.Receipt.Turn == halfDone {
				err = errPoor
			}
		}
		if !s.Sealed && s.Fault != early && s.Fault != hasty {
			if e := s.store.Wait(ctx); e != nil {
				err = errors.Join(e, world.ErrUnknown)
			}
		}
		if err != nil {
			a.Why = err.Error()
		}
		a.Status = statusOf(err)
		_ = out.Encode(&a) // if the client is gone, it asks again
		if n := s.replies.Inc(); n == s.Answers {
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
		}
	}
}

func statusOf(err error) status {
	switch {
	case err == nil:
		return done
	case errors.Is(err, world.ErrFailed):
		return failed
	case errors.Is(err, world.ErrFull):
		return full
	case errors.Is(err, world.ErrUnknown), errors.Is(err, world.ErrClosed), errors.Is(err, context.Canceled):
		return unknown
	}
	return refused
}
