package main

import (
	"runtime"
	"slices"
	"time"

	"github.com/atoll-sim/atoll/world"
)

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
	for i, c := range list {
		if c.role == own { // the system clears whole huge pages while a create waits
			list[i] = atollWith(world.Options{Shards: c.shards})
		}
	}
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
