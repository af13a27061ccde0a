package main

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/driver"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

const (
	scaleShards = 512 // four for each of the most cores that are projected
	scaleRounds = 15
)

// scale is what the model of more cores is made of, all measured in one run. Times
// are nanoseconds: of costs and of whole ticks the least of scaleRounds, of the
// parts of a tick the medians.
type scale struct {
	node  float64 // a system that does nothing, on a shard
	fence float64 // a shard's part in a fence, on one worker
	count float64 // taking one from a counter that two goroutines take from
	start float64 // starting a goroutine, up to its end

	systems [][]float64 // the battle's, by system and shard
	refresh [][]float64 // its refresh: steps that can run in parallel, by item
	alone   float64     // the rest of the refresh
	ticks   [2]float64  // its ticks by the scheduler, with one worker and with two
}

// scales are measured once for each number of entities.
var scales = map[int]*scale{}

func scaleOf(n int) *scale {
	if scales[n] == nil {
		m := &scale{count: countCost(), start: startCost()}
		m.node = emptyTick(false) / (emptyShards * emptySystems)
		m.fence = max(0, emptyTick(true)-emptyTick(false)) / (emptyShards * (emptySystems - 1))
		m.fight(n)
		m.ticks[0], m.ticks[1] = leastTicks(n)
		scales[n] = m
	}
	return scales[n]
}

const emptyShards, emptySystems = 64, 10

// least is the least time in nanoseconds of some runs of f.
func least(runs int, f func()) float64 {
	ns := math.Inf(1)
	for range runs {
		began := time.Now()
		f()
		ns = min(ns, float64(time.Since(began)))
	}
	return ns
}

// emptyTick is the least time of a tick of systems that do nothing, on one worker.
// With fences each waits for the one before on all shards.
func emptyTick(fences bool) float64 {
	w := world.MustNew(world.Options{Shards: emptyShards})
	world.Register[Position](w, "position")
	s := scheduler.New(w, scheduler.Options{Workers: 1})
	for i := range emptySystems {
		s.MustAdd(fmt.Sprint("empty ", i), func(b *world.Build) func(*world.Context) {
			switch {
			case fences && i%2 == 0:
				world.Write[Position](b)
			case fences:
				world.ReadForeign[Position](b)
			}
			return func(*world.Context) {}
		})
	}
	return least(100*scaleRounds, func() { check(s.Step(context.Background())) })
}

// countCost is what an item costs two goroutines that take items from one counter.
func countCost() float64 {
	const items = 100_000
	return least(scaleRounds, func() {
		var taken atomic.Int64
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				for taken.Add(1) < items {
				}
			})
		}
		both.Wait()
	}) / items
}

// startCost is what it takes to start a goroutine and have it end.
func startCost() float64 {
	const goroutines = 1000
	return least(scaleRounds, func() {
		var all sync.WaitGroup
		for range goroutines {
			all.Go(func() {})
		}
		all.Wait()
	}) / goroutines
}

// fight measures each part of the battle's ticks, one after the other.
func (m *scale) fight(n int) {
	a := newAtollArmy(scaleShards, n)
	type node struct {
		run    func(*world.Context)
		access *drive.Access
		ns     []float64
	}
	systems := a.systems()
	nodes := make([][]node, len(systems))
	m.systems = make([][]float64, len(systems))
	for i, x := range systems {
		m.systems[i] = make([]float64, scaleShards)
		for shard := range scaleShards {
			b := driver.Of(a.World).NewBuild(shard, x.name)
			run := x.construct(b)
			nodes[i] = append(nodes[i], node{run: run, access: driver.Of(a.World).Finish(b)})
		}
	}
	var ends ends
	for round := range battleTurns.settle + scaleRounds {
		t := driver.Of(a.World).BeginTick()
		for i, x := range systems {
			for shard := range nodes[i] {
				node, c := &nodes[i][shard], driver.Of(a.World).Context(shard)
				began := time.Now()
				driver.Acting(c).Start(x.name, node.access)
				node.run(c)
				driver.Acting(c).Returned()
				driver.Acting(c).Stop()
				node.ns = append(node.ns, float64(time.Since(began)))
			}
		}
		if round == battleTurns.settle-1 {
			ends.forget()
			for i := range nodes {
				for k := range nodes[i] {
					nodes[i][k].ns = nodes[i][k].ns[:0]
				}
			}
		}
		ends.end(t)
	}
	for i := range nodes {
		for shard := range nodes[i] {
			m.systems[i][shard] = median(nodes[i][shard].ns)
		}
	}
	m.alone = median(ends.alone)
	for _, items := range ends.steps {
		step := make([]float64, len(items))
		for i := range items {
			step[i] = median(items[i])
		}
		m.refresh = append(m.refresh, step)
	}
	check(same("number of entities", a.Count(), n))
}

// ends are what the ends of ticks took: the items of the steps of the refresh that
// could run in parallel, by step and item, and the rest.
type ends struct {
	steps [][][]float64
	alone []float64
}

func (e *ends) forget() { *e = ends{} }

// end ends a tick.
func (e *ends) end(t driver.Tick) {
	step, inSteps := 0, time.Duration(0)
	began := time.Now()
	t.End(func(n int, f func(int)) {
		first := time.Now()
		if step == len(e.steps) {
			e.steps = append(e.steps, nil)
		}
		items := &e.steps[step]
		for i := range n {
			if i == len(*items) {
				*items = append(*items, nil)
			}
			began := time.Now()
			f(i)
			(*items)[i] = append((*items)[i], float64(time.Since(began)))
		}
		step++
		inSteps += time.Since(first)
	})
	e.alone = append(e.alone, float64(time.Since(began)-inSteps))
}

// leastTicks measures whole ticks of the battle by one worker and by two, in turn.
func leastTicks(n int) (one, two float64) {
	var battles [2]game
	for i := range battles {
		battles[i] = atollBattle(scaleShards, i+1, n)
		for range battleTurns.settle {
			battles[i].tick()
		}
	}
	one, two = math.Inf(1), math.Inf(1)
	for range scaleRounds {
		one, two = min(one, least(1, battles[0].tick)), min(two, least(1, battles[1].tick))
	}
	return one, two
}
