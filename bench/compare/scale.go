package main

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

const (
	scaleShards = 512 // four for each of the largest number of cores in the model
	scaleRounds = 15
)

// scale is the input of the model of more cores, all measured in one run. Times
// are nanoseconds: the least of scaleRounds for costs, medians for ticks and their parts.
type scale struct {
	node  float64 // a system that does nothing, on a shard
	fence float64 // a shard's part in a fence, on one worker
	count float64 // taking one from a counter that two goroutines share
	start float64 // starting a goroutine, up to its end

	systems [][]float64 // the battle's, by system and shard, shard after shard as one worker runs them
	apart   [][]float64 // the same, system after system, as with fences
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
		m.ticks[0], m.ticks[1] = wholeTicks(n)
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
// With fences each system waits until the one before is done on all shards.
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

// countCost is the cost of an item when two goroutines take items from one counter.
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

// startCost is the cost of starting a goroutine and of its end.
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

// fight measures each part of the battle's ticks, one after the other. In one tick it runs shard
// after shard, as a worker does: what a system has read is in the cache for the next. In the other
// it runs system after system, and the cache has read all other shards in between.
func (m *scale) fight(n int) {
	a := newAtollArmy(scaleShards, n)
	type node struct {
		run    func(*world.Context)
		access *extend.Access
		ns     [2][]float64 // by order
	}
	systems := a.systems()
	nodes := make([][]node, len(systems))
	for i, x := range systems {
		for shard := range scaleShards {
			b := engine.Of(a.World).NewBuild(shard, x.name)
			run := x.construct((*world.Build)(b))
			nodes[i] = append(nodes[i], node{run: run, access: b.Finish()})
		}
	}
	run := func(order, i, shard int) {
		node, c := &nodes[i][shard], engine.Of(a.World).Context(shard)
		began := time.Now()
		c.Acting().Start(systems[i].name, node.access)
		node.run((*world.Context)(c))
		c.Acting().Returned()
		c.Acting().Stop()
		node.ns[order] = append(node.ns[order], float64(time.Since(began)))
	}
	var ends ends
	for round := range battleTurns.settle + 2*scaleRounds {
		t := engine.Of(a.World).BeginTick()
		if round%2 == 0 {
			for shard := range scaleShards {
				for i := range systems {
					run(0, i, shard)
				}
			}
		} else {
			for i := range systems {
				for shard := range scaleShards {
					run(1, i, shard)
				}
			}
		}
		if round == battleTurns.settle-1 {
			ends.forget()
			for i := range nodes {
				for k := range nodes[i] {
					nodes[i][k].ns = [2][]float64{}
				}
			}
		}
		ends.end(t)
	}
	costs := func(order int) (all [][]float64) {
		for i := range nodes {
			of := make([]float64, scaleShards)
			for shard := range nodes[i] {
				of[shard] = median(nodes[i][shard].ns[order])
			}
			all = append(all, of)
		}
		return all
	}
	m.systems, m.apart = costs(0), costs(1)
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

// ends are the times of the ends of ticks: the items of the steps of the refresh that
// could run in parallel, by step and item, and the rest.
type ends struct {
	steps [][][]float64
	alone []float64
}

func (e *ends) forget() { *e = ends{} }

// end ends a tick.
func (e *ends) end(t *engine.Tick) {
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

// wholeTicks measures ticks of the battle with one worker and with two, in turn.
func wholeTicks(n int) (one, two float64) {
	var ns [2][]float64
	var battles [2]game
	for i := range battles {
		battles[i] = atollBattle(scaleShards, i+1, n)
		for range battleTurns.settle {
			battles[i].tick()
		}
	}
	for range scaleRounds {
		for i := range battles {
			ns[i] = append(ns[i], least(1, battles[i].tick))
		}
	}
	return median(ns[0]), median(ns[1])
}
