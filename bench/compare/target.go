package main

import (
	"math"
	"slices"
)

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
