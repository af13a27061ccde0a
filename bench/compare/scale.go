package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
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
func (s *scale) fight(n int) {
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
	s.systems, s.apart = costs(0), costs(1)
	s.alone = median(ends.alone)
	for _, items := range ends.steps {
		step := make([]float64, len(items))
		for i := range items {
			step[i] = median(items[i])
		}
		s.refresh = append(s.refresh, step)
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

// scaleCores are the numbers of cores in the model. Ticks are also measured with the
// first two.
var scaleCores = []int{1, 2, 16, 64, 128}

var scaleCosts = &section{
	name:  "scale-costs",
	title: "What the scheduler and the refresh cost, for the model below",
	text: `Costs are the least of many runs, parts of a tick medians. A node is a system on a shard. The work of a tick is that of the battle, on 512 shards, one node after the
other on one core: in every other tick shard after shard, which is how a worker runs them, and otherwise system after system, which is how they run with fences. What a shard's next system
reads is then out of the cache.`,
	quick: 100_000, full: 1_000_000, weight: 3, cost: 10, alone: true,
	columns: []column{{"us", "µs"}},
	run: func(n int, _ settings) []finding {
		m := scaleOf(n)
		row := func(name string, ns float64) finding {
			return finding{Name: name, Rounds: scaleRounds, Values: map[string]float64{"us": ns / 1e3}}
		}
		found := []finding{
			row("an empty node, on one worker", m.node), row("a shard's part in a fence, on one worker", m.fence),
			row("an item from a counter that two goroutines take from", m.count), row("starting and ending a goroutine", m.start),
			row(fmt.Sprintf("all %d nodes of a tick, shard after shard", len(m.systems)*scaleShards), total(m.systems)),
			row("the same, system after system", total(m.apart)),
			row(fmt.Sprintf("its %d steps of the refresh that can run in parallel", len(m.refresh)), total(m.refresh)),
			row("the rest of its refresh", m.alone),
		}
		return found
	},
}

var scaleOut = &section{
	name:  "scale-out",
	title: "More cores: a model, not measurement",
	text: `The machine that this page was written on has two cores, so this is a model, not measurement: a projection of the battle's tick, on 512 shards, from
the costs above. For one core and two a measured tick stands beside it, the median of 15. It assumes that cores do not slow each other down: each has memory bandwidth and cache
as one alone has, and nothing else runs; that a worker which is done takes the costliest shard that is left; that workers are
started one after the other in each tick; that the counters of fences are counted down, and the parts of the refresh's steps claimed, by one core at a time, at the cost of a counter measured for two; and that
the rest of the refresh is done by one core. Ticks in which the collector runs, or the machine does something else, are longer. With
fences: every system waits for all shards to have passed the one before it. A real machine will be slower where memory bandwidth is what limits.`,
	quick: 100_000, full: 1_000_000, weight: 0.1, cost: 0.1, alone: true,
	columns: []column{
		{"ms", "model: tick, ms"}, {"speedup", "times one core"}, {"efficiency", "of ideal, %"}, {"fences_ms", "with fences, ms"},
		{"fences_speedup", "times one core"}, {"measured_ms", "measured: tick, ms"},
	},
	run: func(n int, _ settings) []finding {
		m := scaleOf(n)
		var found []finding
		for i, cores := range scaleCores {
			one, fencedOne := m.tick(1, false), m.tick(1, true)
			tick, fenced := m.tick(cores, false), m.tick(cores, true)
			name := "1 core"
			if cores > 1 {
				name = fmt.Sprintf("%d cores", cores)
			}
			f := finding{Name: name, Values: map[string]float64{
				"ms": tick / 1e6, "speedup": one / tick, "efficiency": 100 * one / tick / float64(cores),
				"fences_ms": fenced / 1e6, "fences_speedup": fencedOne / fenced,
			}}
			if i < len(m.ticks) {
				f.Values["measured_ms"] = m.ticks[i] / 1e6
			}
			found = append(found, f)
		}
		return found
	},
}

func total(parts [][]float64) (sum float64) {
	for _, part := range parts {
		for _, ns := range part {
			sum += ns
		}
	}
	return sum
}

// tick is how long a tick takes with a number of cores, in nanoseconds.
func (s *scale) tick(cores int, fences bool) float64 {
	ns := s.start*float64(cores-1) + s.alone
	contended := 0.0 // the extra cost of an item because the counter is contended
	if cores > 1 {
		contended = s.count
	}
	programs, systems := make([]float64, scaleShards), s.systems
	if fences {
		systems = s.apart
	}
	for _, nodes := range systems {
		for shard, work := range nodes {
			programs[shard] += work + s.node
			if fences {
				programs[shard] += s.fence
			}
		}
		if fences {
			ns += makespan(programs, cores) + contended*scaleShards
			clear(programs)
		}
	}
	ns += makespan(programs, cores)
	for _, items := range s.refresh {
		ns += makespan(items, cores) + contended*float64(len(items))
	}
	return ns
}

// makespan is how long cores take for jobs, if a free core always takes the longest
// job that is left.
func makespan(jobs []float64, cores int) float64 {
	sorted := slices.SortedFunc(slices.Values(jobs), func(a, b float64) int { return cmp.Compare(b, a) })
	busy := make([]float64, cores)
	for _, job := range sorted {
		first := 0
		for i := range busy {
			if busy[i] < busy[first] {
				first = i
			}
		}
		busy[first] += job
	}
	return slices.Max(busy)
}
