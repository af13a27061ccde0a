package main

import (
	"fmt"
	"sync"
	"time"
)

// cell is one line of a table of throughput: a number of goroutines, and a size of chunks.
type cell struct {
	goroutines int
	chunk      int
	entrants   []*entrant
}

// entrant is a contender in a cell, one by one or in batches.
type entrant struct {
	contender
	setting
	field   field
	workers []worker
	ns      []float64 // per operation, by round: by the clock
	cpu     []float64 // the same, processor time of all cores
}

// throughput measures creating and destroying, from the first call until the last
// request is applied.
type throughput struct {
	resident int
	entities int // created in a round, by all goroutines together
	rounds   int
}

// run measures all contenders, one by one and in chunks.
func (t *throughput) run(goroutines int) (*cell, error) {
	c := &cell{goroutines: goroutines, chunk: chunkSize}
	for _, batch := range []bool{false, true} {
		for _, x := range contenders {
			c.enter(x, t.resident, batch)
		}
	}
	return c, t.measure(c)
}

// runSizes measures the first two contenders in chunks of each size.
func (t *throughput) runSizes(goroutines int) (cells []*cell, err error) {
	for _, n := range chunkSizes {
		c := &cell{goroutines: goroutines, chunk: n}
		for _, x := range contenders[:2] {
			c.enter(x, t.resident, true)
		}
		if err := t.measure(c); err != nil {
			return nil, err
		}
		cells = append(cells, c)
	}
	return cells, nil
}

func (c *cell) enter(x contender, resident int, batch bool) {
	s := setting{c.goroutines, resident, c.chunk, batch}
	e := &entrant{contender: x, setting: s, field: x.open(s)}
	for i := range c.goroutines {
		e.workers = append(e.workers, e.field.worker(i))
	}
	c.entrants = append(c.entrants, e)
}

func (t *throughput) measure(c *cell) error {
	for round := range t.rounds + 1 { // the first one warms up
		for i := range c.entrants {
			e := c.entrants[(i+round)%len(c.entrants)]
			entities := t.entities
			if e.slow {
				entities /= 10
			}
			e.round(max(entities/c.chunk/c.goroutines, e.places()+1), round > 0)
			if n := e.field.count(); n != t.resident {
				return fmt.Errorf("%s has %d entities after a round, want %d", e.name, n, t.resident)
			}
		}
	}
	return nil
}

// round has each worker create and destroy a number of chunks.
func (e *entrant) round(chunks int, counts bool) {
	places := e.places()
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
		ops := float64(2 * chunks * e.chunk * len(e.workers))
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

// speedup is how many times faster a is than b: the median over the rounds, each of which
// has both.
func speedup(a, b *entrant) float64 {
	ratios := make([]float64, len(a.ns))
	for i := range ratios {
		ratios[i] = b.ns[i] / a.ns[i]
	}
	return median(ratios)
}
