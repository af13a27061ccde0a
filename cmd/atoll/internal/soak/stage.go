package soak

import (
	"context"
	"io"
	"math/rand/v2"
	"sync/atomic"

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
