package interest

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/aside"
)

// Viewer says what a View shows. Lengths are in the units of the index.
type Viewer struct {
	// Entity is the one that sees. While it is dead, or has no place, the view shows only what
	// Options.Also returns. An entity sees itself, unless Options.Hide or a term of the index
	// leaves it out.
	Entity handle.Handle
	// At is the place of a viewer without an Entity, such as a camera. A coordinate that is infinite
	// or not a number is no place: then the view shows only what Options.Also returns.
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
	// Unacked is how many packets may be unacknowledged: at that number the view gets none until
	// Ack or Lost is called. 0 is for a transport that loses nothing and takes all packets: each
	// counts as received. At most UnackedMax.
	Unacked int
	// Write, if not nil, gets the view's packets instead of the sink, as AppendTo encodes them: for
	// a connection that keeps the order, such as a websocket. Each call has a goroutine of its own,
	// so it may wait for the network; it must not keep the packet. The view gets no packet until
	// Write has returned, so a slow client gets fewer packets, each with everything that is new.
	// Each counts as received: when a write fails, close the connection. If Write panics, its view
	// is closed, and the panic is written to standard error.
	Write func(packet []byte)
	// Client is any value of the program, for the sink and the functions of Options. See
	// View.Client.
	Client any
}

// UnackedMax bounds Viewer.Unacked.
const UnackedMax = 1024

// check panics if a number of the viewer is out of range; call is the name of the call for messages.
func (v *Viewer) check(call string) {
	bad := func(what string, x any, want string) {
		panic(fmt.Sprintf("interest: %s with Viewer.%s of %v; want %s", call, what, x, want))
	}
	switch {
	case !(v.Radius >= 0):
		bad("Radius", v.Radius, "0 or more")
	case !(v.Margin >= 0):
		bad("Margin", v.Margin, "0 or more")
	case v.Bytes < 0:
		bad("Bytes", v.Bytes, "0 for no bound, or more")
	case v.Unacked < 0 || v.Unacked > UnackedMax:
		bad("Unacked", v.Unacked, fmt.Sprintf("0 to %d", UnackedMax))
	case v.Unacked > 0 && v.Write != nil:
		bad("Unacked", v.Unacked, "0 with a Write, which takes one packet after the other")
	}
}

// View is what one client sees. Set.Open opens one.
//
// Invariants: between Updates, a pair that a client may have stays until its Leave is received.
//
// Ownership: any goroutine calls the methods, at any time; they take effect in the next Update. The
// rest belongs to the worker that has the view in a step of Update.
type View struct {
	client any
	writer *writer // or nil
	closed atomic.Bool
	called atomic.Bool // Change, Ack or Lost, since the last Update
	mu     struct {
		sync.Mutex
		changed *Viewer // what Change was last called with, until an Update uses it
		unacked unacked
	}

	viewer Viewer     // written in begin, and with mu
	from   near.Point // where the viewer is, if placed
	placed bool       // the viewer has a place
	order  uint64     // its place in the order of views
	looked uint32     // the last Update
	pairs  pairs
	number uint64 // of the last packet
}

// Client returns Viewer.Client, as the view was opened with.
func (v *View) Client() any { return v.client }

// Viewer returns what Updates use: what the view was opened with, or changed to before the last
// Update. Within Options.Hide and Options.Also it is what that Update uses, even if Change is
// called meanwhile.
func (v *View) Viewer() Viewer {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.viewer
}

// Change changes what the view shows: another entity, as when a player respawns, another radius or
// budget. Entities that are still seen are not sent again. Client, Write and Unacked stay as they
// were. The next Update uses all of to, or of what a later Change passes. It panics as Set.Open
// does.
func (v *View) Change(to Viewer) {
	to.Write = nil
	to.check("View.Change")
	v.mu.Lock()
	defer v.mu.Unlock()
	to.Client, to.Write, to.Unacked = v.viewer.Client, v.viewer.Write, v.viewer.Unacked
	v.mu.changed = &to
	v.called.Store(true)
}

// Close ends the view. It gets no more packets, except one that an Update on other goroutines is
// making. Closing twice is no error.
func (v *View) Close() { v.closed.Store(true) }

// Ack says that the client has applied a packet. Clients must apply packets in the order of their
// numbers and ignore those that come after a later one. So earlier packets that were not
// acknowledged count as lost, and their news is sent again. Call Ack for each packet that the
// client acknowledges, the earliest first. It does nothing for other numbers, and if Viewer.Unacked
// is 0.
func (v *View) Ack(number uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mu.unacked.resolve(number, true)
	v.called.Store(true)
}

// Lost says that a packet, and earlier ones that were not acknowledged, count as lost: their news
// is sent again. If they arrive later after all, no harm is done. If all packets under way are
// lost, a view waits forever without it: call it with the number of the last packet when there is
// no Ack for some time.
func (v *View) Lost(number uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mu.unacked.resolve(number, false)
	v.called.Store(true)
}

// ended reports whether the view is closed. A closed view gives back its memory, as the program may
// keep the View.
func (v *View) ended() bool {
	if !v.closed.Load() {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pairs, v.mu.unacked = pairs{}, unacked{}
	return true
}

// begin applies the calls since the last Update.
func (v *View) begin() {
	if !v.called.Load() {
		return
	}
	v.called.Store(false)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.mu.changed != nil {
		v.viewer, v.mu.changed = *v.mu.changed, nil
	}
	v.mu.unacked.apply(&v.pairs, v.looked)
}

// class returns how far away an entity is: a part of the radius, from 0 to classes-1.
func (v *View) class(square float64) uint8 {
	if v.viewer.Bytes == 0 {
		return 0 // it is not used
	}
	if part := math.Sqrt(square) / v.viewer.Radius * classes; part < classes {
		return uint8(part)
	}
	return classes - 1
}

// place finds where the viewer is.
func (v *View) place(s *Set) {
	p := v.viewer.At
	v.from, v.placed = p, (p.X-p.X)+(p.Y-p.Y)+(p.Z-p.Z) == 0
	if h := v.viewer.Entity; h != handle.None {
		v.from, v.placed = s.index.Where(s.frame, h)
	}
}

// classes is how many parts the radius is divided into.
const classes = 32

// writer gives the packets of a view to Viewer.Write.
//
// Ownership: the worker's that makes the view's packet; while writes is set, the goroutine of run.
type writer struct {
	packet []byte
	writes atomic.Bool
	run    func() // bound once
}

// newWriter makes the writer of a view. If Write panics, it closes the view.
func newWriter(v *View, write func(packet []byte)) *writer {
	w := &writer{}
	w.run = func() {
		returned := false
		defer func() {
			if !returned {
				v.Close() // the client may lack the packet, on which the next ones build
				aside.Report(aside.Recovered(fmt.Sprintf("interest: Viewer.Write of client %v", v.client), recover()))
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
