package main

import (
	"fmt"
	"math"
	"slices"
)

// bench is one category of the comparison: a setup for each contender and size.
type bench struct {
	name  string
	title string
	// quick are the sizes measured under -quick.
	quick []int
	// sizes are those measured under -full, and, without quick ones, when -run
	// names the bench; nil: all.
	sizes []int
	// once: the size plays no part.
	once bool
	// builds: making a world is part of the work, so it allocates.
	builds bool
	bars   bars
	why    string  // where the page says why a bar is missed
	most   float64 // nanoseconds that Atoll may take, whatever peers take; 0: any
	// setup returns nil if the contender does not offer it.
	setup func(c *contender, n int) *subject
}

// sizes are the numbers of entities of the public comparison.
var sizes = []int{1, 4, 16, 64, 256, 1024, 16_000, 256_000, 1_000_000}

var (
	quickCore = []int{16, 1024, 16_000, 256_000, 1_000_000}
	quickOne  = []int{16, 16_000}
	// a million would be more than the default Options.OutboxRequests
	systemSizes = []int{16, 1024, 16_000, 256_000}
	// of 16 a tenth is too few
	tenthSizes = []int{1024, 16_000, 256_000, 1_000_000}
)

// The entities that do not match are 10 for each that does in iterate2, and 4 in
// iterate2-256, but limited: more would only take memory.
const (
	bystandersMax = 2_560_000
	strangersMax  = 256_000
)

// whyFew is why few entities miss their bars.
const whyFew = "[design.md](design.md#few-entities) says where the instructions of 16 entities go"

var benches = slices.Insert(coreBenches, len(coreBenches)-1, hierarchyBenches()...)

var coreBenches = []bench{
	{name: "iterate2", title: "Loop over 2 components, among 10 times as many entities that have but one of them", quick: quickCore, bars: loopBars, setup: iterate(layPlain)},
	{name: "iterate2-frag32", title: "Loop over 2 components, the entities spread over 32 archetypes", quick: quickOne, bars: at(1.12, 1.2, 1.2, 1.2, 1.3), setup: iterate(layFragmented)},
	{name: "iterate2-256", title: "Loop over 2 components, among 256 archetypes that do not match", quick: quickOne, bars: loopBars, setup: iterate(layAmong)},
	{name: "random", title: "Read 1 component by shuffled handles, checked", quick: quickCore, bars: at(1.45, 1.25, 1.25, 1.25, 1.25), setup: lookup},
	{name: "random-write", title: "Change 1 component by shuffled handles, checked", quick: quickOne, sizes: quickCore, bars: at(1.15, 1.15, 1.15, 1.15, 1.15), setup: update},
	{name: "create2", title: "Create with 2 components one at a time, in storage that has grown before", quick: quickCore, bars: createBars, setup: create(false, single)},
	{name: "create2-values", title: "Create with 2 components of given values one at a time, in storage that has grown before", quick: quickCore, bars: createBars, setup: createValues(false, single)},
	{name: "create2-batch", title: "Create with 2 components in batches, in storage that has grown before", quick: quickCore, bars: fillBars, setup: create(false, batch)},
	{name: "create2-values-batch", title: "Create with 2 components of given values in batches, in storage that has grown before", quick: quickOne, sizes: quickCore, bars: valuesBars, setup: createValues(false, batch)},
	{name: "create2-alloc", title: "Create with 2 components one at a time, in a new world", quick: quickCore, bars: newBars, builds: true, setup: createAlloc(single)},
	{name: "create2-values-alloc", title: "Create with 2 components of given values one at a time, in a new world", quick: quickOne, sizes: quickCore, bars: newBars, builds: true, setup: createValuesAlloc(false)},
	{name: "create2-alloc-batch", title: "Create with 2 components in batches, in a new world", quick: quickCore, bars: newBars, builds: true, setup: createAlloc(batch)},
	{name: "create10", title: "Create with 10 components one at a time, in storage that has grown before", quick: quickOne, bars: createTenBars, setup: create(true, single)},
	{name: "create10-values", title: "Create with 10 components of given values one at a time, in storage that has grown before", quick: quickOne, sizes: quickCore, bars: createTenBars, setup: createValues(true, single)},
	{name: "create10-batch", title: "Create with 10 components in batches, in storage that has grown before", quick: quickOne, bars: fillBars, setup: create(true, batch)},
	{name: "create10-values-batch", title: "Create with 10 components of given values in batches, in storage that has grown before", quick: quickOne, sizes: quickCore, bars: valuesBars, setup: createValues(true, batch)},
	{name: "create10-values-alloc", title: "Create with 10 components of given values one at a time, in a new world", quick: quickOne, sizes: quickCore, bars: createTenBars, builds: true, setup: createValuesAlloc(true)},
	{name: "destroy2", title: "Destroy with 2 components one at a time", quick: quickCore, bars: destroyBars, setup: destroy(false, single)},
	{name: "destroy2-batch", title: "Destroy with 2 components in batches", quick: quickCore, bars: clearBars, why: whyFew, setup: destroy(false, batch)},
	{name: "destroy10", title: "Destroy with 10 components one at a time", quick: quickOne, bars: destroyBars, setup: destroy(true, single)},
	{name: "destroy10-batch", title: "Destroy with 10 components in batches", quick: quickOne, bars: clearBars, setup: destroy(true, batch)},
	{name: "change1", title: "Add a component to an entity with 1 and remove it, one at a time", quick: quickOne, bars: changeBars, setup: addRemove(false, single)},
	{name: "change1-batch", title: "Add a component to an entity with 1 and remove it, in batches", quick: quickOne, bars: changeAllBars, setup: addRemove(false, batch)},
	{name: "change1-tick", title: "Add a component to an entity with 1 from a system in one tick and remove it in the next", quick: quickOne, sizes: systemSizes, bars: tickBars, why: whyFew, setup: addRemove(false, ticks)},
	{name: "change1-tick-tenth", title: "Add a component from a system to a random tenth of the entities in one tick and remove it in the next", quick: []int{16_000}, sizes: tenthSizes, bars: tickBars, setup: addRemove(false, tenth)},
	{name: "change11", title: "Add a component to an entity with 11 and remove it, one at a time", quick: quickOne, bars: changeBars, setup: addRemove(true, single)},
	{name: "change11-batch", title: "Add a component to an entity with 11 and remove it, in batches", quick: quickOne, bars: changeAllBars, setup: addRemove(true, batch)},
	{name: "new-world", title: "Make a world", quick: []int{1}, once: true, most: 12_000, builds: true, setup: newWorld},
}

// label names a cell for -run and for progress.
func (b *bench) label(n int) string { return fmt.Sprintf("%s/%d", b.name, n) }

// bars are the largest ratios of Atoll's time to the best peer's, by the number of entities. A cell
// without a bar is not judged.
type bars map[int]float64

// at returns bars for the sizes that are judged, which are the sizes of the README. 0 is no bar.
func at(ratios ...float64) bars {
	b := bars{}
	for i, ratio := range ratios {
		if ratio > 0 {
			b[quickCore[i]] = ratio
		}
	}
	return b
}

// Bars that several benches share.
var (
	loopBars      = at(1.12, 1.06, 1.06, 1.08, 1.12)
	createBars    = at(1, 1, 1, 1, 1)
	createTenBars = at(1.15, 1.15, 1.15, 1.3, 1.3)
	newBars       = at(1.05, 1.05, 1.05, 1.05, 1.05)
	fillBars      = at(0.95, 0.6, 0.6, 0.6, 0.6)
	valuesBars    = at(1.3, 0.85, 0.85, 0.85, 0.85)
	destroyBars   = at(1, 0.65, 0.65, 0.65, 0.65)
	clearBars     = at(1.4, 0.9, 0.9, 0.9, 0.9)
	changeBars    = at(0.85, 0.85, 0.85, 0.85, 0.85)
	changeAllBars = at(0, 0.3, 0.3, 0.3, 0.3)
	tickBars      = at(1.8, 0.85, 0.85, 0.85, 0.85)
)

// tolerance is how far beyond its bar a cell counts as met: medians of two runs differ by as much.
const tolerance = 0.05

// verdict is the result of judge for a cell.
type verdict struct {
	Target   *float64 `json:"target,omitempty"`    // the bar: the largest ratio
	TargetNS *float64 `json:"target_ns,omitempty"` // the longest time, whatever peers take
	Missed   bool     `json:"missed"`
}

// judge compares a cell with its bar, or with the longest time that Atoll may take.
func (b *bench) judge(r *result) verdict {
	var v verdict
	bar, judged := b.bars[r.N]
	switch {
	case b.most > 0 && r.AtollNS != nil:
		v.TargetNS = &b.most
		v.Missed = *r.AtollNS > b.most*(1+tolerance)
	case judged && r.Ratio != nil:
		v.Target = &bar
		v.Missed = *r.Ratio > bar*(1+tolerance)
	case r.AtollNS == nil:
		v.Missed = r.BestPeer != ""
	}
	return v
}

// summary summarizes all cells.
type summary struct {
	Section string  `json:"section"`
	Cells   int     `json:"cells"` // with Atoll and a peer
	Mean    float64 `json:"geometric_mean"`
	Lost    int     `json:"lost"`   // in which a peer is faster
	Judged  int     `json:"judged"` // with a bar, or offered by peers alone
	Missed  int     `json:"missed"` // beyond their bars
	Commit  string  `json:"commit"`
}

func summarize(results []result) summary {
	s := summary{Section: "summary"}
	logs := 0.0
	for _, r := range results {
		s.Commit = r.Commit
		if r.Missed {
			s.Missed++
		}
		if r.Target != nil || r.TargetNS != nil || r.Missed {
			s.Judged++
		}
		if r.Ratio == nil {
			continue
		}
		s.Cells++
		logs += math.Log(*r.Ratio)
		if *r.Ratio > 1 {
			s.Lost++
		}
	}
	if s.Cells > 0 {
		s.Mean = math.Exp(logs / float64(s.Cells))
	}
	return s
}

// judgedSizes are the numbers of entities that have bars.
func judgedSizes() []int {
	var ns []int
	for _, b := range benches {
		for n := range b.bars {
			ns = append(ns, n)
		}
	}
	slices.Sort(ns)
	return slices.Compact(ns)
}
