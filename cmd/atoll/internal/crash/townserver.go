package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"go.uber.org/atomic"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/ext/transit/link"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// townLife is what a town is told at its start.
type townLife struct {
	life
	Number transit.World
	At     string   // where it serves the links of others
	Dials  []string // where others do, by their numbers; empty: it does not dial that one
}

// townLook is what a town finds, at its start and when it is asked.
type townLook struct {
	Address     string // where it takes orders
	Tick        uint64
	Incarnation uint32
	Played      uint64
	Items       int // under way to others
	Citizens    []citizen
	Handles     []handle.Handle
}

// townAnswer is what a client is told about an order.
type townAnswer struct {
	Status status
	Order  transfer
	Why    string
}

// townProcess serves a town.
type townProcess struct {
	*town
	townLife
	store   *durable.Store
	address string
	replies atomic.Uint64
	asked   chan struct{}
	found   chan *townLook
}

// serveTown is a town until from ends, or it is killed. Each JSON value that follows the first asks it
// for a look.
func serveTown(ctx context.Context, from io.Reader, to io.Writer) error {
	in, out := json.NewDecoder(from), json.NewEncoder(to)
	p := &townProcess{asked: make(chan struct{}), found: make(chan *townLook)}
	if err := in.Decode(&p.townLife); err != nil {
		return err
	}
	var err error
	if p.town, err = newTown(&p.townLife); err != nil {
		return err
	}
	p.store, err = durable.Open(ctx, p.Path, p.World, p.s, durable.Options{
		New:  func(*world.World) error { return p.fill(p.Clients) },
		Sync: p.Sealed, Interval: p.Save, Increments: p.Increments, NoLog: p.Fault == early,
		Snapshot: snapshot.Options{Compression: snapshot.None},
	})
	if err != nil {
		return err
	}
	at, err := listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	p.address = at.Addr().String()
	if err := out.Encode(p.look()); err != nil {
		return err
	}
	p.onTick = p.mayLook
	ctx, cancel := context.WithCancel(ctx)
	ran := make(chan error, 1)
	go func() {
		err := p.s.Run(ctx)
		cancel()
		ran <- err
		_ = at.Close() // it ends the next Accept, too
	}()
	go func() {
		for {
			var ask bool
			if in.Decode(&ask) != nil { // the parent ends it, or has died
				p.s.Stop()
				return
			}
			p.asked <- struct{}{}
			l := <-p.found
			if p.store.Wait(ctx) == nil { // a kill must not take back what is told
				_ = out.Encode(l)
			}
		}
	}()
	err = p.carry(ctx, at)
	return errors.Join(err, <-ran, p.store.Close())
}

// listen listens, though a process that was killed may hold the address for a moment.
func listen(ctx context.Context, address string) (l net.Listener, err error) {
	var lc net.ListenConfig
	for range 100 {
		if l, err = lc.Listen(ctx, "tcp", address); err == nil || ctx.Err() != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return l, err
}

// carry serves clients, and carries to and from other towns.
func (p *townProcess) carry(ctx context.Context, at net.Listener) error {
	l, err := listen(ctx, p.At)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	all.Go(func() { p.say(link.NewServer(link.Options{}, p.roads).Serve(ctx, l)) })
	for i, address := range p.Dials {
		if address == "" {
			continue
		}
		client, err := link.NewClient(address, link.Options{})
		if err != nil {
			return err
		}
		all.Go(func() { p.say(client.Carry(ctx, p.roads, transit.World(i+1))) })
	}
	for {
		conn, err := at.Accept()
		if err != nil {
			break
		}
		go p.serve(ctx, conn)
	}
	all.Wait()
	return nil
}

// say tells the parent of an error.
func (p *townProcess) say(err error) {
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
	}
}

// mayLook looks, if the parent has asked. The world is idle.
func (p *townProcess) mayLook() {
	select {
	case <-p.asked:
		p.found <- p.look()
	default:
	}
}

// look looks at the idle world.
func (p *townProcess) look() *townLook {
	found := p.store.Recovered()
	l := &townLook{Address: p.address, Tick: p.Tick(), Incarnation: found.Incarnation, Played: found.Ticks}
	for _, peer := range p.roads.Peers() {
		l.Items += p.roads.Channel(peer).Items
	}
	citizens := world.Read[citizen](p.World)
	for h := range p.Query(citizens).Entities() {
		l.Handles = append(l.Handles, h)
	}
	slices.SortFunc(l.Handles, func(a, b handle.Handle) int { return int(citizens.Get(a).Name) - int(citizens.Get(b).Name) })
	for _, h := range l.Handles {
		l.Citizens = append(l.Citizens, *citizens.Get(h))
	}
	return l
}

// serve serves a client, one order at a time.
func (p *townProcess) serve(ctx context.Context, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	port, err := p.OpenPort()
	if err != nil {
		return
	}
	defer port.Close()
	in, out := json.NewDecoder(conn), json.NewEncoder(conn)
	for {
		var c call
		if in.Decode(&c) != nil {
			return
		}
		var a townAnswer
		a.Order, err = p.do.Ask(ctx, port, c)
		if err == nil && p.Fault == apart {
			a.Order, err = p.tells.Ask(ctx, port, c)
		}
		if !p.Sealed && p.Fault != early {
			if e := p.store.Wait(ctx); e != nil {
				err = errors.Join(e, world.ErrUnknown)
			}
		}
		if err != nil {
			a.Why = err.Error()
		}
		if a.Status = statusOf(err); errors.Is(err, transit.ErrFull) {
			a.Status = full
		}
		if out.Encode(&a) != nil {
			return // it asks again
		}
		if n := p.replies.Inc(); n == p.Answers {
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
		}
	}
}
