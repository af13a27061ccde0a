package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// pageBench writes the table of one bench.
func pageBench(w io.Writer, rows []result) {
	peers := map[string]bool{}
	for _, r := range rows {
		for name := range r.Peers {
			peers[name] = true
		}
	}
	names := slices.Sorted(maps.Keys(peers))
	head := []string{"N", "atoll", "best peer", "ratio", "bar", "1 shard", fmt.Sprintf("%d shards", defaultShards)}
	head = append(append(head, names...), "limit")
	pageRow(w, head)
	pageRow(w, slices.Repeat([]string{"---:"}, len(head)))
	for _, r := range rows {
		row := []string{size(r.N), ns(r.AtollNS), or(r.BestPeer) + " " + ns(r.PeerNS), ratio(r.Ratio), r.demand(),
			ns(valueOf(r.ByShards, 1)), ns(valueOf(r.ByShards, defaultShards))}
		for _, name := range names {
			row = append(row, ns(valueOf(r.Peers, name)))
		}
		pageRow(w, append(row, ns(r.LimitNS)))
	}
	for _, r := range rows {
		for _, name := range slices.Sorted(maps.Keys(r.LeftOut)) {
			fmt.Fprintf(w, "\nAt N = %s, %s is left out: %s.\n", size(r.N), name, r.LeftOut[name])
		}
	}
}

// demand writes the bar of a cell and whether it is missed.
func (r result) demand() string {
	switch {
	case r.Target != nil:
		return "≤ " + ratio(r.Target) + r.missedBy()
	case r.TargetNS != nil:
		return "≤ " + ns(r.TargetNS) + " ns" + missed(r.Missed)
	}
	return "–" + missed(r.Missed)
}

// missedBy says whether a cell misses its bar, and whether that may be chance:
// then the bar is within the quartiles of single rounds.
func (r result) missedBy() string {
	if r.Missed && *r.RatioLow <= *r.Target {
		return " (missed, within the spread)"
	}
	return missed(r.Missed)
}

// pageLosses lists the cells in which a peer is faster or a bar is missed,
// those furthest beyond first, and those that Atoll does not offer.
func pageLosses(w io.Writer, results []result) {
	var lost []result
	names := map[string]bool{}
	faster := 0
	for _, r := range results {
		switch {
		case r.Ratio == nil && r.PeerNS != nil:
			names[r.Bench] = true
			continue
		case r.Ratio != nil && *r.Ratio > 1:
			faster++
		case !r.Missed:
			continue
		}
		lost = append(lost, r)
	}
	slices.SortStableFunc(lost, func(a, b result) int { return cmp.Compare(b.excess(), a.excess()) })
	s := summarize(results)
	fmt.Fprintf(w, `
## Where Atoll loses

A peer is faster in %d of %d cells, and %d miss their bar, which asks for more than being first in many of them; those
furthest beyond their bar come first, those without a bar last. The best of many peers is also the luckiest: the quartiles are of the
ratios of single rounds, and where 1 is between them, it is a draw.

`, faster, s.Cells, s.Missed)
	pageRow(w, []string{"bench", "N", "ratio", "quartiles", "bar", "atoll", "best peer"})
	pageRow(w, []string{"---", "---:", "---:", "---:", "---:", "---:", "---:"})
	for _, r := range lost {
		pageRow(w, []string{r.Bench, size(r.N), ratio(r.Ratio), ratio(r.RatioLow) + " – " + ratio(r.RatioHigh), r.demand(), ns(r.AtollNS), r.BestPeer + " " + ns(r.PeerNS)})
	}
	if len(names) > 0 {
		fmt.Fprintf(w, "\nNot offered by Atoll: %s.\n", strings.Join(slices.Sorted(maps.Keys(names)), ", "))
	}
}

// excess is how far a cell is beyond its bar: 1 is on it.
func (r result) excess() float64 {
	if r.Target == nil {
		return 0
	}
	return *r.Ratio / *r.Target
}

// pageShards writes the ratios by the number of shards.
func pageShards(w io.Writer, results []result) {
	var rows []result
	for _, r := range results {
		if len(r.ByShards) == len(shardCounts) && r.PeerNS != nil {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprint(w, "\n## By the number of shards\n\nThe ratio of Atoll's time to that of the best peer, in the same rounds as above, with other numbers of shards. They all run on one core here:\nthis is what shards cost, not what they bring.\n\n")
	head, rule, mean := []string{"bench", "N"}, []string{"---", "---:"}, []string{"geometric mean", ""}
	for _, shards := range shardCounts {
		head, rule = append(head, fmt.Sprint(shards)), append(rule, "---:")
		logs := 0.0
		for _, r := range rows {
			logs += math.Log(r.ByShards[shards] / *r.PeerNS)
		}
		v := math.Exp(logs / float64(len(rows)))
		mean = append(mean, ratio(&v))
	}
	pageRow(w, head)
	pageRow(w, rule)
	for _, r := range rows {
		row := []string{r.Bench, size(r.N)}
		for _, shards := range shardCounts {
			v := r.ByShards[shards] / *r.PeerNS
			row = append(row, ratio(&v))
		}
		pageRow(w, row)
	}
	pageRow(w, mean)
}
