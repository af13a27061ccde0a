package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// writeHead writes the head of the table.
func writeHead(w io.Writer, h header) {
	for _, line := range h.lines() {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w, "times: ns per entity or operation, medians; ratio: Atoll to the best peer")
	fmt.Fprintf(w, "\n%-19s %7s %9s %-12s %9s %6s %9s  %s\n", "bench", "N", "atoll", "best peer", "ns", "ratio", "limit", "others")
}

// writeRow writes a result as a line of the table.
func writeRow(w io.Writer, r result) {
	fmt.Fprintf(w, "%-19s %7s %9s %-12s %9s %6s %9s  %s\n", r.Bench, size(r.N), ns(r.AtollNS), or(r.BestPeer), ns(r.PeerNS), ratio(r.Ratio), ns(r.LimitNS), strings.Join(r.others(), ", "))
}

// others lists what a line has no columns for.
func (r result) others() []string {
	var list []string
	if r.OneNS != nil && r.DefaultNS != nil {
		list = append(list, "atoll one shard "+ns(r.OneNS)+", default "+ns(r.DefaultNS))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Peers)) {
		if name != r.BestPeer {
			list = append(list, name+" "+nsOf(r.Peers, name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.LeftOut)) {
		list = append(list, name+" left out: "+r.LeftOut[name])
	}
	return list
}

// size writes a number of entities as people say it.
func size(n int) string {
	switch {
	case n >= 1_000_000 && n%1_000_000 == 0:
		return strconv.Itoa(n/1_000_000) + "M"
	case n == 1024:
		return "1k"
	case n >= 1000 && n%1000 == 0:
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.Itoa(n)
}

// ns writes a time with three digits that count, or a dash.
func ns(v *float64) string {
	switch {
	case v == nil:
		return "–"
	case *v < 10:
		return strconv.FormatFloat(*v, 'f', 2, 64)
	case *v < 100:
		return strconv.FormatFloat(*v, 'f', 1, 64)
	}
	return strconv.FormatFloat(*v, 'f', 0, 64)
}

// nsOf is ns of one of the times by name.
func nsOf(times map[string]float64, name string) string {
	if v, ok := times[name]; ok {
		return ns(&v)
	}
	return ns(nil)
}

func ratio(v *float64) string {
	if v == nil {
		return "–"
	}
	return strconv.FormatFloat(*v, 'f', 2, 64)
}

func or(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func itoa(n int) string { return strconv.Itoa(n) }
