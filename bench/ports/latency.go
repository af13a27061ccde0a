package main

import (
	"slices"
	"sync"
	"time"

	"github.com/atoll-sim/atoll/world"
)

// calls measures how long the sender's calls to create and to destroy take,
// while the world ticks and applies the requests.
type calls struct {
	resident int
	samples  int // of each goroutine
}

// callCell is a line of the table.
type callCell struct {
	call           string
	goroutines     int
	p50, p99, p999 time.Duration
	most           time.Duration
}

func (k *calls) run(goroutines int) []callCell {
	s := setting{goroutines: goroutines, chunk: chunkSize}
	t := newTicking(k.resident, 2*s.places()*s.chunk)
	t.start(tickInterval)
	defer t.stop()
	creates, destroys := make([][]time.Duration, goroutines), make([][]time.Duration, goroutines)
	var all sync.WaitGroup
	for g := range goroutines {
		p, err := t.w.OpenPort()
		must(err)
		all.Go(func() { creates[g], destroys[g] = k.send(t, p, s) })
	}
	all.Wait()
	return []callCell{
		quantiles("create", goroutines, slices.Concat(creates...)),
		quantiles("destroy", goroutines, slices.Concat(destroys...)),
	}
}

// send times each call, without waiting for room in the queue.
func (k *calls) send(t *ticking, p *world.Port, s setting) (creates, destroys []time.Duration) {
	creates, destroys = make([]time.Duration, 0, k.samples), make([]time.Duration, 0, k.samples)
	w := newAtollWorker(t.movers, p, s)
	var created, destroyed world.Completion
	for len(creates) < k.samples {
		all := w.handles[0][:0]
		for i := range chunkSize {
			if i == chunkSize-1 {
				p.Notify(&created)
			}
			start := time.Now()
			h, err := t.movers.Create(p, mover{Position{1, 1}, Velocity{1, 1}})
			creates = append(creates, time.Since(start)-clockCost)
			must(err)
			all = append(all, h)
		}
		await(&created)
		for i, h := range all {
			if i == chunkSize-1 {
				p.Notify(&destroyed)
			}
			start := time.Now()
			err := p.Destroy(h)
			destroys = append(destroys, time.Since(start)-clockCost)
			must(err)
		}
		await(&destroyed)
		w.handles[0] = all
	}
	return creates, destroys
}

func quantiles(call string, goroutines int, samples []time.Duration) callCell {
	slices.Sort(samples)
	at := func(q float64) time.Duration { return max(0, samples[int(q*float64(len(samples)-1))]) }
	return callCell{call: call, goroutines: goroutines, p50: at(0.5), p99: at(0.99), p999: at(0.999), most: at(1)}
}
