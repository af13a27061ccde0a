package linear_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// shape is what a history is made with.
type shape struct {
	options    world.Options
	ports      int  // clients, each with a port at a time
	operations int  // of each of them
	systems    bool // shards act, too
	reopen     bool // clients close ports and open others
}

// newShape draws the shape of a history. Slots are few and are soon used up, so that
// clients meet on them and what comes after the last version happens.
func newShape(r *rand.Rand) shape {
	return shape{
		options: world.Options{
			Shards: 1 + r.IntN(3), VersionMax: 1 + r.Uint32N(4), IndexMax: []uint32{3, 15, 63, 255}[r.IntN(4)],
			QueueRequests: 2 + r.IntN(8), OutboxRequests: 1 + r.IntN(4), PortsMax: 64,
		},
		ports: 4 + r.IntN(13), operations: 14 + r.IntN(8), systems: r.IntN(2) == 0, reopen: r.IntN(4) == 0,
	}
}

func (s shape) rules() rules {
	return rules{versionMax: s.options.VersionMax, outside: uint32(s.options.Shards)}
}

type unit struct{ name }
type name struct{ N int }

// stage is one world and the clients that act on it.
type stage struct {
	shape
	clock
	seed     uint64
	w        *world.World
	units    *world.Bundle[unit]
	known    [6]atomic.Uint64 // handles that clients were given, for all of them
	requests atomic.Uint32    // names given to requests whose outcome is waited for
	progress atomic.Int64     // operations that ports have done
	running  atomic.Int64     // ports still at it
	came     atomic.Int64     // how often one began to wait for a refresh
	left     atomic.Int64     // and how often one was done with that
	shards   []actor
	world    actor
	refresh  ledger
}

// actor is a client that is no port.
type actor struct {
	*stage
	ledger
}

func newStage(s shape, seed uint64) *stage {
	st := &stage{shape: s, seed: seed, w: world.MustNew(s.options)}
	engine.Of(st.w).Scatter(1)
	world.Register[name](st.w, "name")
	st.units = world.NewBundle[unit](st.w)
	for i := range s.options.Shards {
		st.shards = append(st.shards, st.actor(100+i))
	}
	st.world = st.actor(200)
	st.refresh = ledger{client: 201}
	return st
}

func (s *stage) actor(client int) actor {
	return actor{s, ledger{client: client, clock: &s.clock, r: rand.New(rand.NewPCG(s.seed, uint64(client)))}}
}

// play lets the clients loose on the world and returns what everybody did.
func (s *stage) play() []record {
	ticks := scheduler.New(s.w, scheduler.Options{Workers: s.options.Shards})
	if s.systems {
		ticks.MustAdd("act", s.act)
	}
	clients := make([]*client, s.ports)
	var start, all sync.WaitGroup
	start.Add(1)
	for i := range clients {
		clients[i] = newClient(s, i)
		s.running.Add(1)
		all.Go(func() {
			start.Wait()
			clients[i].play()
			s.running.Add(-1)
		})
	}
	start.Done()
	for s.running.Load() > 0 {
		s.world.actIdle()
		s.tick(ticks)
	}
	all.Wait()
	for range 2 { // the last requests
		s.tick(ticks)
	}
	for i := range s.known {
		s.world.lookAt(s.w, idle, handle.Handle(s.known[i].Load()))
	}
	records := append(s.world.records, s.refresh.records...)
	for i := range s.shards {
		records = append(records, s.shards[i].records...)
	}
	for _, c := range clients {
		records = append(records, c.records...)
	}
	return records
}

// tick waits until clients have done something, or can do nothing more, and makes
// one tick.
func (s *stage) tick(ticks *scheduler.Scheduler) {
	for due := s.progress.Load() + 1 + s.world.r.Int64N(16); s.progress.Load() < due && s.came.Load()-s.left.Load() < s.running.Load(); {
		runtime.Gosched()
	}
	waiting, began := s.came.Load(), s.now()
	if err := ticks.Step(context.Background()); err != nil {
		panic(err)
	}
	for i := range s.shards { // systems are done before the refresh begins
		if n := len(s.shards[i].records); n > 0 {
			began = max(began, s.shards[i].records[n-1].returned)
		}
	}
	ended := s.now()
	for s.left.Load() < waiting { // each is served by this refresh
		runtime.Gosched()
	}
	for step := cut; step <= settle; step++ {
		if step != settle || s.reopen {
			s.refresh.records = append(s.refresh.records, record{client: int(s.refresh.client + int(step)), verb: step, called: began, returned: ended})
		}
	}
}

// publish makes a handle known to everybody.
func (s *stage) publish(h handle.Handle, r *rand.Rand) {
	s.known[r.IntN(len(s.known))].Store(uint64(h))
}

// pick returns a known handle, now and then that of another version.
func (s *stage) pick(r *rand.Rand) handle.Handle {
	h := handle.Handle(s.known[r.IntN(len(s.known))].Load())
	switch {
	case h.IsNone():
	case r.IntN(10) == 0:
		return h + 1
	case r.IntN(20) == 0 && h.Version() > 1:
		return h - 1
	}
	return h
}

// lookAt asks what the handle stands for, in one way or the other.
func (a *actor) lookAt(by world.Actor, as holder, h handle.Handle) {
	if h.IsNone() {
		return
	}
	if a.r.IntN(4) == 0 {
		r := a.begin(check, as, h)
		r.ok = by.Alive(h)
		a.end(r)
		return
	}
	r := a.begin(look, as, h)
	r.status = by.Status(h)
	a.end(r)
}

// act is a system: it creates, destroys and looks.
func (s *stage) act(b *world.Build) func(*world.Context) {
	b.Creates(s.units)
	a := &s.shards[b.Shard()]
	return func(c *world.Context) {
		for range a.few() {
			h := s.pick(a.r)
			as := elsewhere
			if c.Owns(h) {
				as = owner
			}
			switch what := a.r.IntN(5); {
			case what == 0:
				a.create(c, owner)
			case h.IsNone():
			case what == 1:
				r := a.begin(destroy, as, h)
				r.rank = uint8(a.client)
				err := c.Destroy(h)
				r.ok = err == nil
				a.end(r)
				if err == world.ErrFull {
					a.drop()
				}
			default:
				a.lookAt(c, as, h)
			}
		}
	}
}

// few is how many operations to do now; in the end there are no more than of a port.
func (a *actor) few() int { return min(a.r.IntN(3), a.operations-len(a.records)) }

// actIdle acts as the world between ticks.
func (a *actor) actIdle() {
	for range a.few() {
		h := a.pick(a.r)
		switch what := a.r.IntN(5); {
		case what == 0:
			a.create(a.w, idle)
		case h.IsNone():
		case what < 3:
			r := a.begin(destroy, idle, h)
			r.ok = a.w.Destroy(h)
			a.end(r)
			for range 3 { // others are to look at it before it goes
				a.publish(h, a.r)
			}
		default:
			a.lookAt(a.w, idle, h)
		}
	}
}

// create makes an entity that is alive at once.
func (a *actor) create(by world.Actor, as holder) {
	r := a.begin(create, as, handle.None)
	var err error
	r.h, err = a.units.Create(by, unit{})
	a.end(r)
	if err != nil {
		mustBeLimit(err)
		a.drop()
		return
	}
	a.publish(r.h, a.r)
}

func mustBeLimit(err error) {
	if !errors.Is(err, world.ErrFull) && !errors.Is(err, world.ErrIndexes) {
		panic(fmt.Sprintf("a client met %v", err))
	}
}
