package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// head writes the facts that readers of the numbers need.
func head(w io.Writer, out string) {
	_, _ = fmt.Fprintf(w, `# Ports

Written by the command below; do not edit.

- commit: %s
- CPU: %s
- Go: %s %s/%s
- GOMAXPROCS: %d
- date: %s
- command: %s

Contenders take turns, round by round, within one process. A ratio is the median of the ratios of the rounds.
`,
		code(commit(out)), code(cpu()), "`"+runtime.Version(), runtime.GOOS, runtime.GOARCH+"`", runtime.GOMAXPROCS(0),
		code(time.Now().UTC().Format(time.DateOnly)), code(strings.Join(append([]string{"go run ./bench/ports"}, os.Args[1:]...), " ")))
}

func code(text string) string { return "`" + text + "`" }

// commit names the commit of the working directory, and says "dirty" if files
// other than except differ from it.
func commit(except string) string {
	hash, err := git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "unknown"
	}
	status := []string{"status", "--porcelain", "--", ":/"}
	if except != "" {
		status = append(status, ":!"+except)
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

func cpu() string {
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

func row(w io.Writer, cells ...any) {
	for i := range cells {
		_, _ = fmt.Fprintf(w, "| %v ", cells[i])
	}
	_, _ = fmt.Fprintln(w, "|")
}

// table begins a table; its first column is text.
func table(w io.Writer, columns ...any) {
	row(w, columns...)
	rule := slices.Repeat([]any{"---:"}, len(columns))
	rule[0] = "---"
	row(w, rule...)
}

func headChecks(w io.Writer) {
	_, _ = fmt.Fprint(w, `
## Checking a handle

Nanoseconds of processor time for one check of one of so many living entities, in random order: by one goroutine, by two at
the same time, and the same while the world ticks, 100 times a second with a system that moves every entity. The ratios are
to one goroutine on an idle world. A slice of one's own, read in the same order, shows what cores and memory allow.

`)
	table(w, "look at", "entities", "one", "two", "ratio", "one, ticking", "ratio", "two, ticking", "ratio")
}

func (c *checkCell) write(w io.Writer) {
	ratio := func(to []float64) string {
		ratios := make([]float64, len(to))
		for i := range to {
			ratios[i] = to[i] / c.one[i]
		}
		return fmt.Sprintf("%.2f", median(ratios))
	}
	ns := func(of []float64) string { return fmt.Sprintf("%.2f", median(of)) }
	row(w, c.name, c.entities, ns(c.one), ns(c.two), ratio(c.two), ns(c.ticking), ratio(c.ticking), ns(c.twoTicked), ratio(c.twoTicked))
}

func headCalls(w io.Writer) {
	_, _ = fmt.Fprintf(w, `
## The sender's call

Microseconds from calling to returning, while the world ticks each %v and applies what is sent. With more goroutines than
cores a call can be interrupted by another goroutine's turn.

`, tickInterval)
	table(w, "call", "goroutines", "p50", "p99", "p99.9", "most")
}

func (c *callCell) write(w io.Writer) {
	us := func(d time.Duration) string { return fmt.Sprintf("%.3f", float64(d)/float64(time.Microsecond)) }
	row(w, c.call, c.goroutines, us(c.p50), us(c.p99), us(c.p999), us(c.most))
}

func headSizes(w io.Writer) {
	_, _ = fmt.Fprint(w, `
## Chunks of several sizes

As below, in chunks of so many entities. The goroutines together have as many entities under way as with chunks of 1024.

`)
	table(w, "goroutines", "chunk", contenders[0].name, contenders[1].name, "÷ "+contenders[1].name, "ns of all cores", contenders[1].name)
}

func (c *cell) writeSize(w io.Writer) {
	own, peer := c.entrants[0], c.entrants[1]
	row(w, c.goroutines, c.chunk, own.rate(), peer.rate(), fmt.Sprintf("%.2f", speedup(own, peer)),
		fmt.Sprintf("%.1f", median(own.cpu)), fmt.Sprintf("%.1f", median(peer.cpu)))
}

// rate returns millions of operations a second.
func (e *entrant) rate() string { return fmt.Sprintf("%.2f", 1000/median(e.ns)) }

func writeThroughput(w io.Writer, cells []*cell) {
	_, _ = fmt.Fprintf(w, `
## Creating and destroying

Entities with two components of two float64 are created and destroyed again, by goroutines that do nothing else, in a world
where others are already. Millions of operations a second of the clock, creates and destroys counted alike, from the first
call until the last one is applied: the ticks that apply them, one each %v, are in it. Alone, each entity is a call, and for
the others a lock or a transaction; in chunks, %d entities are, as far as each offers that. Each entity lives
for as many chunks of its goroutine as all goroutines share %d, but %d at the least.

`, tickInterval, chunkSize, placesMost, placesLeast)
	columns := []any{"goroutines"}
	for _, x := range contenders {
		columns = append(columns, x.name)
	}
	for _, x := range contenders[1:] {
		columns = append(columns, "÷ "+x.name)
	}
	for _, batch := range []bool{false, true} {
		columns[0] = "goroutines, alone"
		if batch {
			columns[0] = "goroutines, in chunks"
		}
		table(w, columns...)
		for _, c := range cells {
			c.write(w, batch)
		}
		_, _ = fmt.Fprintln(w)
	}
	_, _ = fmt.Fprint(w, "Atoll in chunks against the others alone:\n\n")
	table(w, "goroutines", "÷ "+contenders[1].name, "÷ "+contenders[2].name, "÷ "+contenders[3].name)
	for _, c := range cells {
		line := []any{c.goroutines}
		for _, x := range contenders[1:] {
			line = append(line, fmt.Sprintf("%.2f", speedup(c.find(contenders[0].name, true), c.find(x.name, false))))
		}
		row(w, line...)
	}
	_, _ = fmt.Fprint(w, "\nProcessor time of all cores, in nanoseconds for each operation:\n\n")
	columns = []any{"goroutines"}
	for _, x := range contenders {
		columns = append(columns, x.name+", alone", "in chunks")
	}
	table(w, columns...)
	for _, c := range cells {
		line := []any{c.goroutines}
		for _, x := range contenders {
			line = append(line, fmt.Sprintf("%.0f", median(c.find(x.name, false).cpu)), fmt.Sprintf("%.0f", median(c.find(x.name, true).cpu)))
		}
		row(w, line...)
	}
}

func (c *cell) write(w io.Writer, batch bool) {
	line := []any{c.goroutines}
	for _, x := range contenders {
		line = append(line, c.find(x.name, batch).rate())
	}
	for _, x := range contenders[1:] {
		line = append(line, fmt.Sprintf("%.2f", speedup(c.find(contenders[0].name, batch), c.find(x.name, batch))))
	}
	row(w, line...)
}
