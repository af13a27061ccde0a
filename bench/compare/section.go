package main

import (
	"fmt"
	"runtime"
	"slices"
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

func (x *section) size(s settings) int {
	if s.full {
		return x.full
	}
	return x.quick
}

func (x *section) label(n int) string { return fmt.Sprintf("%s/%d", x.name, n) }

// measure runs the section and compares what it found with the target.
func (x *section) measure(n int, s settings) []finding {
	runtime.GC()
	found := x.run(n, s)
	for i := range found {
		f := &found[i]
		f.Section, f.N = x.name, n
		judged := f.Shards == defaultShards || x.judgeAll && f.Shards > 0
		if v, ok := f.Values[x.columns[0].key]; ok && judged && x.target != nil && (n == x.full || x.judgeAll) {
			f.Target, f.Missed = x.target, v > *x.target
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
	counts := shardCounts
	if s.shards != 0 {
		counts = []int{s.shards}
	}
	var list []contender
	for _, shards := range counts {
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
