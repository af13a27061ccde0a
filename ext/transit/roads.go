package transit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// Options shape Roads. World must be set; other zero values mean the defaults.
type Options struct {
	// World is the number of this world among those that exchange messages: from 1 on, and for ever
	// the same. A snapshot can be loaded only under the number that it was saved with.
	World World
	// Max is how many items may be under way to other worlds, all together. Default: 10,000.
	Max int
	// MaxBytes is how many bytes these items may have. Default: 16 MB.
	MaxBytes int

	// Relations are the names of the relations in which entities take along what is below them, when
	// they travel by a Gate. Nil means all.
	Relations []string
	// Codecs are for components and timers of travellers that have one, and for messages and
	// what gates say, with the constants of enums: both worlds must have the same. Changes say what
	// becomes of something that another version of the program has sent, as for snapshot.Insert.
	Codecs  *state.Codecs
	Changes []snapshot.Change
}

const (
	maxDefault      = 10_000
	maxBytesDefault = 16 << 20

	// ItemBytesMax is how many bytes a message may have in an item.
	ItemBytesMax = 64 << 10
	// EntitiesMax is how many entities may travel together, and TreeBytesMax how many bytes their Piece
	// may have.
	EntitiesMax  = 2048
	TreeBytesMax = 256 << 10
	// PeersMax is how many other worlds a world may exchange messages with. Worlds that were
	// forgotten count no more, but for each gap between their numbers.
	PeersMax = 4096

	refusedMost  = 4096      // refusals of a channel that an inbox keeps; then it decides no more
	packetItems  = 4096      // items of a packet
	packetBytes  = 256 << 10 // of a packet, if it has more than one item
	settleMost   = 1024      // items that one transaction gives back
	workMost     = engine.TxBytesMax / 4
	envelopeSize = 64  // about what a delivered message takes, besides the body
	entityWork   = 128 // about what an entity that travels takes, besides its components
	treeWork     = engine.TxBytesMax / 2
	treeItemMost = TreeBytesMax + ItemBytesMax + 4096
)

// Errors of refused calls, for errors.Is. A refused call changes nothing.
var (
	// ErrFull is returned if Options.Max items, or Options.MaxBytes, are under way.
	ErrFull = errors.New("transit: outboxes are full; call again when other worlds have taken something")
	// ErrClosed is returned after Roads.Close.
	ErrClosed = errors.New("transit: the roads of this world are closed")
	// ErrNowhere is returned for a Ref that names no world, or one that was forgotten, and by
	// Resolve for no other world.
	ErrNowhere = errors.New("transit: that is no other world; use a Ref of Roads.Ref or RefOf, Resolve with another world's number, and none that was forgotten")
	// ErrTooLarge is returned for a message of more than ItemBytesMax,
	// and for a traveller of more than EntitiesMax or TreeBytesMax.
	ErrTooLarge = errors.New("transit: this is too large; send less, or in parts")
	// ErrPeers is returned for a message to one world more than PeersMax.
	ErrPeers = errors.New("transit: this world knows PeersMax other worlds; it can send to no more")
)

// Roads connect a world with others: they have what is under way to these, and know what has come.
// Both are state of the world: hashed, saved, recorded and forked with it.
//
// Ownership: the world's. All changes are made by transactions.
type Roads struct {
	w        *world.World
	engine   *engine.World
	name     string
	world    World
	options  Options
	mails    map[string]letters
	gates    map[string]letters
	husks    *world.Component[away]    // nil without gates
	husk     int                       // its number
	trees    map[handle.Handle]leaving // by root: what is in outboxes
	channels []*channel                // by the number of the peer
	forgot   []span                    // worlds that exist no more
	items    int                       // in outboxes
	bytes    int
	closing  bool
	drafts   drafts // of the transaction that runs
	scratch  []byte
	building []byte
	tree     []handle.Handle // of the traveller that leaves
	follow   []engine.Insertable

	turning   *world.Transaction[answers, packet]
	arriving  *world.Transaction[packet, answers]
	resolving *world.Transaction[resolve, part]
	closes    *world.Transaction[struct{}, struct{}]

	arrivals arrivals
	// changing is held while channels change, so that an Unaccepted of another world can look into
	// them.
	changing sync.Mutex
	// waiting has the carriers that wait for something to carry.
	waiting struct {
		sync.Mutex
		all map[World][]chan struct{}
	}
}

// letters is a Mail or Gate as Roads see it.
type letters interface {
	// shaped returns a number for the form of the messages.
	shaped() uint64
	// work returns about how many bytes of a transaction an item takes.
	work(x *opened) int
	// deliver delivers an item that has come; reason is 0 if that was done. After errLater nothing was.
	deliver(tx *world.Tx, x *opened) (reason Reason, err error)
	// giveBack gives it back to its sender. After an error about room nothing was done.
	giveBack(tx *world.Tx, x *opened, why Reason) error
	// forget ends what is kept here for an item that was accepted, or is dropped.
	forget(tx *world.Tx, x *opened) error
}

// New makes the roads of a world. Errors, logs and snapshots use the name. The world must be idle
// and, if it is to be loaded, new. New panics for a name that is empty or taken, without a number of
// the world, and for options out of range.
func New(w *world.World, name string, o Options) *Roads {
	d := engine.Of(w)
	d.MustName("transit.New", name)
	switch {
	case o.World == 0:
		panic(fmt.Sprintf("transit: New of %q without Options.World; give each world a number of its own, from 1 on", name))
	case o.Max < 0 || o.MaxBytes < 0:
		panic(fmt.Sprintf("transit: options of %q have a negative number: %+v; use 0 for the default", name, o))
	}
	o.Max, o.MaxBytes = cmp.Or(o.Max, maxDefault), cmp.Or(o.MaxBytes, maxBytesDefault)
	r := &Roads{w: w, engine: d, name: name, world: o.World, options: o, mails: map[string]letters{}, gates: map[string]letters{}, trees: map[handle.Handle]leaving{}}
	r.waiting.all = map[World][]chan struct{}{}
	r.arrivals.open = semaphore.NewWeighted(arrivalsMost)
	r.turning = world.RegisterTransaction(w, name+" turn", r.turn)
	r.arriving = world.RegisterTransaction(w, name+" arrive", r.arrive)
	r.resolving = world.RegisterTransaction(w, name+" resolve", r.resolve)
	r.closes = world.RegisterTransaction(w, name+" close", func(tx *world.Tx, _ struct{}) (struct{}, error) {
		return struct{}{}, r.shut(tx)
	})
	d.ExtendLate(adapter{r})
	return r
}

// Name returns the name that the roads were made with.
func (r *Roads) Name() string { return r.name }

// World returns the number of the world.
func (r *Roads) World() World { return r.world }

// Options returns the options with the defaults filled in.
func (r *Roads) Options() Options { return r.options }

// Channel is what there is between a world and another.
type Channel struct {
	Peer   World
	Next   uint64 // the number of the next item that is sent there
	Acked  uint64 // up to here the peer has decided, and what it has refused is back
	Items  int    // under way: from Acked+1 to Next-1
	Bytes  int    // of these
	Last   uint64 // the last item from there that was decided here
	Known  uint64 // up to here the peer knows what was decided
	Refuse int    // of those after Known, refused
}

// Peers returns the numbers of the worlds that this one has exchanged messages with, in order. The
// world must be idle.
func (r *Roads) Peers() []World {
	r.engine.MustIdle("Roads.Peers")
	all := make([]World, len(r.channels))
	for i, c := range r.channels {
		all[i] = c.peer
	}
	return all
}

// Channel returns what there is between this world and another. The world must be idle.
func (r *Roads) Channel(peer World) Channel {
	r.engine.MustIdle("Roads.Channel")
	c := r.look(peer)
	x := Channel{Peer: peer, Next: c.out.next, Acked: c.out.acked, Items: len(c.out.items()), Last: c.in.last, Known: c.in.acked, Refuse: len(c.in.refused)}
	for _, i := range c.out.items() {
		x.Bytes += len(i.bytes)
	}
	return x
}

// Close closes the roads: from the refresh on nothing new is sent, and what comes is refused with
// the reason Closed. What is under way still goes, and what other worlds refuse still comes back.
// When Done, and after one more tick in which systems find what has come last, the world may be given
// up: nothing is lost by it.
func (r *Roads) Close(by world.Actor) error {
	r.engine.MustOwn(by, r.name)
	switch self := engine.Is(by).(type) {
	case *engine.World:
		return r.now(self, "Roads.Close", r.shut)
	case *engine.Tx:
		return r.shut((*world.Tx)(self))
	case *engine.Port:
	default:
		if _, err := r.engine.Acts(by, r.name, "Roads.Close"); err != nil {
			return err
		}
	}
	return r.closes.Call(by, struct{}{})
}

func (r *Roads) shut(tx *world.Tx) error { return r.write(tx, "Roads.Close", draft{kind: closed}) }

// now runs a transaction on the idle world.
func (r *Roads) now(w *engine.World, call string, f func(tx *world.Tx) error) error {
	t, err := engine.BeginRun(w, call, r.name)
	if err != nil {
		return err
	}
	defer t.EndIdle()
	return t.Returned(f((*world.Tx)(t)))
}

// Done reports whether the roads are closed, nothing is under way to other worlds, and all of these
// know what this one has decided. Worlds that exist no more know nothing: forget them before. The world
// must be idle.
func (r *Roads) Done() bool {
	r.engine.MustIdle("Roads.Done")
	for _, c := range r.channels {
		if len(c.out.items()) > 0 || c.in.acked < c.in.last && planted != doneEarly {
			return false
		}
	}
	return r.closing
}

// Resolution says what Resolve does with what is under way.
type Resolution uint8

// What Resolve does.
const (
	Return      Resolution = iota + 1 // everything comes back to its sender, with the reason Resolved
	Drop                              // everything is forgotten
	Forget                            // as Return, and the other world is forgotten, because it exists no more
	resolutions                       // how many there are, and one
)

// clock tells the time. Tests set it.
var clock = time.Now

// resolve is the argument of Resolve.
type resolve struct {
	Peer World
	How  Resolution
	Era  uint64 // of the channel from then on
	Last uint64 // the last item that was under way when it began; 0: it begins
	Of   uint64 // the era of that
}

// Resolve ends what is under way to another world, and begins the channel to it anew. It is for an
// operator who knows what became of it: the other world does not exist any more, or one of both was
// restored to an older day, so that Carry has returned ErrOlder. What the other world has accepted,
// and this one does not know of, is there twice after Return; what it has not accepted is lost after
// Drop. Channels in the other direction are the other world's to resolve. No Carry may run between both
// worlds meanwhile: what it has in hand would still arrive. Resolve returns how many
// items there were.
//
// Forget is for a world that exists no more, so that what is kept of it here does not grow with
// each world that ever was: it is none of Peers then, Tell and Send to it return ErrNowhere, or
// their requests come back as Gone, and what still comes from it late is refused with ErrCarrier.
// Its number is never used again. If that world was Done before, nothing is lost or doubled by it.
// Worlds whose numbers follow each other take next to nothing.
//
// By a *World, which must be idle, it acts at once; by a *Port it waits for
// refreshes, and until that is on disk, or ctx ends: then call it again, as nothing is sent to that
// world before it is done. What is told meanwhile is sent afterwards. It panics for other actors.
func (r *Roads) Resolve(ctx context.Context, by world.Actor, peer World, how Resolution) (n int, err error) {
	r.engine.MustOwn(by, r.name)
	if how == 0 || how >= resolutions {
		panic(fmt.Sprintf("transit: Roads.Resolve of %q with the resolution %d; use Return, Drop or Forget", r.name, how))
	}
	x := resolve{Peer: peer, How: how, Era: uint64(clock().UnixNano())} // later than an Era of a world that was restored
	for {
		var part part
		switch self := engine.Is(by).(type) {
		case *engine.World:
			err = r.now(self, "Roads.Resolve", func(tx *world.Tx) (err error) {
				part, err = r.resolve(tx, x)
				return err
			})
		case *engine.Port:
			if part, err = r.resolving.Ask(ctx, (*world.Port)(self), x); err == nil {
				err = r.engine.Wait(ctx)
			}
		default:
			panic(fmt.Sprintf("transit: Roads.Resolve of %q within a tick; an operator calls it, by a *world.Port or the idle *world.World", r.name))
		}
		if n += part.Done; err != nil || part.Left == 0 {
			return n, err
		}
		x.Last, x.Of = part.Last, part.Of
	}
}

// part is what one transaction of Resolve has done.
type part struct {
	Done, Left int
	Last, Of   uint64 // for the next one
}

// resolve does a part of the work. While an operator resolves, nothing is sent.
func (r *Roads) resolve(tx *world.Tx, x resolve) (part, error) {
	c := r.look(x.Peer) // a world that was restored may not know the other at all
	switch {
	case x.Peer == 0 || x.Peer == r.world || x.How == 0 || x.How >= resolutions || r.hasForgotten(x.Peer):
		return part{}, ErrNowhere
	case r.find(x.Peer) == nil && r.peersWith(x.Peer) > PeersMax:
		return part{}, ErrPeers
	}
	o, n, why := &c.out, 0, Reason(0)
	if o.resolving == Forget { // nothing is sent any more, so nobody may begin the channel anew
		x.How, x.Last = Forget, 0
	}
	if x.How != Drop {
		why = Resolved
	}
	switch {
	case x.Last == 0 || x.How == Forget: // nothing may be left then, whatever another Resolve does meanwhile
		x.Last, x.Of = o.next-1, o.era
	case x.Of != o.era: // another Resolve has ended meanwhile
		return part{}, nil
	}
	all := o.items()[:max(min(x.Last, o.next-1), o.acked)-o.acked]
	t := ending{r: r, tx: tx, c: c}
	for range all {
		done, err := t.end(o.acked+uint64(n)+1, why)
		if err != nil {
			return part{}, err
		}
		if !done {
			break
		}
		n++
	}
	if n == 0 && len(all) > 0 {
		return part{}, world.ErrChunks // nothing was done, and nothing will be
	}
	did := part{n, len(all) - n, x.Last, x.Of}
	d := draft{kind: resolved, peer: c.peer, n: o.acked + uint64(n), era: max(x.Era, o.era+1), how: x.How, ends: did.Left == 0}
	return did, r.write(tx, "Roads.Resolve", d)
}

// watch returns a channel that gets a value when something is there to carry to a world.
func (r *Roads) watch(peer World) (wake chan struct{}, over func()) {
	wake = make(chan struct{}, 1)
	x := &r.waiting
	x.Lock()
	defer x.Unlock()
	x.all[peer] = append(x.all[peer], wake)
	return wake, func() {
		x.Lock()
		defer x.Unlock()
		x.all[peer] = slices.DeleteFunc(x.all[peer], func(c chan struct{}) bool { return c == wake })
		if len(x.all[peer]) == 0 {
			delete(x.all, peer)
		}
	}
}

// tell wakes the carriers to a world.
func (r *Roads) tell(peer World) {
	x := &r.waiting
	x.Lock()
	defer x.Unlock()
	for _, c := range x.all[peer] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (r *Roads) tellAll() {
	for _, c := range r.channels {
		r.tell(c.peer)
	}
}
