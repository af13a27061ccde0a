package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// collectorCycles is how many forced cycles are measured.
const collectorCycles = 5

var collectorWork = &section{
	name:  "collector",
	title: "Work of the garbage collector with a large world",
	text: `The collector is run 5 times while the heap holds N entities of 2 components and nothing else; medians for each cycle. One after the other: an empty
heap, Atoll, Ark, and the same components as a Go map of pointers to structs. Processor time is what the runtime says that its collector has
taken on all cores, in all and for marking; a cycle is timed by the clock, from its start until memory is swept; pauses stop the program.`,
	quick: 1_000_000, full: 10_000_000, weight: 12, cost: 40,
	columns: []column{
		{"cpu_ms", "processor, ms"}, {"mark_ms", "of it marking, ms"}, {"cycle_ms", "cycle, ms"}, {"pause_us", "pauses, µs"}, {"heap_mb", "heap, MB"},
	},
	run: runCollector,
}

func runCollector(n int, s settings) []finding {
	holders := []holder{{contender{name: "nothing"}, func() any { return nil }}}
	for _, c := range s.inSections("ark") {
		holders = append(holders, holder{c, func() any { return holdWorld(c, n) }})
	}
	holders = append(holders, holder{contender{name: "map of pointers"}, func() any { return holdMap(n) }})
	var found []finding
	withoutBallast(func() {
		for _, h := range holders {
			found = append(found, find(h.contender, func() map[string]float64 {
				held := h.hold()
				values := collect()
				runtime.KeepAlive(held)
				return values
			}))
			debug.FreeOSMemory()
		}
	})
	return found
}

// holder builds a heap for the collector.
type holder struct {
	contender
	hold func() any
}

func holdWorld(c contender, n int) any {
	p := c.populate(false, 0)
	p.createBatch(n)
	p.forget()
	check(same("number of entities", p.count(), n))
	return p
}

func holdMap(n int) any {
	type entity struct {
		Position
		Velocity
	}
	m := make(map[uint64]*entity)
	for i := range n {
		m[uint64(i)] = &entity{}
	}
	return m
}

// The runtime's account of its collector, in seconds.
const (
	collectorTime = "/cpu/classes/gc/total:cpu-seconds"
	markAssist    = "/cpu/classes/gc/mark/assist:cpu-seconds"
	markDedicated = "/cpu/classes/gc/mark/dedicated:cpu-seconds"
	markIdle      = "/cpu/classes/gc/mark/idle:cpu-seconds"
)

// collect measures forced cycles.
func collect() map[string]float64 {
	runtime.GC() // garbage of the building
	var cpu, mark, cycle, pause []float64
	for range collectorCycles {
		cpuBefore, markBefore := collectorAccount()
		var before, after debug.GCStats
		debug.ReadGCStats(&before)
		start := time.Now()
		runtime.GC()
		took := time.Since(start)
		debug.ReadGCStats(&after)
		cpuAfter, markAfter := collectorAccount()
		cpu, mark = append(cpu, (cpuAfter-cpuBefore)*1e3), append(mark, (markAfter-markBefore)*1e3)
		cycle = append(cycle, float64(took)/float64(time.Millisecond))
		pause = append(pause, micros(after.PauseTotal-before.PauseTotal))
	}
	return map[string]float64{
		"cpu_ms": median(cpu), "mark_ms": median(mark), "cycle_ms": median(cycle), "pause_us": median(pause),
		"heap_mb": float64(heap()) / 1e6,
	}
}

// collectorAccount returns the processor time of all collections so far, in
// seconds: in all, and for marking.
func collectorAccount() (all, mark float64) {
	samples := []metrics.Sample{{Name: collectorTime}, {Name: markAssist}, {Name: markDedicated}, {Name: markIdle}}
	metrics.Read(samples)
	for _, s := range samples[1:] {
		mark += s.Value.Float64()
	}
	return samples[0].Value.Float64(), mark
}
