package main

import (
	"reflect"
	"runtime"
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
