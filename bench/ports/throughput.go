package main

import (
	"fmt"
	"sync"
	"time"
)

// cell is one line of the table of throughput: so many goroutines.
type cell struct {
	goroutines int
	entrants   []*entrant
}

// entrant is a contender in a cell, one by one or in batches.
type entrant struct {
	contender
	batch   bool
	field   field
	workers []worker
	ns      []float64 // per operation, by round: of the clock
	cpu     []float64 // of all cores
}

// throughput measures creating and destroying, from the first call until the last
// is applied.
type throughput struct {
	resident int
	chunks   int // in a round, of all goroutines together
	rounds   int
}

func (t *throughput) run(goroutines int) (*cell, error) {
	c := &cell{goroutines: goroutines}
	for _, batch := range []bool{false, true} {
		for _, x := range contenders {
			e := &entrant{contender: x, batch: batch, field: x.open(setting{goroutines, t.resident, batch})}
			for i := range goroutines {
				e.workers = append(e.workers, e.field.worker(i))
			}
			c.entrants = append(c.entrants, e)
		}
	}
	for round := range t.rounds + 1 { // the first one warms up
		for i := range c.entrants {
			e := c.entrants[(i+round)%len(c.entrants)]
			chunks := t.chunks
			if e.slow {
				chunks /= 10
			}
			e.round(max(chunks/goroutines, places(goroutines)+1), places(goroutines), round > 0)
			if n := e.field.count(); n != t.resident {
				return nil, fmt.Errorf("%s has %d entities after a round, want %d", e.name, n, t.resident)
			}
		}
	}
	return c, nil
}

// round has each worker create and destroy so many chunks, in so many places.
func (e *entrant) round(chunks, places int, counts bool) {
	settle()
	e.field.begin()
	cpu, start := processTime(), time.Now()
	var all sync.WaitGroup
	for _, w := range e.workers {
		all.Go(func() {
			for k := range chunks {
				if k >= places {
					w.destroy(k % places)
				}
				w.create(k % places)
			}
			for k := chunks; k < chunks+places; k++ {
				w.destroy(k % places)
			}
		})
	}
	all.Wait()
	e.field.end()
	if counts {
		ops := float64(2 * chunks * chunkSize * len(e.workers))
		e.ns = append(e.ns, float64(time.Since(start))/ops)
		e.cpu = append(e.cpu, float64(processTime()-cpu)/ops)
	}
}

// find returns an entrant.
func (c *cell) find(name string, batch bool) *entrant {
	for _, e := range c.entrants {
		if e.name == name && e.batch == batch {
			return e
		}
	}
	panic("no entrant " + name)
}

// speedup is how many times as much of as b: the median over the rounds, in each
// of which both had their turn.
func speedup(a, b *entrant) float64 {
	ratios := make([]float64, len(a.ns))
	for i := range ratios {
		ratios[i] = b.ns[i] / a.ns[i]
	}
	return median(ratios)
}
