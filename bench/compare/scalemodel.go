package main

import (
	"cmp"
	"fmt"
	"slices"
)

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
func (m *scale) tick(cores int, fences bool) float64 {
	ns := m.start*float64(cores-1) + m.alone
	contended := 0.0 // the extra cost of an item because the counter is contended
	if cores > 1 {
		contended = m.count
	}
	programs, systems := make([]float64, scaleShards), m.systems
	if fences {
		systems = m.apart
	}
	for _, nodes := range systems {
		for shard, work := range nodes {
			programs[shard] += work + m.node
			if fences {
				programs[shard] += m.fence
			}
		}
		if fences {
			ns += makespan(programs, cores) + contended*scaleShards
			clear(programs)
		}
	}
	ns += makespan(programs, cores)
	for _, items := range m.refresh {
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
