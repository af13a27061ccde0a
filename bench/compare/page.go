package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
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
	head, rows := []string{"bench"}, [][]string{}
	for _, n := range judged {
		head = append(head, size(n))
	}
	for i := range benches {
		if row := barRow(&benches[i], judged, results); row != nil {
			rows = append(rows, row)
		}
	}
	pageTable(w, 1, head, rows)
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
	if len(found) > 0 && found[0].Case != "" {
		head[0] = "with"
	}
	for _, c := range x.columns {
		head = append(head, c.head)
	}
	var rows [][]string
	for _, f := range found {
		row := []string{cmp.Or(f.Case, f.label())}
		for i, c := range x.columns {
			row = append(row, quantity(valueOf(f.Values, c.key))+missed(i == 0 && f.Missed))
		}
		rows = append(rows, row)
	}
	pageTable(w, 1, head, rows)
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
	var rows [][]string
	for _, c := range cases {
		row := []string{c}
		for _, name := range names {
			row = append(row, or(cells[[2]string{c, name}]))
		}
		rows = append(rows, row)
	}
	pageTable(w, 1, append([]string{"bench"}, names...), rows)
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

// pageTable writes a table, whose first columns are texts and the others numbers.
func pageTable(w io.Writer, texts int, head []string, rows [][]string) {
	rule := append(slices.Repeat([]string{"---"}, texts), slices.Repeat([]string{"---:"}, len(head)-texts)...)
	for _, cells := range append([][]string{head, rule}, rows...) {
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
}

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
	var lines [][]string
	for _, r := range rows {
		row := []string{size(r.N), ns(r.AtollNS), or(r.BestPeer) + " " + ns(r.PeerNS), ratio(r.Ratio), r.demand(),
			ns(valueOf(r.ByShards, 1)), ns(valueOf(r.ByShards, defaultShards))}
		for _, name := range names {
			row = append(row, ns(valueOf(r.Peers, name)))
		}
		lines = append(lines, append(row, ns(r.LimitNS)))
	}
	pageTable(w, 0, head, lines)
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
	var rows [][]string
	for _, r := range lost {
		rows = append(rows, []string{r.Bench, size(r.N), ratio(r.Ratio), ratio(r.RatioLow) + " – " + ratio(r.RatioHigh), r.demand(), ns(r.AtollNS), r.BestPeer + " " + ns(r.PeerNS)})
	}
	pageTable(w, 1, []string{"bench", "N", "ratio", "quartiles", "bar", "atoll", "best peer"}, rows)
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
	head, mean := []string{"bench", "N"}, []string{"geometric mean", ""}
	lines := make([][]string, len(rows))
	for i, r := range rows {
		lines[i] = []string{r.Bench, size(r.N)}
	}
	for _, shards := range shardCounts {
		head = append(head, fmt.Sprint(shards))
		logs := 0.0
		for i, r := range rows {
			v := r.ByShards[shards] / *r.PeerNS
			logs += math.Log(v)
			lines[i] = append(lines[i], ratio(&v))
		}
		v := math.Exp(logs / float64(len(rows)))
		mean = append(mean, ratio(&v))
	}
	pageTable(w, 1, head, append(lines, mean))
}

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

// header has the facts that readers of the numbers need.
type header struct {
	commit, cpu, version, command, date string
	procs                               int
	missing                             string // what there was no time for, in a sentence
}

// newHeader describes this run. out is a page, which may differ from the commit.
func newHeader(out string) header {
	return header{
		commit:  commit(out),
		cpu:     cpuModel(),
		version: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		command: strings.Join(append([]string{"go run ./bench/compare"}, os.Args[1:]...), " "),
		date:    time.Now().UTC().Format(time.DateOnly),
		procs:   runtime.GOMAXPROCS(0),
	}
}

// commit names the commit of the working directory, and says "dirty" if files
// other than the page differ from it.
func commit(page string) string {
	hash, err := git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "unknown"
	}
	status := []string{"status", "--porcelain", "--", ":/"}
	if filepath.IsLocal(page) { // git refuses paths outside of the repository
		status = append(status, ":!"+page)
	}
	if changed, err := git(status...); err != nil || changed != "" {
		return hash + " dirty"
	}
	return hash
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	return strings.TrimSpace(string(out)), err
}

func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(info)) {
		if name, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return runtime.GOARCH
}

func (h header) lines() []string {
	return []string{
		"commit: " + h.commit,
		"CPU: " + h.cpu,
		"Go: " + h.version,
		"GOMAXPROCS: " + strconv.Itoa(h.procs),
		"date: " + h.date,
		"command: " + h.command,
	}
}

// size writes a number of entities for people.
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

// ns writes a time with three significant digits, or a dash.
func ns(v *float64) string {
	switch {
	case v == nil:
		return "–"
	case math.Abs(*v) < 10:
		return strconv.FormatFloat(*v, 'f', 2, 64)
	case math.Abs(*v) < 100:
		return strconv.FormatFloat(*v, 'f', 1, 64)
	}
	return strconv.FormatFloat(*v, 'f', 0, 64)
}

// quantity is ns for values that may be 0.
func quantity(v *float64) string {
	switch {
	case v != nil && *v == 0:
		return "0"
	case v != nil && math.Abs(*v) < 0.01:
		return strconv.FormatFloat(*v, 'g', 2, 64)
	}
	return ns(v)
}

// valueOf returns one of the values by name, or nil.
func valueOf[K comparable](values map[K]float64, key K) *float64 {
	if v, ok := values[key]; ok {
		return &v
	}
	return nil
}

func ratio(v *float64) string {
	if v == nil {
		return "–"
	}
	return strconv.FormatFloat(*v, 'f', 2, 64)
}

// trim writes a number with as many digits as it has.
func trim(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func or(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
