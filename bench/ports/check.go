package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// looker checks handles, or reads something for comparison.
type looker struct {
	name string
	look func(goroutine, n int) (hits int)
}

// checks measures the processor time of one check: by one goroutine, by two at the
// same time, and while the world ticks.
type checks struct {
	entities int
	each     int // checks of a goroutine in a round
	rounds   int
}

// checkCell is a line of the table: nanoseconds of processor time for each check.
type checkCell struct {
	name               string
	entities           int
	one, two           []float64 // by round
	ticking, twoTicked []float64
}

func (k *checks) run() []*checkCell {
	t := newTicking(k.entities, 1<<12)
	pos := world.Write[Position]
	t.scheduler.MustAdd("move", func(b *world.Build) func(*world.Context) {
		p, v := pos(b), world.Read[Velocity](b)
		moving := b.Query(p, v)
		return func(c *world.Context) {
			for ch := range moving.Chunks() {
				ps, vs := p.Slice(ch), v.Slice(ch)
				for i := range ps {
					ps[i].X += vs[i].X * c.Delta()
					ps[i].Y += vs[i].Y * c.Delta()
				}
			}
		}
	})
	must(t.scheduler.Step(context.Background()))
	lookers := k.lookers(t)
	cells := make([]*checkCell, len(lookers))
	for i, l := range lookers {
		cells[i] = &checkCell{name: l.name, entities: k.entities}
	}
	for range k.rounds {
		for i, l := range lookers {
			c := cells[i]
			c.one = append(c.one, k.look(l, 1))
			c.two = append(c.two, k.look(l, 2))
			t.start(10 * time.Millisecond)
			c.ticking = append(c.ticking, k.look(l, 1))
			c.twoTicked = append(c.twoTicked, k.look(l, 2))
			t.stop()
		}
	}
	return cells
}

// lookers are Alive and Status through a port for each goroutine, and reads of a
// slice that no other goroutine has, which shows what the cores and their memory allow.
func (k *checks) lookers(t *ticking) []looker {
	var ports [2]*world.Port
	var handles [2][]handle.Handle
	var words [2][]uint64
	for i := range ports {
		p, err := t.w.OpenPort()
		must(err)
		ports[i] = p
		for ch := range t.w.Query().Chunks() {
			handles[i] = append(handles[i], ch.Handles()...)
		}
		r := rand.New(rand.NewPCG(1, uint64(i)))
		r.Shuffle(len(handles[i]), func(a, b int) { handles[i][a], handles[i][b] = handles[i][b], handles[i][a] })
		words[i] = make([]uint64, k.entities)
	}
	return []looker{
		{"Port.Alive", func(g, n int) (hits int) {
			p, all := ports[g], handles[g]
			for at := 0; n > 0; n-- {
				if p.Alive(all[at]) {
					hits++
				}
				if at++; at == len(all) {
					at = 0
				}
			}
			return hits
		}},
		{"Port.Status", func(g, n int) (hits int) {
			p, all := ports[g], handles[g]
			for at := 0; n > 0; n-- {
				if p.Status(all[at]) == world.Alive {
					hits++
				}
				if at++; at == len(all) {
					at = 0
				}
			}
			return hits
		}},
		{"a slice of one's own", func(g, n int) (hits int) {
			own, all := words[g], handles[g]
			for at := 0; n > 0; n-- {
				if own[uint64(all[at]>>handle.VersionBits)%uint64(len(own))] == 0 {
					hits++
				}
				if at++; at == len(all) {
					at = 0
				}
			}
			return hits
		}},
	}
}

// look returns the processor time of a check, made by several goroutines at the same
// time.
func (k *checks) look(l looker, goroutines int) float64 {
	runtime.GC()
	var all sync.WaitGroup
	spent := make([]time.Duration, goroutines)
	ready := make(chan struct{})
	for g := range goroutines {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			l.look(g, k.each/8) // warms up
			<-ready
			start := threadTime()
			if hits := l.look(g, k.each); hits != k.each {
				panic("somebody alive is not found")
			}
			spent[g] = threadTime() - start
		})
	}
	close(ready)
	all.Wait()
	sum := time.Duration(0)
	for _, d := range spent {
		sum += d
	}
	return float64(sum) / float64(goroutines) / float64(k.each)
}
