package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"
)

const (
	battleWarm   = 20 // ticks before, in which storage grows and health spreads
	battleRounds = 15
)

var battles = &section{
	name:  "battle",
	title: "A tick of a game: movement, collision grid, damage and churn",
	text: `N fighters move about, in cells of 16 on average; a grid of who is in which cell is made anew; one of 16 attacks whoever is nearest in its cell;
about one of 64 dies and another comes. All do it by the same code, but for the loops and calls of the libraries. Ark with two goroutines is partitioned by
hand in the way of its own example: entities are related to the goroutine they are of, each asks for its own, and creating and destroying is
done by one goroutine afterwards. Contenders take turns, tick by tick; the least of 15 ticks each, by the clock. Processor time is that of all goroutines
together, the median: other programs hardly change it, and as much of it as on one goroutine means that two would be twice as fast on a machine of one's own. How many there are, and how many
attacks, is compared with what there should be.`,
	quick: 100_000, full: 1_000_000, weight: 10, cost: 40,
	columns: []column{
		{"ns", "ns per entity"}, {"median_ns", "median"}, {"cpu_ns", "processor ns per entity"}, {"speedup", "times one goroutine"}, {"ark", "ratio to Ark on as many goroutines"},
	},
	run: runBattles,
}

// army is a contender in the section.
type army struct {
	contender
	goroutines int
	make       func() battle
	battle
	ns, cpu []float64 // by tick
}

func runBattles(n int, s settings) []finding {
	var armies []*army
	for _, goroutines := range []int{1, 2} {
		for _, c := range s.inSections("ark") {
			make := func() battle { return arkBattle(goroutines, n) }
			switch c.role {
			case own:
				make = func() battle { return atollBattle(c.shards, goroutines, n) }
			case limit:
				continue
			}
			if goroutines > 1 {
				c.name = fmt.Sprintf("%s, %d goroutines", c.name, goroutines)
			}
			armies = append(armies, &army{contender: c, goroutines: goroutines, make: make})
		}
	}
	found := make([]finding, len(armies))
	for i, a := range armies {
		found[i] = find(a.contender, func() map[string]float64 { a.prepare(); return nil })
	}
	runtime.GC()
	for round := range battleRounds {
		for i := range armies {
			k := (i + round) % len(armies)
			if a := armies[k]; found[k].LeftOut == "" {
				began, cpu := time.Now(), processTime()
				a.tick()
				a.ns = append(a.ns, float64(time.Since(began))/float64(n))
				a.cpu = append(a.cpu, float64(processTime()-cpu)/float64(n))
			}
		}
	}
	for i, a := range armies {
		if found[i].LeftOut == "" {
			found[i] = find(a.contender, func() map[string]float64 { return a.values(armies, n) })
			found[i].Rounds = len(a.ns)
		}
	}
	return found
}

// prepare makes the world and its first ticks.
func (a *army) prepare() {
	a.battle = a.make()
	for range battleWarm {
		a.tick()
	}
}

// values says what an army did, once it has been compared with what it should have
// done.
func (a *army) values(all []*army, n int) map[string]float64 {
	check(same("number of entities", a.count(), n))
	ticks := float64(battleWarm + len(a.ns))
	if each := float64(a.attacks()) / ticks / float64(n); n >= manyFrom && math.Abs(each*attackPeriod-1) > 0.25 {
		panic(fmt.Sprintf("wrong result: %.3f attacks per entity and tick, want about %.3f", each, 1.0/attackPeriod))
	}
	least := slices.Min(a.ns)
	values := map[string]float64{"ns": least, "median_ns": median(a.ns)}
	if len(a.cpu) > 0 && slices.Min(a.cpu) > 0 {
		values["cpu_ns"] = median(a.cpu)
	}
	for _, b := range all {
		switch {
		case len(b.ns) == 0:
		case b.role == a.role && b.shards == a.shards && b.goroutines == 1 && a.goroutines > 1:
			values["speedup"] = slices.Min(b.ns) / least
		case a.role == own && b.role != own && b.goroutines == a.goroutines:
			values["ark"] = least / slices.Min(b.ns)
		}
	}
	return values
}
