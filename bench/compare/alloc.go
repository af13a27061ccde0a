package main

import "runtime"

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
