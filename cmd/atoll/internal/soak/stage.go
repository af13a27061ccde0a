package soak

import (
	"context"
	"io"
	"math/rand/v2"
	"time"

	"go.uber.org/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

const (
	veteransN      = 64
	guestShare     = 8 // one of so many entities is a guest
	outboxRequests = 1 << 12
)

// stage is the world, its entities and the books.
//
// Ownership: herds and heard belong to the systems of their shard while a tick
// runs, to the conductor between; each client's book to the client, and to the
// conductor while it rests.
type stage struct {
	findings
	config    Config
	w         *world.World
	scheduler *scheduler.Scheduler

	animals  *world.Bundle[animal]
	guests   *world.Bundle[guest]
	labelled *world.Bundle[labelled]
	values   *world.Component[value]
	badges   *world.Component[badge]
	labels   *world.Component[label]
	words    *world.Message[word]
	orders   *world.Message[order]
	shouts   *world.Message[shout]

	veterans []handle.Handle
	herds    []*herd   // by shard
	hearing  []hearing // by veteran
	clients  []*client
	rest     rest
	ended    atomic.Bool
	thrown   atomic.Uint64 // panics of systems on purpose
	elapsed  float64       // seconds since the last tick; set between ticks
	quiet    bool          // systems send nothing; set between ticks

	patience context.Context // ends when clients have waited too long
	giveUp   context.CancelFunc
}

// newStage makes the world, its herds, clients and veterans.
func newStage(c Config, live io.Writer) (*stage, error) {
	w, err := world.New(c.options())
	if err != nil {
		return nil, err
	}
	world.Register[tag](w, "tag")
	world.Register[twin](w, "twin")
	world.Register[position](w, "position")
	world.Register[velocity](w, "velocity")
	world.Register[ear](w, "ear")
	s := &stage{
		findings: findings{live: live}, config: c, w: w,
		values: world.Register[value](w, "value"),
		badges: world.Register[badge](w, "badge"),
		labels: world.Register[label](w, "label"),
		words:  world.RegisterMessage[word](w, "word"),
		orders: world.RegisterMessage[order](w, "order"),
		shouts: world.RegisterMessage[shout](w, "shout"),

		animals: world.NewBundle[animal](w), guests: world.NewBundle[guest](w), labelled: world.NewBundle[labelled](w),
	}
	s.patience, s.giveUp = context.WithCancel(context.Background())
	if err := s.populate(); err != nil {
		return nil, err
	}
	s.scheduler = scheduler.New(w, scheduler.Options{Workers: c.Workers})
	return s, s.addSystems()
}

// populate creates the veterans and makes the other books.
func (s *stage) populate() error {
	c, shards := &s.config, s.w.Shards()
	all := world.NewBundle[veteran](s.w)
	for i := range uint32(veteransN) {
		h, err := all.Create(s.w, veteran{tag{veteranMaker, i, i + 1}, twin{i + 1}, ear{}})
		if err != nil {
			return err
		}
		s.veterans = append(s.veterans, h)
		s.hearing = append(s.hearing, hearing{orders: make([]uint32, c.Clients), shouts: make([]uint32, shards)})
	}
	quota := max(16, c.Entities/guestShare/c.Clients)
	for i := range c.Clients {
		p, err := s.w.OpenPort()
		if err != nil {
			return err
		}
		s.clients = append(s.clients, newClient(s, uint32(i), p, quota))
	}
	animals := max(c.Entities-veteransN-quota*c.Clients, shards)
	for i := range shards {
		s.herds = append(s.herds, newHerd(s, uint32(i), animals*(i+1)/shards-animals*i/shards))
	}
	return nil
}

// newRand returns the random numbers of one client or system.
func (c *Config) newRand(actor uint32) *rand.Rand {
	return rand.New(rand.NewPCG(c.Seed, uint64(actor)))
}

// The components. Each repeats the serial number in the entity's tag, so
// that mixed-up columns are detected.
type (
	// tag names the book that has the entity, and the place in it.
	tag      struct{ Maker, Place, Serial uint32 }
	twin     struct{ Serial uint32 }
	position struct{ X, Y float32 }
	velocity struct{ X, Y float32 }
	value    struct{ N uint32 }     // how often its client set it
	ear      struct{ Heard uint32 } // how many messages it heard
	badge    struct{ Serial uint32 }
	label    struct{ Text string } // has a pointer
)

// The bundles.
type (
	animal struct {
		tag
		twin
		position
		velocity
	}
	guest struct {
		tag
		twin
		value
		ear
	}
	veteran struct {
		tag
		twin
		ear
	}
	labelled struct{ label }
)

// The messages. N counts those of one sender to one receiver, from 1.
type (
	word  struct{ N uint32 }         // of a client to its guest
	order struct{ Client, N uint32 } // of a client to a veteran
	shout struct{ Shard, N uint32 }  // of a system to a veteran
)

// Makers: the herds have the numbers of their shards, clients theirs from
// guestMaker on.
const (
	guestMaker   = 1 << 16
	veteranMaker = 1 << 17
)

// labels are the texts of labels, by serial number.
var labels = [...]string{"amber", "beryl", "coral", "diamond", "emerald", "flint", "garnet", "hyacinth"}

func labelOf(serial uint32) label { return label{labels[serial%uint32(len(labels))]} }

// grave is the handle of an entity whose destruction was requested.
type grave struct {
	h   handle.Handle
	due uint64 // the tick from which on it must be stale
}

// graveyard keeps the newest dead handles.
type graveyard struct {
	graves []grave // a ring
	next   int
}

func newGraveyard(n int) graveyard { return graveyard{graves: make([]grave, 0, n)} }

func (g *graveyard) add(h handle.Handle, due uint64) {
	if len(g.graves) < cap(g.graves) {
		g.graves = append(g.graves, grave{h, due})
		return
	}
	g.graves[g.next] = grave{h, due}
	g.next = (g.next + 1) % len(g.graves)
}

// rest stops the clients: first all stop offering contests, then they
// wait for what they have sent, then they wait for the release.
//
// Ownership: resume is the conductor's, written before asked.
type rest struct {
	asked    atomic.Bool
	stopped  atomic.Int32 // clients that offer nothing
	parked   atomic.Int32
	contests atomic.Int32 // under way
	resume   chan struct{}
}

// ask makes the clients park.
func (r *rest) ask() {
	r.stopped.Store(0)
	r.parked.Store(0)
	r.resume = make(chan struct{})
	r.asked.Store(true) // publishes resume
}

// release lets them continue.
func (r *rest) release() {
	r.asked.Store(false)
	close(r.resume)
}

// park waits until the audit is over.
func (c *client) park() {
	r := &c.s.rest
	resume := r.resume
	r.stopped.Inc()
	for int(r.stopped.Load()) < len(c.s.clients) || r.contests.Load() > 0 || c.port.Waiting() > 0 || c.watches.newest() != nil {
		if c.s.patience.Err() != nil {
			return
		}
		c.serve()
		c.watches.settle(c)
		time.Sleep(time.Millisecond)
	}
	r.parked.Inc()
	<-resume
}
