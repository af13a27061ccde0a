package interest

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/world"
)

// ClientOptions say what a Client sees. Lengths are in the units of the index.
type ClientOptions struct {
	// Entity is the one that sees. While it is dead, or has no place, the client sees only what
	// Options.Include returns. An entity sees itself, unless Options.Hide or a term of the index
	// leaves it out.
	Entity handle.Handle
	// At is the place of a client without an Entity, such as a camera. A coordinate that is
	// infinite or not a number is no place: then the client sees only what Options.Include returns.
	At near.Point
	// An entity is seen when it comes within Radius, until it is farther away than Radius and
	// Margin together: with a Margin, entities that move along the border do not come and go in
	// each Update. Both may be infinite.
	Radius, Margin float64
	// Bytes bounds a packet: it gets rows until it has so many bytes, so it can exceed them by a
	// row. A row counts as its bytes and RowBytes, with Enter as 8 more; a leave counts as
	// LeaveBytes. All leaves go into the first packet, and each packet has a row if one is due. 0
	// is no bound.
	Bytes int
	// Unacked is how many packets may be unacknowledged: at that number the client gets none until
	// Ack or Lost is called. 0 is for a transport that loses nothing and takes all packets: each
	// counts as received. At most UnackedMax.
	Unacked int
	// Write, if not nil, gets the client's packets instead of the sink, as AppendTo encodes them:
	// for a connection that keeps the order, such as a websocket. Each call has a goroutine of its
	// own, so it may wait for the network; it must not keep the packet. The client gets no packet
	// until Write has returned, so a slow client gets fewer packets, each with everything that is
	// new. Each counts as received: when a write fails, close the connection. If Write panics, its
	// client is closed, and the panic is written to standard error.
	Write func(packet []byte)
	// User is any value of the program, for the sink and the functions of Options. See
	// Client.User.
	User any
}

// UnackedMax bounds ClientOptions.Unacked.
const UnackedMax = 1024

// check panics if a number is out of range; call is the name of the call for messages.
func (o *ClientOptions) check(call string) {
	bad := func(what string, x any, want string) {
		panic(fmt.Sprintf("interest: %s with ClientOptions.%s of %v; want %s", call, what, x, want))
	}
	switch {
	case !(o.Radius >= 0):
		bad("Radius", o.Radius, "0 or more")
	case !(o.Margin >= 0):
		bad("Margin", o.Margin, "0 or more")
	case o.Bytes < 0:
		bad("Bytes", o.Bytes, "0 for no bound, or more")
	case o.Unacked < 0 || o.Unacked > UnackedMax:
		bad("Unacked", o.Unacked, fmt.Sprintf("0 to %d", UnackedMax))
	case o.Unacked > 0 && o.Write != nil:
		bad("Unacked", o.Unacked, "0 with a Write, which takes one packet after the other")
	}
}

// Client is a client and what it sees. Clients.Open opens one.
//
// Invariants: between Updates, a pair that a client may have stays until its Leave is received.
//
// Ownership: any goroutine calls the methods, at any time; they take effect in the next Update. The
// rest belongs to the worker that has the client in a step of Update.
type Client struct {
	user   any
	writer *writer // or nil
	closed atomic.Bool
	called atomic.Bool // Change, Ack or Lost, since the last Update
	mu     struct {
		sync.Mutex
		changed *ClientOptions // what Change was last called with, until an Update uses it
		unacked unacked
	}

	options ClientOptions // written in begin, and with mu
	from    near.Point    // where the client is, if placed
	placed  bool          // the client has a place
	order   uint64        // its place in the order of clients
	looked  uint32        // the last Update
	pairs   pairs
	number  uint64 // of the last packet
}

// User returns ClientOptions.User, as the client was opened with.
func (c *Client) User() any { return c.user }

// Options returns what Updates use: what the client was opened with, or changed to before the last
// Update. Within Options.Hide and Options.Include it is what that Update uses, even if Change is
// called meanwhile.
func (c *Client) Options() ClientOptions {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.options
}

// Change changes what the client sees: another entity, as when a player respawns, another radius or
// budget. Entities that are still seen are not sent again. User, Write and Unacked stay as they
// were. The next Update uses all of to, or of what a later Change passes. It panics as Clients.Open
// does.
func (c *Client) Change(to ClientOptions) {
	to.Write = nil
	to.check("Client.Change")
	c.mu.Lock()
	defer c.mu.Unlock()
	to.User, to.Write, to.Unacked = c.options.User, c.options.Write, c.options.Unacked
	c.mu.changed = &to
	c.called.Store(true)
}

// Close ends the client. It gets no more packets, except one that an Update on other goroutines is
// making. Closing twice is no error.
func (c *Client) Close() { c.closed.Store(true) }

// Ack says that the client has applied a packet. Clients must apply packets in the order of their
// numbers and ignore those that come after a later one. So earlier packets that were not
// acknowledged count as lost, and their news is sent again. Call Ack for each packet that the
// client acknowledges, the earliest first. It does nothing for other numbers, and if
// ClientOptions.Unacked is 0.
func (c *Client) Ack(number uint64) { c.resolve(number, true) }

// Lost says that a packet, and earlier ones that were not acknowledged, count as lost: their news
// is sent again. If they arrive later after all, no harm is done. If all packets under way are
// lost, a client waits forever without it: call it with the number of the last packet when there is
// no Ack for some time.
func (c *Client) Lost(number uint64) { c.resolve(number, false) }

// resolve notes that a packet was received or lost.
func (c *Client) resolve(number uint64, acked bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.unacked.resolve(number, acked)
	c.called.Store(true)
}

// ended reports whether the client is closed. A closed client gives back its memory, as the program
// may keep the Client.
func (c *Client) ended() bool {
	if !c.closed.Load() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pairs, c.mu.unacked = pairs{}, unacked{}
	return true
}

// begin applies the calls since the last Update.
func (c *Client) begin() {
	if !c.called.Load() {
		return
	}
	c.called.Store(false)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.changed != nil {
		c.options, c.mu.changed = *c.mu.changed, nil
	}
	c.mu.unacked.apply(&c.pairs, c.looked)
}

// class returns how far away an entity is: a part of the radius, from 0 to classes-1.
func (c *Client) class(square float64) uint8 {
	if c.options.Bytes == 0 {
		return 0 // it is not used
	}
	if part := math.Sqrt(square) / c.options.Radius * classes; part < classes {
		return uint8(part)
	}
	return classes - 1
}

// place finds where the client is.
func (c *Client) place(x *near.Index, f *world.Frame) {
	p := c.options.At
	c.from, c.placed = p, (p.X-p.X)+(p.Y-p.Y)+(p.Z-p.Z) == 0
	if h := c.options.Entity; h != handle.None {
		c.from, c.placed = x.Where(f, h)
	}
}

// classes is how many parts the radius is divided into.
const classes = 32

// writer gives the packets of a client to ClientOptions.Write.
//
// Ownership: the worker's that makes the client's packet; while writes is set, the goroutine of
// run.
type writer struct {
	packet []byte
	writes atomic.Bool
	run    func() // bound once
}

// newWriter makes the writer of a client. If Write panics, it closes the client.
func newWriter(c *Client, write func(packet []byte)) *writer {
	w := &writer{}
	w.run = func() {
		returned := false
		defer func() {
			if !returned {
				c.Close() // the client may lack the packet, on which the next ones build
				aside.Report(aside.Recovered(fmt.Sprintf("interest: ClientOptions.Write of client %v", c.user), recover()))
			}
			w.writes.Store(false)
		}()
		write(w.packet)
		returned = true
		if cap(w.packet) > 8*len(w.packet)+blockBytes {
			w.packet = nil // the one before was far larger
		}
	}
	return w
}

// waits reports whether a packet is still being written.
func (w *writer) waits() bool { return w != nil && w.writes.Load() }

// begin begins to write a packet.
func (w *writer) begin(p *Packet) {
	w.packet = p.AppendTo(w.packet[:0])
	w.writes.Store(true)
	go w.run()
}
