package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// writePage writes the results as a page of the documentation.
func writePage(file string, h header, results []result) error {
	var page strings.Builder
	pageHead(&page, h)
	for _, b := range benches {
		rows := slices.DeleteFunc(slices.Clone(results), func(r result) bool { return r.Bench != b.name })
		if len(rows) > 0 {
			fmt.Fprintf(&page, "\n## %s\n\n%s.\n\n", b.name, b.title)
			pageTable(&page, rows)
		}
	}
	pageLosses(&page, results)
	return os.WriteFile(file, []byte(page.String()), 0o644)
}

func pageHead(w io.Writer, h header) {
	fmt.Fprint(w, "# Benchmarks\n\nWritten by the command below; do not edit.\n\n")
	for _, line := range h.lines() {
		key, value, _ := strings.Cut(line, ": ")
		fmt.Fprintf(w, "- %s: `%s`\n", key, value)
	}
	fmt.Fprintf(w, `
Times are nanoseconds for each entity or operation, on one core: medians over rounds in which the contenders take turns
within one process. Ratios travel to other machines, times do not. The ratio is Atoll's time to that of the best peer in
the row: below 1, Atoll is faster. The limit is hand-written slices, without handles and without checks. Each contender is
used by its fastest path whose checks are on, and what it did is compared with what was asked: who did other work, or
panicked, is left out of the row. A dash is what a contender does not offer.

Atoll has one shard below 1,000 entities and the default number of shards from there on; the columns "1 shard" and
"default" show both. Destroying includes the refresh. In iterate2 there are 10 entities that do not match for each that
does, but at most %d; in iterate2-256 there are 4, at most %d.
`, bystandersMax, strangersMax)
	if h.missing != "" {
		fmt.Fprintf(w, "\n%s\n", h.missing)
	}
}

func pageTable(w io.Writer, rows []result) {
	peers := map[string]bool{}
	twins := false
	for _, r := range rows {
		for name := range r.Peers {
			peers[name] = true
		}
		twins = twins || r.OneNS != nil
	}
	names := slices.Sorted(maps.Keys(peers))
	head := []string{"N", "atoll", "best peer", "ratio"}
	if twins {
		head = append(head, "1 shard", "default")
	}
	head = append(append(head, names...), "limit")
	pageRow(w, head)
	pageRow(w, slices.Repeat([]string{"---:"}, len(head)))
	for _, r := range rows {
		row := []string{size(r.N), ns(r.AtollNS), or(r.BestPeer) + " " + ns(r.PeerNS), ratio(r.Ratio)}
		if twins {
			row = append(row, ns(r.OneNS), ns(r.DefaultNS))
		}
		for _, name := range names {
			row = append(row, nsOf(r.Peers, name))
		}
		pageRow(w, append(row, ns(r.LimitNS)))
	}
	for _, r := range rows {
		for _, name := range slices.Sorted(maps.Keys(r.LeftOut)) {
			fmt.Fprintf(w, "\nAt N = %s, %s is left out: %s.\n", size(r.N), name, r.LeftOut[name])
		}
	}
}

func pageRow(w io.Writer, cells []string) {
	fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
}

// pageLosses lists the cells in which a peer is faster, the worst first, and
// those that Atoll does not offer.
func pageLosses(w io.Writer, results []result) {
	var lost, missing []result
	compared := 0
	for _, r := range results {
		switch {
		case r.Ratio == nil && r.PeerNS != nil:
			missing = append(missing, r)
		case r.Ratio != nil:
			compared++
			if *r.Ratio > 1 {
				lost = append(lost, r)
			}
		}
	}
	slices.SortStableFunc(lost, func(a, b result) int { return cmp.Compare(*b.Ratio, *a.Ratio) })
	fmt.Fprintf(w, `
## Where Atoll loses

A peer is faster in %d of %d rows, the worst first. The best of many peers is also the luckiest: the quartiles are of the
ratios of single rounds, and where 1 is between them, it is a draw.

`, len(lost), compared)
	pageRow(w, []string{"bench", "N", "ratio", "quartiles", "atoll", "best peer"})
	pageRow(w, []string{"---", "---:", "---:", "---:", "---:", "---:"})
	for _, r := range lost {
		pageRow(w, []string{r.Bench, size(r.N), ratio(r.Ratio), ratio(r.RatioLow) + " – " + ratio(r.RatioHigh), ns(r.AtollNS), r.BestPeer + " " + ns(r.PeerNS)})
	}
	if len(missing) > 0 {
		names := map[string]bool{}
		for _, r := range missing {
			names[r.Bench] = true
		}
		fmt.Fprintf(w, "\nNot offered by Atoll: %s.\n", strings.Join(slices.Sorted(maps.Keys(names)), ", "))
	}
}
