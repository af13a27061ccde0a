package main

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// tickInterval is how often the world ticks while ports act on it. A server ticks
// twenty times less often, and does the work of a tick that much less
// often.
const tickInterval = time.Millisecond

// mover is the bundle.
type mover struct {
	Position
	Velocity
}

// ticking is a world that ticks during the measurements.
type ticking struct {
	w         *world.World
	scheduler *scheduler.Scheduler
	movers    *world.Bundle[mover]
	over      atomic.Bool
	ended     sync.WaitGroup
}

func newTicking(resident, queue int) *ticking {
	w := world.MustNew(world.Options{QueueRequests: queue, QueueBytes: queue * 256})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	t := &ticking{w: w, movers: world.NewBundle[mover](w), scheduler: scheduler.New(w, scheduler.Options{})}
	must(t.movers.CreateN(w, resident, initMover))
	return t
}

// start makes ticks until stop. If a tick took longer than the interval, the next one
// begins at once.
func (t *ticking) start(interval time.Duration) {
	t.over.Store(false)
	t.ended.Go(func() {
		for !t.over.Load() {
			due := time.Now().Add(interval)
			must(t.scheduler.Step(context.Background()))
			if wait := time.Until(due); wait > 0 {
				time.Sleep(wait)
			} else {
				runtime.Gosched()
			}
		}
	})
}

func (t *ticking) stop() {
	t.over.Store(true)
	t.ended.Wait()
}

// openAtoll has a port for each goroutine, and ticks while they work.
func openAtoll(s setting) field {
	t := newTicking(s.resident, 2*s.places()*s.chunk)
	workers := make([]*atollWorker, s.goroutines)
	for i := range workers {
		p, err := t.w.OpenPort()
		must(err)
		workers[i] = newAtollWorker(t.movers, p, s)
	}
	return field{
		worker: func(i int) worker { return workers[i] },
		begin:  func() { t.start(tickInterval) },
		end: func() {
			for _, w := range workers {
				for i := range w.places() {
					await(&w.created[i])
					await(&w.destroyed[i])
				}
			}
			t.stop()
		},
		count: t.w.Count,
	}
}

// atollWorker waits for the outcome of the last request of each chunk. It destroys a chunk only
// after its entities were created, so it never has more under way than a queue holds.
type atollWorker struct {
	setting
	movers    *world.Bundle[mover]
	port      *world.Port
	handles   [][]handle.Handle
	created   []world.Completion
	destroyed []world.Completion
}

func newAtollWorker(movers *world.Bundle[mover], p *world.Port, s setting) *atollWorker {
	n := s.places()
	return &atollWorker{s, movers, p, make([][]handle.Handle, n), make([]world.Completion, n), make([]world.Completion, n)}
}

func (a *atollWorker) create(place int) {
	dst := a.handles[place][:0]
	if a.batch {
		a.port.Notify(&a.created[place])
		all, err := a.movers.AppendN(dst, a.port, a.chunk, initMover)
		must(err)
		dst = all
	}
	for len(dst) < a.chunk {
		if len(dst) == a.chunk-1 {
			a.port.Notify(&a.created[place])
		}
		h, err := a.movers.Create(a.port, mover{Position{1, 1}, Velocity{1, 1}})
		must(err)
		dst = append(dst, h)
	}
	a.handles[place] = dst
}

func (a *atollWorker) destroy(place int) {
	await(&a.created[place])
	await(&a.destroyed[place])
	if a.batch {
		a.port.Notify(&a.destroyed[place])
		must(a.port.DestroyN(a.handles[place]))
		return
	}
	for i, h := range a.handles[place] {
		if i == a.chunk-1 {
			a.port.Notify(&a.destroyed[place])
		}
		must(a.port.Destroy(h))
	}
}

// await waits for an outcome, unless c is nil.
func await(c *world.Completion) {
	if o, err := c.Wait(context.Background()); err != nil || o != world.Applied && o != world.Undecided {
		panic(errors.Join(errors.New(o.String()), err))
	}
}

func initMover(_ int, m *mover) { *m = mover{Position{1, 1}, Velocity{1, 1}} }

// must panics on an error, because the measurement would be wrong.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
