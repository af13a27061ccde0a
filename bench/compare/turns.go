package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"
)

// game is a contender's world that ticks.
type game struct {
	tick func()
	// verify returns an error if the world is not as expected after that many ticks.
	verify func(ticks int) error
}

// gamer makes a game of n entities for a contender and a number of goroutines.
type gamer func(c contender, goroutines, n int) game

// turns says how contenders take turns: in each round each makes some ticks. The
// first of them are not measured, because others have used the caches.
type turns struct {
	rounds, ticks, cold int
	settle              int // ticks that each makes before the first round
}

// player is a contender in a section of games.
type player struct {
	contender
	goroutines int
	make       func() game
	game
	ticks   int
	ns, cpu []float64 // for each entity, by tick and by turn
}

// gameColumns are what a section of games shows.
var gameColumns = []column{
	{"ns", "ns per entity"}, {"median_ns", "median"}, {"cpu_ns", "processor ns per entity"}, {"speedup", "times one goroutine"},
	{"median_speedup", "by the medians"}, {"ark", "ratio to Ark on as many goroutines"},
}

// play measures the ticks of each contender with one goroutine and with two.
func play(n int, list []contender, by gamer, t turns) []finding {
	var players []*player
	for _, goroutines := range []int{1, 2} {
		for _, c := range list {
			make := func() game { return by(c, goroutines, n) }
			if goroutines > 1 {
				c.name = fmt.Sprintf("%s, %d goroutines", c.name, goroutines)
			}
			players = append(players, &player{contender: c, goroutines: goroutines, make: make})
		}
	}
	found := make([]finding, len(players))
	for i, p := range players {
		found[i] = find(p.contender, func() map[string]float64 { p.prepare(t.settle); return nil })
	}
	runtime.GC()
	for round := range t.rounds {
		for i := range players {
			k := (i + round) % len(players)
			if p := players[k]; found[k].LeftOut == "" {
				p.turn(t, n)
			}
		}
	}
	for i, p := range players {
		if found[i].LeftOut == "" {
			found[i] = find(p.contender, func() map[string]float64 { return p.values(players) })
			found[i].Rounds = len(p.ns)
		}
	}
	return found
}

// prepare makes the world and its ticks before the first round.
func (p *player) prepare(ticks int) {
	p.game = p.make()
	for range ticks {
		p.tick()
	}
	p.ticks = ticks
}

// turn makes the ticks of a round.
func (p *player) turn(t turns, n int) {
	for range t.cold {
		p.tick()
	}
	cpu := processTime()
	for range t.ticks - t.cold {
		began := time.Now()
		p.tick()
		p.ns = append(p.ns, float64(time.Since(began))/float64(n))
	}
	p.cpu = append(p.cpu, float64(processTime()-cpu)/float64(n*(t.ticks-t.cold)))
	p.ticks += t.ticks
}

// values returns the times of the ticks, after it has verified the world.
func (p *player) values(all []*player) map[string]float64 {
	check(p.verify(p.ticks))
	least, middle := slices.Min(p.ns), median(p.ns)
	values := map[string]float64{"ns": least, "median_ns": middle}
	if len(p.cpu) > 0 && slices.Min(p.cpu) > 0 {
		values["cpu_ns"] = median(p.cpu)
	}
	for _, x := range all {
		switch {
		case len(x.ns) == 0:
		case x.role == p.role && x.shards == p.shards && x.goroutines == 1 && p.goroutines > 1:
			values["speedup"], values["median_speedup"] = slices.Min(x.ns)/least, median(x.ns)/middle
		case p.role == own && x.role == peer && x.goroutines == p.goroutines:
			values["ark"] = least / slices.Min(x.ns)
		}
	}
	return values
}
