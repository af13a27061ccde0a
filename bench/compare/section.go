package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"
)

// section measures what the cells do not show: something other than
// the time of an operation.
type section struct {
	name   string
	title  string
	text   string // what is measured and how, for the page
	quick  int    // entities under -quick
	full   int
	weight float64 // share of a budget, as that of a cell
	cost   float64 // about how many seconds it takes under -full
	// columns are the values of a finding. The first is what the target bounds.
	columns []column
	// byCase: the page has a row for each case and a column for each contender,
	// with the first value alone.
	byCase bool
	// target bounds the first value of Atoll, with full entities; nil: no bound.
	// Only the default number of shards is judged, unless judgeAll.
	target   *float64
	judgeAll bool
	// alone: it measures only Atoll.
	alone bool
	run   func(n int, s settings) []finding
}

// column is one of the values of a finding.
type column struct {
	key, head string
}

// finding is the result of a section for one contender.
type finding struct {
	Section string             `json:"section"`
	Case    string             `json:"case,omitempty"`
	N       int                `json:"n"`
	Name    string             `json:"name"`
	Shards  int                `json:"shards,omitempty"` // Atoll's
	Rounds  int                `json:"rounds,omitempty"`
	Values  map[string]float64 `json:"values,omitempty"`
	Target  *float64           `json:"target,omitempty"`
	Missed  bool               `json:"missed"`
	LeftOut string             `json:"left_out,omitempty"`
	Commit  string             `json:"commit"`
}

// sections are in the order of the page.
var sections = []*section{worstCreate, memory, worlds, allocations, collectorWork, featureCosts, markCosts, battles, light20k, light200k, scaleCosts, scaleOut}

func (s *section) size(by settings) int {
	if by.full {
		return s.full
	}
	return s.quick
}

func (s *section) label(n int) string { return fmt.Sprintf("%s/%d", s.name, n) }

// measure runs the section and compares what it found with the target.
func (s *section) measure(n int, by settings) []finding {
	runtime.GC()
	found := s.run(n, by)
	for i := range found {
		f := &found[i]
		f.Section, f.N = s.name, n
		judged := f.Shards == defaultShards || s.judgeAll && f.Shards > 0
		if v, ok := f.Values[s.columns[0].key]; ok && judged && s.target != nil && (n == s.full || s.judgeAll) {
			f.Target, f.Missed = s.target, v > *s.target
		}
	}
	return found
}

// label returns the contender's name in tables.
func (f finding) label() string {
	switch f.Shards {
	case 0:
		return f.Name
	case 1:
		return f.Name + ", 1 shard"
	}
	return fmt.Sprintf("%s, %d shards", f.Name, f.Shards)
}

// inSections lists the contenders in sections: Atoll with each number of shards,
// and the named ones among the peers.
func (s settings) inSections(names ...string) []contender {
	var list []contender
	for _, shards := range shardCounts {
		list = append(list, atoll(shards))
	}
	for _, c := range others {
		if slices.Contains(names, c.name) && (c.role == limit || s.peers.MatchString(c.name)) {
			list = append(list, c)
		}
	}
	return list
}

// find returns a finding with what f measures of a contender, or with the reason
// why the contender is left out.
func find(c contender, f func() map[string]float64) finding {
	found := finding{Name: c.name, Shards: c.shards}
	if err := guard(func() { found.Values = f() }); err != nil {
		found.LeftOut = err.Error()
	}
	return found
}

// bound returns a target for a section.
func bound(v float64) *float64 { return &v }

// withoutBallast runs f with a heap that has only what f makes. With the ballast
// the collector would run less often than in a program that has just begun.
func withoutBallast(f func()) {
	ballast = nil
	runtime.GC()
	defer func() { ballast = make([]byte, ballastBytes) }()
	f()
}

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
