package main

import "math"

// manyFrom is the number of entities from which on the bounds for many
// apply.
const manyFrom = 1000

// target is the bounds for one kind of work, on the ratio of Atoll's
// time to that of the best peer in the cell. The zero target has no bounds.
type target struct {
	work    string
	few     float64 // below manyFrom
	many    float64 // from there on
	at256k  float64 // instead of many from 256,000 on; 0: none
	at1M    float64 // instead of both from 1,000,000 on; 0: none
	refresh float64 // instead of few: nanoseconds a repetition may take beyond the peer's
	limit   float64 // from manyFrom on, to hand-written slices; 0: none
	against string  // the peer compared with, instead of the best
}

// The targets of Atoll.
var (
	iterateTarget    = &target{work: "iterate", few: 1, many: 1, limit: 1.1}
	lookupTarget     = &target{work: "random access", few: 1, many: 1, at256k: 0.85, at1M: 0.75}
	createTarget     = &target{work: "create, singly", few: 0.8, many: 0.6}
	fillTarget       = &target{work: "create, in batches or with allocation", few: 1, many: 0.8}
	destroyTarget    = &target{work: "destroy with its refresh, singly", refresh: 60, many: 0.8}
	destroyAllTarget = &target{work: "destroy with its refresh, in batches", refresh: 60, many: 1}
	changeTarget     = &target{work: "add and remove components", few: 1, many: 0.9}
	kinTarget        = &target{work: "hierarchy", few: 1, many: 0.5}
	kinListTarget    = &target{work: "hierarchy, lists of 10,000", few: 1, many: 1.05}
	newWorldTarget   = &target{work: "new world", few: 1, many: 1, against: "ark"}
)

// meanTarget bounds the geometric mean of the ratios of all cells.
const meanTarget = 0.75

// bound returns the largest ratio that is allowed if the peer takes peerNS
// for each of n entities.
func (t *target) bound(n int, peerNS float64) float64 {
	switch {
	case n < manyFrom && t.refresh > 0:
		return 1 + t.refresh/(peerNS*float64(n))
	case n < manyFrom:
		return t.few
	case n >= 1_000_000 && t.at1M > 0:
		return t.at1M
	case n >= 256_000 && t.at256k > 0:
		return t.at256k
	}
	return t.many
}

// words returns the bounds as text for a table.
func (t *target) words() (few, many string) {
	few, many = atMost(t.few), atMost(t.many)
	if t.refresh > 0 {
		few = "peer + " + trim(t.refresh) + " ns per refresh"
	}
	if t.at256k > 0 {
		many += ", from 256k " + atMost(t.at256k)
	}
	if t.at1M > 0 {
		many += ", from 1M " + atMost(t.at1M)
	}
	if t.limit > 0 {
		many += ", of slices " + atMost(t.limit)
	}
	if t.against != "" {
		few, many = few+" of "+t.against, many+" of "+t.against
	}
	return few, many
}

func atMost(v float64) string { return "≤ " + trim(v) }

// verdict is the result of judge for a cell.
type verdict struct {
	Target      *float64 `json:"target,omitempty"` // the largest ratio allowed
	LimitTarget *float64 `json:"limit_target,omitempty"`
	Missed      bool     `json:"missed"`
}

// judge compares a cell with its target.
func (t *target) judge(r *result) verdict {
	var v verdict
	name := r.BestPeer
	if t.against != "" {
		name = t.against
	}
	peer := valueOf(r.Peers, name)
	if r.AtollNS == nil {
		v.Missed = peer != nil
		return v
	}
	if peer != nil {
		bound := t.bound(r.N, *peer)
		v.Target, v.Missed = &bound, r.Ratios[name] > bound
	}
	if t.limit > 0 && r.N >= manyFrom && r.LimitRatio != nil {
		bound := t.limit
		v.LimitTarget = &bound
		v.Missed = v.Missed || *r.LimitRatio > bound
	}
	return v
}

// summary summarizes all cells.
type summary struct {
	Section string  `json:"section"`
	Cells   int     `json:"cells"` // with Atoll and a peer
	Mean    float64 `json:"geometric_mean"`
	Target  float64 `json:"target"`
	Lost    int     `json:"lost"`   // in which a peer is faster
	Missed  int     `json:"missed"` // beyond their targets
	Commit  string  `json:"commit"`
}

func summarize(results []result) summary {
	s := summary{Section: "summary", Target: meanTarget}
	logs := 0.0
	for _, r := range results {
		s.Commit = r.Commit
		if r.Missed {
			s.Missed++
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
