package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/setting"
)

const topAbout = `Top shows each second what the world at an inspector's address does: ticks,
entities, requests, shards, and the systems and steps of the refresh that take
most. Interrupt it to end it.`

// figures are the parts of /api/stats that top shows.
type figures struct {
	Tick   uint64 `json:"tick"`
	Age    int64  `json:"age_ms"`
	Paused bool   `json:"paused"`
	Rung   int    `json:"rung"`
	Ticks  struct {
		times
		Between  times         `json:"between"`
		Budget   time.Duration `json:"budget_ns"`
		Overruns uint64        `json:"overruns"`
		Skipped  uint64        `json:"skipped"`
	} `json:"ticks"`
	Panics   uint64          `json:"panics"`
	Entities int             `json:"entities"`
	Waiting  int             `json:"waiting"`
	Ports    int             `json:"ports"`
	Rejected uint64          `json:"rejected"`
	Latency  times           `json:"latency"`
	Used     uint64          `json:"bytes_used"`
	Reserved uint64          `json:"bytes_reserved"`
	Shards   []shardFigures  `json:"shards"`
	Systems  []systemFigures `json:"systems"`
	Steps    []stepFigures   `json:"steps"`
}

type shardFigures struct {
	Shard    int           `json:"shard"`
	Entities int           `json:"entities"`
	Busy     time.Duration `json:"busy_ns"` // per tick, as the fields after it
	Waited   time.Duration `json:"waited_ns"`
	HeldUp   time.Duration `json:"held_up_ns"`
}

type systemFigures struct {
	Name    string  `json:"name"`
	Enabled bool    `json:"enabled"`
	Share   float64 `json:"share"`
	Panics  uint64  `json:"panics"`
	times
}

type stepFigures struct {
	Name string `json:"name"`
	times
}

type times struct {
	P50   time.Duration `json:"p50_ns"`
	P99   time.Duration `json:"p99_ns"`
	Max   time.Duration `json:"max_ns"`
	Count uint64        `json:"count"`
}

// clearScreen moves to the top of a terminal and clears it.
const clearScreen = "\x1b[H\x1b[2J"

// runTop is the top command.
func runTop(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := newFlags("top", topAbout)
	addr, token := inspectorFlags(f)
	every, times, rows := time.Second, 0, 12
	f.Var(span(&every), "every", "`time` between two looks")
	f.Var(number(&times, setting.Range{Min: 0, Max: 1 << 30}), "times", "how `often` to look; 0: until interrupted")
	f.Var(number(&rows, setting.Range{Min: 1, Max: 10_000}), "rows", "the most `lines` of shards, systems and steps")
	if code, done := parse(f, args, stdout, stderr); done {
		return code
	}
	c, err := newClient(*addr, *token)
	if err != nil {
		return failed(f, err, stderr)
	}
	before := ""
	if isTerminal(stdout) {
		before = clearScreen
	}
	ticker := time.NewTicker(max(every, 50*time.Millisecond))
	defer ticker.Stop()
	for n := 1; ; n++ {
		var x figures
		err := c.read(ctx, &x, "/api/stats", nil)
		switch {
		case ctx.Err() != nil:
			return exitOK
		case err != nil && (n == 1 || before == ""):
			return failed(f, err, stderr)
		case err != nil:
			_, _ = fmt.Fprintf(stdout, "\nnot connected: %v; trying again\n", err)
		default:
			_, _ = io.WriteString(stdout, before+x.screen(rows))
		}
		if n == times {
			return exitOK
		}
		select {
		case <-ctx.Done():
			return exitOK
		case <-ticker.C:
		}
	}
}

// screen is what top shows.
func (f *figures) screen(rows int) string {
	var b strings.Builder
	state := ""
	if f.Paused {
		state += ", paused"
	}
	if f.Age > 2000 {
		state += fmt.Sprintf(", no tick ended for %.0f s", float64(f.Age)/1000)
	}
	if f.Rung > 0 {
		state += fmt.Sprintf(", on rung %d of the ladder", f.Rung)
	}
	fmt.Fprintf(&b, "tick %d: p50 %s, p99 %s, longest %s of the last 10 s, p99 before the tick itself %s; budget %s, %d too long, %d given up, %d panics%s\n",
		f.Tick, short(f.Ticks.P50), short(f.Ticks.P99), short(f.Ticks.Max), short(f.Ticks.Between.P99), short(f.Ticks.Budget), f.Ticks.Overruns, f.Ticks.Skipped, f.Panics, state)
	fmt.Fprintf(&b, "%d entities, %s of %s used; %d ports, %d requests wait, p50 %s, p99 %s, %d rejected\n\n",
		f.Entities, mega(f.Used), mega(f.Reserved), f.Ports, f.Waiting, short(f.Latency.P50), short(f.Latency.P99), f.Rejected)

	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(cells ...string) {
		for i := range cells {
			cells[i] = strings.ReplaceAll(harmless(cells[i]), "\n", `\n`)
		}
		_, _ = fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	line("SHARD", "ENTITIES", "BUSY IN A TICK", "WAITED", "HELD OTHERS UP")
	for _, s := range most(f.Shards, rows, func(s shardFigures) float64 { return float64(s.Busy) }) {
		line(strconv.Itoa(s.Shard), strconv.Itoa(s.Entities), short(s.Busy), short(s.Waited), short(s.HeldUp))
	}
	line("")
	line("SYSTEM", "SHARE", "P50", "P99", "LONGEST")
	for _, s := range most(f.Systems, rows, func(s systemFigures) float64 { return s.Share }) {
		name := s.Name
		if !s.Enabled {
			name += " (disabled)"
		}
		if s.Panics > 0 {
			name += fmt.Sprintf(" (%d panics)", s.Panics)
		}
		line(name, fmt.Sprintf("%.1f%%", 100*s.Share), short(s.P50), short(s.P99), short(s.Max))
	}
	line("")
	line("STEP OF THE REFRESH", "", "P50", "P99", "LONGEST")
	for _, s := range most(f.Steps, rows, func(s stepFigures) float64 { return float64(s.P50) }) {
		if s.Max > 0 {
			line(s.Name, "", short(s.P50), short(s.P99), short(s.Max))
		}
	}
	_ = t.Flush()
	return b.String()
}

// most returns the first n, those with the most first.
func most[T any](all []T, n int, of func(T) float64) []T {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(of(b), of(a)) })
	return all[:min(n, len(all))]
}

// short writes a time with three digits.
func short(d time.Duration) string {
	switch {
	case d < time.Microsecond:
		return d.String()
	case d < time.Millisecond:
		return fmt.Sprintf("%.3gµs", float64(d)/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.3gms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.3gs", d.Seconds())
}

// mega writes a number of bytes.
func mega(n uint64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
