package interest

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/near"
)

// Viewer says what a View shows. Lengths are in the units of the index.
type Viewer struct {
	// Entity is who sees. While it is dead, or has no place, nobody is seen but by Options.Also. An entity
	// sees itself, unless Options.Hide or a term of the index leaves it out.
	Entity handle.Handle
	// At is from where is seen if there is no Entity, as by a camera.
	At near.Point
	// Who comes as near as Radius is seen, until farther away than Radius and Margin together: with a Margin,
	// entities that move along the border do not come and go in each Update.
	Radius, Margin float64
	// Bytes bounds a packet: it gets rows until it has so many bytes, so it has up to a row more. Rows count
	// as their bytes and RowBytes, those with Enter as 8 more; leaves count as LeaveBytes. All leaves are in
	// the first packet, and each packet has a row if one is due. 0 is no bound.
	Bytes int
	// Unacked is how many packets may be under way: then the view gets none until Ack or Lost is called. 0 is
	// for a transport that loses nothing and takes all packets: each counts as received. At most UnackedMax.
	Unacked int
	// Write, if not nil, is given the view's packets in place of the sink, as AppendTo writes them: for a connection
	// that keeps the order, such as a websocket. It has a goroutine for each packet, so it may wait for the network,
	// and must not keep the packet. The view gets the next one when Write has returned, so whoever reads slowly gets
	// fewer, each with all that is new. Each counts as received: when one cannot be written, close the connection.
	Write func(packet []byte)
	// Client is the program's own, for the sink and the functions of Options to find. See View.Client.
	Client any
}

// UnackedMax bounds Viewer.Unacked.
const UnackedMax = 1024

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
// Ownership: any goroutine, at any time, calls the methods; they take effect in the next Update. The rest is
// the worker's that has the view in a step of Update.
type View struct {
	client any
	writer *writer // or nil
	closed atomic.Bool
	called atomic.Bool // Change, Ack or Lost, since the last Update
	mu     struct {
		sync.Mutex
		changed *Viewer // what Change was called with last, until an Update uses it
		unacked unacked
	}

	viewer Viewer     // written in begin, and with mu
	from   near.Point // where the viewer is
	placed bool       // it is somewhere
	order  uint64     // views are visited in its order
	looked uint32     // the last Update
	pairs  pairs
	number uint64 // of the last packet
}

// Client returns Viewer.Client, as the view was opened with.
func (v *View) Client() any { return v.client }

// Viewer returns what Updates use: what the view was opened with, or changed to before the last Update. In
// Options.Hide and Options.Also it is what that Update uses, whoever calls Change meanwhile.
func (v *View) Viewer() Viewer {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.viewer
}

// Change changes what the view shows: another entity, as when somebody is born again, another radius or
// budget. Who is still seen is not told of again. Client, Write and Unacked stay as they were. The next Update uses
// it, or what a later Change says: all of that, not only what differs. It panics as Set.Open does.
func (v *View) Change(to Viewer) {
	to.Write = nil
	to.check("View.Change")
	v.mu.Lock()
	defer v.mu.Unlock()
	to.Client, to.Write, to.Unacked = v.viewer.Client, v.viewer.Write, v.viewer.Unacked
	v.mu.changed = &to
	v.called.Store(true)
}

// Close ends the view. It gets no packet any more, except one that an Update on other goroutines is making.
// Closing twice is no error.
func (v *View) Close() { v.closed.Store(true) }

// Ack says that the client has applied a packet. Clients must apply packets in the order of their numbers and
// leave out those that come behind a later one: so earlier packets which were not acknowledged are lost, and
// what they told is told again. Call it for each packet that the client tells of, the earliest first. It does
// nothing for other numbers, and if Viewer.Unacked is 0.
func (v *View) Ack(number uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mu.unacked.resolve(number, true)
	v.called.Store(true)
}

// Lost says that a packet, and earlier ones which were not acknowledged, are taken for lost: what they told is
// told again. If they come later nevertheless, no harm is done. Without it a view of which all packets under
// way are lost would wait forever: call it with the number of the last packet if there is no Ack for some time.
func (v *View) Lost(number uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mu.unacked.resolve(number, false)
	v.called.Store(true)
}

// ended reports whether the view is closed, and then gives back its memory, as somebody may still have the view.
func (v *View) ended() bool {
	if !v.closed.Load() {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pairs, v.mu.unacked = pairs{}, unacked{}
	return true
}

// begin applies what was called since the last Update.
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

// class returns how far away somebody is: a part of the radius, from 0 to classes-1.
func (v *View) class(square float64) uint8 {
	if v.viewer.Bytes == 0 {
		return 0 // nobody asks
	}
	if part := math.Sqrt(square) / v.viewer.Radius * classes; part < classes {
		return uint8(part)
	}
	return classes - 1
}
