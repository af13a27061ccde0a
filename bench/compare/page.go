package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// writePage writes what was found as a page of the documentation.
func writePage(file string, h header, results []result, findings []finding) error {
	var page strings.Builder
	pageHead(&page, h)
	if len(results) > 0 {
		pageCells(&page)
	}
	if h.missing != "" {
		fmt.Fprintf(&page, "\n%s\n", h.missing)
	}
	pageSummary(&page, results)
	for _, b := range benches {
		rows := slices.DeleteFunc(slices.Clone(results), func(r result) bool { return r.Bench != b.name })
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(&page, "\n## %s\n\n%s.\n\n", b.name, b.title)
		if b.why != "" {
			fmt.Fprintf(&page, "%s.\n\n", b.why)
		}
		pageBench(&page, rows)
	}
	if len(results) > 0 {
		pageLosses(&page, results)
		pageShards(&page, results)
	}
	for _, x := range sections {
		pageSection(&page, x, slices.DeleteFunc(slices.Clone(findings), func(f finding) bool { return f.Section != x.name }))
	}
	return os.WriteFile(file, []byte(page.String()), 0o644)
}

func pageHead(w io.Writer, h header) {
	fmt.Fprint(w, "# Benchmarks\n\nWritten by the command below; do not edit.\n\n")
	for _, line := range h.lines() {
		key, value, _ := strings.Cut(line, ": ")
		fmt.Fprintf(w, "- %s: `%s`\n", key, value)
	}
}

// pageCells explains the tables of cells.
func pageCells(w io.Writer) {
	fmt.Fprintf(w, `
Times are nanoseconds for each entity or operation, on one core: medians over rounds in which the contenders take turns
within one process. Ratios travel to other machines, times do not. The ratio is Atoll's time to a peer's in the same
round, and its median over the rounds: below 1, Atoll is faster. It is not quite the quotient of the two medians, as the
machine is slower in some rounds than in others. The best peer is the one with the largest ratio. The limit is hand-written
slices, without handles and without checks. Each contender is used by its fastest path whose checks are on, and what it did
is compared with what was asked: who did other work, or panicked, is left out of the row. A dash is what a contender does
not offer. Peers that are more than %d times slower than the best take part in %d rounds only, or one with many entities;
cells close to 1 or to their bar have more rounds.

Atoll has its default options, with %d shards; the columns with numbers of shards show others. Its calls are those that
the guide teaches. Volt does not check whether an entity is alive. Destroying includes the refresh. In iterate2 there are
10 entities that do not match for each that does, but at most %d; in iterate2-256 there are 4, at most %d. Ten components with
values are created by Ark and Arche alone: the others take ten times as long without values. A system can request at most
Options.OutboxRequests changes in a shard and tick, so change1-tick ends at 256k.
`, hopeless, fullPlan.roundsAll, defaultShards, bystandersMax, strangersMax)
}

// pageSummary summarizes all cells, and has a row for each bench with its bars.
func pageSummary(w io.Writer, results []result) {
	if len(results) == 0 {
		return
	}
	s := summarize(results)
	fmt.Fprintf(w, `
## Bars

A bar is the largest ratio that is wanted of a cell; a cell that is at most %.0f %% beyond counts as met. %d of %d cells with a
bar miss it. A peer is faster in %d of all %d cells, whose geometric mean is **%s**. Each cell here is a ratio / its bar.

`, 100*tolerance, s.Missed, s.Judged, s.Lost, s.Cells, ratio(&s.Mean))
	judged := judgedSizes()
	head, rule := []string{"bench"}, []string{"---"}
	for _, n := range judged {
		head, rule = append(head, size(n)), append(rule, "---:")
	}
	pageRow(w, head)
	pageRow(w, rule)
	for i := range benches {
		if row := barRow(&benches[i], judged, results); row != nil {
			pageRow(w, row)
		}
	}
	for _, r := range results {
		if r.TargetNS != nil {
			fmt.Fprintf(w, "\n%s takes %s ns, of at most %s%s.\n", r.Bench, ns(r.AtollNS), ns(r.TargetNS), missed(r.Missed))
		}
	}
}

// barRow returns the ratios of a bench with their bars; nil: it has none.
func barRow(b *bench, sizes []int, results []result) []string {
	row := []string{b.name}
	judged := false
	for _, n := range sizes {
		text := "–"
		for _, r := range results {
			if r.Bench == b.name && r.N == n && r.Ratio != nil {
				text = ratio(r.Ratio)
				if r.Target != nil {
					judged = true
					text += " / " + ratio(r.Target) + missed(r.Missed)
				}
			}
		}
		row = append(row, text)
	}
	if !judged {
		return nil
	}
	return row
}

// benchOf returns the bench of a result.
func benchOf(r result) *bench {
	i := slices.IndexFunc(benches, func(b bench) bool { return b.name == r.Bench })
	return &benches[i]
}

// pageSection writes the table of a section.
func pageSection(w io.Writer, x *section, found []finding) {
	if len(found) == 0 {
		return
	}
	fmt.Fprintf(w, "\n## %s: N = %s\n\n%s\n", x.title, size(found[0].N), x.text)
	if x.target != nil {
		who := fmt.Sprintf("with %d shards and N = %s", defaultShards, size(x.full))
		if x.judgeAll {
			who = "with any number of shards"
		}
		fmt.Fprintf(w, "The target for Atoll, %s, is %s in the first column.\n", who, "≤ "+trim(*x.target))
	}
	fmt.Fprintln(w)
	if x.byCase {
		pageByCase(w, x, found)
		return
	}
	head := []string{"contender"}
	for _, c := range x.columns {
		head = append(head, c.head)
	}
	pageRow(w, head)
	pageRow(w, append([]string{"---"}, slices.Repeat([]string{"---:"}, len(x.columns))...))
	for _, f := range found {
		row := []string{f.label()}
		for i, c := range x.columns {
			row = append(row, quantity(valueOf(f.Values, c.key))+missed(i == 0 && f.Missed))
		}
		pageRow(w, row)
	}
	pageLeftOut(w, found)
}

// pageByCase writes a row for each case with the first value of each contender.
func pageByCase(w io.Writer, x *section, found []finding) {
	var cases, names []string
	cells := map[[2]string]string{}
	for _, f := range found {
		if !slices.Contains(cases, f.Case) {
			cases = append(cases, f.Case)
		}
		if !slices.Contains(names, f.label()) {
			names = append(names, f.label())
		}
		cells[[2]string{f.Case, f.label()}] = quantity(valueOf(f.Values, x.columns[0].key)) + missed(f.Missed)
	}
	pageRow(w, append([]string{"bench"}, names...))
	pageRow(w, append([]string{"---"}, slices.Repeat([]string{"---:"}, len(names))...))
	for _, c := range cases {
		row := []string{c}
		for _, name := range names {
			row = append(row, or(cells[[2]string{c, name}]))
		}
		pageRow(w, row)
	}
	pageLeftOut(w, found)
}

func pageLeftOut(w io.Writer, found []finding) {
	for _, f := range found {
		if f.LeftOut != "" {
			fmt.Fprintf(w, "\n%s is left out%s: %s.\n", f.label(), in(f.Case), f.LeftOut)
		}
	}
}

func in(what string) string {
	if what == "" {
		return ""
	}
	return " in " + what
}

// missed is the mark after a number that misses its target.
func missed(is bool) string {
	if is {
		return " (missed)"
	}
	return ""
}

func pageRow(w io.Writer, cells []string) {
	fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
}
