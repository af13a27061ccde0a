package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// writeHead writes the head of the table.
func writeHead(w io.Writer, h header) {
	for _, line := range h.lines() {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w, "times: ns per entity or operation, medians; ratio: Atoll to the best peer, median of the rounds; !: misses its bar")
	fmt.Fprintf(w, "\n%-19s %7s %9s %-12s %9s %6s  %-7s %8s  %s\n", "bench", "N", "atoll", "best peer", "ns", "ratio", "bar", "limit", "others")
}

// writeRow writes a result as a line of the table.
func writeRow(w io.Writer, r result) {
	fmt.Fprintf(w, "%-19s %7s %9s %-12s %9s %6s%1s %-7s %8s  %s\n", r.Bench, size(r.N), ns(r.AtollNS), or(r.BestPeer), ns(r.PeerNS),
		ratio(r.Ratio), mark(r.Missed), ratio(r.Target), ns(r.LimitNS), strings.Join(r.others(), ", "))
}

// others lists the values for which a line has no columns.
func (r result) others() []string {
	var list []string
	for _, shards := range slices.Sorted(maps.Keys(r.ByShards)) {
		if shards != r.Shards {
			v := r.ByShards[shards]
			list = append(list, fmt.Sprintf("atoll/%d %s", shards, ns(&v)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Peers)) {
		if name != r.BestPeer {
			list = append(list, name+" "+ns(valueOf(r.Peers, name)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.LeftOut)) {
		list = append(list, name+" left out: "+r.LeftOut[name])
	}
	return list
}

// writeFinding writes a finding of a section as a line.
func writeFinding(w io.Writer, x *section, f finding) {
	var values []string
	for _, c := range x.columns {
		if v := valueOf(f.Values, c.key); v != nil {
			values = append(values, c.head+" "+quantity(v))
		}
	}
	if f.LeftOut != "" {
		values = append(values, "left out: "+f.LeftOut)
	}
	what := x.name
	if f.Case != "" {
		what += " " + f.Case
	}
	fmt.Fprintf(w, "%-27s %7s %s%s: %s\n", what, size(f.N), f.label(), mark(f.Missed), strings.Join(values, ", "))
}

func writeSummary(w io.Writer, s summary) {
	fmt.Fprintf(w, "\n%d cells: geometric mean of the ratios %s, a peer is faster in %d; %d of %d miss their bar\n",
		s.Cells, ratio(&s.Mean), s.Lost, s.Missed, s.Judged)
}

// mark is the mark after a number that misses its target.
func mark(missed bool) string {
	if missed {
		return "!"
	}
	return ""
}
