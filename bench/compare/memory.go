package main

import (
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"
)

// componentBytes is what the components of an entity of a population take.
var componentBytes = float64(reflect.TypeFor[Position]().Size() + reflect.TypeFor[Velocity]().Size())

var memory = &section{
	name:  "memory",
	title: "Bytes for each entity beyond its components",
	text: `How much larger the heap is with a world of N entities of 2 components than without it, after a collection, for each entity, less the 32 bytes of
the components: handles, versions, indexes and rows that are not yet used. The program's own list of handles is not counted, and Atoll's world has been refreshed. Beside it what
World.Stats says of the same world: bytes reserved, and bytes in use.`,
	quick: 256_000, full: 1_000_000, weight: 4, cost: 15,
	columns: []column{
		{"bytes", "created singly"}, {"bytes_batch", "in one batch"}, {"stats_reserved", "Stats: reserved"}, {"stats_used", "Stats: used"},
	},
	target: bound(20),
	run:    runMemory,
}

func runMemory(n int, s settings) []finding {
	var found []finding
	for _, c := range s.inSections("ark", "arche", "donburi", "volt", "unitoftime", "ggecs", "slices") {
		found = append(found, find(c, func() map[string]float64 { return weigh(c, n) }))
	}
	return found
}

// weigh measures the worlds of one contender.
func weigh(c contender, n int) map[string]float64 {
	values := map[string]float64{}
	perEntity := func(bytes uint64) float64 { return float64(bytes)/float64(n) - componentBytes }
	p, bytes := weighOne(c, single, n)
	values["bytes"] = perEntity(bytes)
	if p.stats != nil {
		used, reserved := p.stats()
		values["stats_used"], values["stats_reserved"] = perEntity(used), perEntity(reserved)
	}
	if p.createBatch != nil {
		_, bytes := weighOne(c, batch, n)
		values["bytes_batch"] = perEntity(bytes)
	}
	return values
}

// weighOne makes one world and returns it and its size on the heap.
func weighOne(c contender, m manner, n int) (population, uint64) {
	before := heap()
	p := c.populate(false, 0)
	m.creator(p)(n)
	p.forget()
	after := heap()
	check(same("number of entities", p.count(), n))
	return p, max(after, before) - before
}

// heap returns the size of what is reachable.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what finalizers held on to
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

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

const (
	allocWarm   = 4  // repetitions before allocations are counted
	allocCounts = 3  // the least of them counts: the runtime allocates now and then
	allocTimes  = 16 // repetitions in each
)

var allocations = &section{
	name:  "allocations",
	title: "Allocations for each operation, once warm",
	text: `Each bench that makes no world is repeated in worlds of N entities: after 4 repetitions, heap allocations are counted in 3 times 16, and the least
is divided by their number and by N. What a repetition does untimed is counted too, such as destroying what it has created.`,
	quick: 1024, full: 1024, weight: 2, cost: 4,
	columns:  []column{{"allocs", "allocations"}, {"bytes", "bytes"}},
	byCase:   true,
	target:   bound(0),
	judgeAll: true,
	run:      runAllocations,
}

func runAllocations(n int, s settings) []finding {
	var found []finding
	for i := range benches {
		b := &benches[i]
		if b.builds {
			continue
		}
		for _, c := range s.inSections("ark", "arche", "donburi", "volt", "unitoftime", "ggecs") {
			f := find(c, func() map[string]float64 {
				subject := b.setup(&c, n)
				if subject == nil {
					return nil
				}
				return countAllocations(subject)
			})
			f.Case = b.name
			if f.Values != nil || f.LeftOut != "" {
				found = append(found, f)
			}
		}
	}
	return found
}

// countAllocations counts what a subject allocates for each operation.
func countAllocations(s *subject) map[string]float64 {
	s.work(allocWarm)
	var least, bytes uint64
	for i := range allocCounts {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s.work(allocTimes)
		runtime.ReadMemStats(&after)
		if n := after.Mallocs - before.Mallocs; i == 0 || n < least {
			least, bytes = n, after.TotalAlloc-before.TotalAlloc
		}
	}
	check(s.check())
	ops := float64(allocTimes * s.ops)
	return map[string]float64{"allocs": float64(least) / ops, "bytes": float64(bytes) / ops}
}

var worlds = &section{
	name:  "world-bytes",
	title: "Bytes that making a world takes",
	text: `A world is made with default options but for the number of shards. The bytes of all its heap allocations are counted, and how many they are: the
least of 3 times 16 worlds.`,
	quick: 1, full: 1, weight: 1, cost: 1,
	columns: []column{{"bytes", "bytes"}, {"allocs", "allocations"}},
	target:  bound(50_000),
	run:     runWorlds,
}

func runWorlds(_ int, s settings) []finding {
	var found []finding
	for _, c := range s.inSections("ark", "arche", "donburi", "volt", "unitoftime", "ggecs") {
		found = append(found, find(c, func() map[string]float64 { return countAllocations(newWorld(&c, 1)) }))
	}
	return found
}

const (
	stallRounds = 5 // how often each contender grows a world from nothing
	stallMax    = 100 * time.Microsecond
	worstMax    = 300 * time.Microsecond // of the worst create in the best round
)

var worstCreate = &section{
	name:  "worst-create",
	title: "The longest single create while a world grows",
	text: `A new world grows to N entities with 2 components, one at a time, and each create is timed by itself; what is shown is the least and the
median of the worst creates of 5 rounds, in which the contenders take turns. The heap is no larger than the world, so the collector
runs while it grows. By the clock, a create also takes the time in which the machine did something else; by the processor, only the time that
the thread itself has worked. Of blocks no more is asked than to write the 48 bytes that an entity takes, the components, the handle and a slot, into
blocks of 64 KB that are made when they are needed: what it shows is what the machine, the kernel and the collector take from anyone who writes to fresh memory.`,
	quick: 100_000, full: 1_000_000, weight: 10, cost: 20,
	columns: []column{
		{"worst_us_low", "worst, µs: least of 5"}, {"worst_us", "median of 5"}, {"worst_us_high", "most of 5"},
		{"worst_cpu_us", "worst by processor, µs"}, {"long", "longer than 100 µs"},
	},
	target: bound(micros(worstMax)),
	run:    runWorstCreate,
}

// stall is the times of the creates of one growing world.
type stall struct {
	worst time.Duration // by the clock
	cpu   time.Duration // the worst in processor time; 0: not known
	long  float64       // how many took longer than stallMax by the clock
}

func runWorstCreate(n int, s settings) []finding {
	list := append(s.inSections("ark", "slices"), blocks)
	found := make([]finding, len(list))
	rounds := make([][]stall, len(list))
	withoutBallast(func() {
		for round := range stallRounds {
			for i := range list {
				k := (i + round) % len(list)
				if found[k].LeftOut == "" {
					found[k] = find(list[k], func() map[string]float64 {
						rounds[k] = append(rounds[k], grow(list[k], n))
						return stallValues(rounds[k])
					})
					found[k].Rounds = len(rounds[k])
				}
			}
		}
	})
	return found
}

// stallValues summarizes the rounds of one contender.
func stallValues(rounds []stall) map[string]float64 {
	var worst, cpu []time.Duration
	var long []float64
	for _, r := range rounds {
		worst, cpu, long = append(worst, r.worst), append(cpu, r.cpu), append(long, r.long)
	}
	values := map[string]float64{
		"worst_us": micros(median(worst)), "worst_us_low": micros(slices.Min(worst)), "worst_us_high": micros(slices.Max(worst)),
		"long": median(long),
	}
	if slices.Min(cpu) > 0 {
		values["worst_cpu_us"] = micros(median(cpu))
	}
	return values
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// grow creates n entities in a new world of c and times each.
func grow(c contender, n int) stall {
	runtime.GC()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p := c.populate(false, n)
	var s stall
	start, cpu := time.Now(), threadTime()
	for range n {
		before := time.Since(start)
		p.create(1)
		took := time.Since(start) - before
		s.worst = max(s.worst, took)
		if took > stallMax {
			s.long++
		}
		now := threadTime()
		s.cpu, cpu = max(s.cpu, now-cpu), now
	}
	check(same("number of entities", p.count(), n))
	return s
}

// blocks only allocates the memory that entities need, and never moves anything.
var blocks = contender{name: "blocks", role: limit, populate: func(bool, int) population {
	const block, entity = 64 << 10, 48
	var all [][]byte
	var room []byte
	count := 0
	return population{
		create: func(n int) {
			for range n {
				if len(room) < entity {
					room = make([]byte, block)
					all = append(all, room)
				}
				clear(room[:entity])
				room = room[entity:]
				count++
			}
		},
		count: func() int { return count },
	}
}}
