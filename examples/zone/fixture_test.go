package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
	"github.com/coder/websocket"
)

// server is a zone that is served on loopback.
type server struct {
	*zone
	address string
	stop    func()
}

// zoneOf returns an empty zone.
func zoneOf(t *testing.T) *zone {
	t.Helper()
	z, err := newZone(scheduler.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// serve serves the zone of a directory until stop, or the end of the test.
func serve(t *testing.T, dir string) *server {
	t.Helper()
	z := zoneOf(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		err := z.run(ctx, narrow{l}, dir)
		_ = l.Close() // it is open if run has failed early
		served <- err
	}()
	stop := sync.OnceFunc(func() {
		end()
		if err := <-served; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(stop)
	return &server{z, "ws://" + l.Addr().String() + "/play?name=", stop}
}

// narrow makes connections with small buffers, so that who does not read is soon found out.
type narrow struct{ net.Listener }

func (l narrow) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		err = conn.(*net.TCPConn).SetWriteBuffer(packetMax)
	}
	return conn, err
}

// thing is what a client knows of an entity: just what packets say.
type thing struct {
	x, y    uint16
	name    string
	health  byte
	score   uint64
	columns byte
}

// player is a client that keeps what it sees.
type player struct {
	name string
	conn *websocket.Conn

	mu                     sync.Mutex
	seen                   map[uint64]*thing
	enters, leaves, bytes  int
	moves, wounds, packets int
	most                   int // bytes of a packet
	err                    error
}

func (s *server) join(ctx context.Context, name string) (*player, error) {
	conn, _, err := websocket.Dial(ctx, s.address+name, nil)
	if err != nil {
		return nil, err
	}
	p := &player{name: name, conn: conn, seen: map[uint64]*thing{}}
	go func() {
		for {
			_, m, err := conn.Read(ctx)
			p.mu.Lock()
			if err == nil {
				err = p.apply(m)
			}
			p.err = err
			p.mu.Unlock()
			if err != nil {
				conn.CloseNow()
				return
			}
		}
	}()
	return p, nil
}

// apply reads a packet. What is not as it is written fails it.
func (p *player) apply(m []byte) error {
	short := false
	take := func(n int) []byte {
		if short = short || len(m) < n; short {
			return make([]byte, n)
		}
		var b []byte
		b, m = m[:n], m[n:]
		return b
	}
	uvarint := func() uint64 {
		x, n := binary.Uvarint(m)
		short = short || n <= 0
		take(max(n, 0))
		return x
	}
	p.bytes, p.packets = p.bytes+len(m), p.packets+1
	p.most = max(p.most, len(m))
	if number := uvarint(); number != uint64(p.packets) {
		return fmt.Errorf("packet %d has the number %d", p.packets, number)
	}
	for range uvarint() {
		slot := uvarint() >> 1
		if p.seen[slot] == nil {
			return fmt.Errorf("nobody is in slot %d, who leaves", slot)
		}
		delete(p.seen, slot)
		p.leaves++
	}
	for len(m) > 0 && !short {
		first, bits := uvarint(), uvarint()
		slot, comes, columns, removed := first>>1, first&1 != 0, byte(bits>>1), byte(0)
		e := p.seen[slot]
		if comes != (e == nil) {
			return fmt.Errorf("of slot %d, in which is %v, a packet says that it comes: %v", slot, e, comes)
		}
		if comes {
			take(8) // its handle
			e = new(thing)
			p.seen[slot] = e
			p.enters++
		}
		if bits&1 != 0 {
			removed = byte(uvarint())
		}
		e.columns = e.columns&^removed | columns
		if columns&1 != 0 {
			e.x, e.y = binary.LittleEndian.Uint16(take(2)), binary.LittleEndian.Uint16(take(2))
		}
		if columns&2 != 0 {
			e.health = take(1)[0]
		}
		if columns&(4|8) != 0 { // a monster or a player
			e.name = string(take(int(take(1)[0])))
		}
		if columns&8 != 0 {
			e.score = uvarint()
		}
		if !comes && columns&1 != 0 {
			p.moves++
		}
		if !comes && columns&2 != 0 {
			p.wounds++
		}
	}
	if short {
		return errors.New("the packet is too short")
	}
	return nil
}

// walk sends a command.
func (p *player) walk(ctx context.Context, x, y float64, fight byte) error {
	b := binary.LittleEndian.AppendUint64(nil, math.Float64bits(x))
	b = append(binary.LittleEndian.AppendUint64(b, math.Float64bits(y)), fight)
	return p.conn.Write(ctx, websocket.MessageBinary, b)
}

// self returns what a client sees of its own player, or nil.
func (p *player) self() *thing {
	for _, e := range p.seen {
		if e.columns == 1|2|8 && e.name == p.name {
			return e
		}
	}
	return nil
}

// await waits until something is true of each client.
func await(t *testing.T, what string, all []*player, is func(*player) bool) {
	t.Helper()
	end := time.Now().Add(10 * time.Second)
	for _, p := range all {
		for {
			p.mu.Lock()
			ok, err := is(p), p.err
			p.mu.Unlock()
			if ok {
				break
			}
			if err != nil || time.Now().After(end) {
				t.Fatalf("%s does not see: %s (%v)", p.name, what, err)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// joinAll has players join, who all begin at the same place.
func joinAll(t *testing.T, ctx context.Context, s *server, n int) (all []*player) {
	t.Helper()
	for i := range n {
		p, err := s.join(ctx, fmt.Sprintf("p%02d", i))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// names returns the names of the players in the world.
func (s *server) names(t *testing.T) (names []string) {
	t.Helper()
	if err := <-s.systems.Between(func(w *world.World) {
		players := world.Read[Player](w)
		for h := range w.Query(players).Entities() {
			names = append(names, players.Get(h).Name)
		}
	}); err != nil {
		t.Fatal(err)
	}
	return names
}

// compare says in what the view of a client differs from the world.
func (s *server) compare(t *testing.T, all []*player) (differs string) {
	type entity struct {
		Position
		thing
	}
	var there []entity
	if err := <-s.systems.Between(func(w *world.World) {
		position, monster := world.Read[Position](w), world.Read[Monster](w)
		health, player := world.Read[Health](w), world.Read[Player](w)
		for h := range w.Query(position, health, world.WithoutFlags(w, dead)).Entities() {
			p := *position.Get(h)
			e := thing{x: uint16(p.X * 64), y: uint16(p.Y * 64)}
			e.health = byte(health.Get(h).Points * 255 / health.Get(h).Max)
			if it := player.Get(h); it != nil {
				e.name, e.score, e.columns = it.Name, uint64(it.Score), 1|2|8
			} else {
				e.name, e.columns = monster.Get(h).Kind, 1|2|4
			}
			there = append(there, entity{p, e})
		}
	}); err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		p.mu.Lock()
		defer p.mu.Unlock()
		self := p.self()
		if self == nil {
			return p.name + " does not see itself"
		}
		seen := map[string]*thing{}
		for _, e := range p.seen {
			seen[e.name] = e
		}
		n := 0
		for _, e := range there {
			d := math.Hypot(e.X-float64(self.x)/64, e.Y-float64(self.y)/64)
			is := seen[e.name]
			if is == nil && d < sight-0.1 || is != nil && (d > sight+5.1 || *is != e.thing) {
				return fmt.Sprintf("%s sees %+v, and at a distance of %f is %+v", p.name, is, d, e)
			}
			if is != nil {
				n++
			}
		}
		if n != len(p.seen) {
			return fmt.Sprintf("%s sees %d, of whom %d are there", p.name, len(p.seen), n)
		}
	}
	return ""
}
