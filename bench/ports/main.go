package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// goroutineCounts are how many act at the same time.
var goroutineCounts = []int{1, 2, 8, 64}

// settings are how much is measured.
type settings struct {
	throughput throughput
	checks     []checks
	calls      calls
}

// full and quick are the settings there are.
var (
	full = settings{
		throughput: throughput{resident: 100_000, chunks: 3072, rounds: 15},
		checks:     []checks{{16_000, 4 << 20, 15}, {1_000_000, 2 << 20, 15}},
		calls:      calls{resident: 100_000, samples: 1 << 20},
	}
	quick = settings{
		throughput: throughput{resident: 100_000, chunks: 1024, rounds: 5},
		checks:     []checks{{16_000, 2 << 20, 7}, {1_000_000, 1 << 20, 7}},
		calls:      calls{resident: 100_000, samples: 1 << 18},
	}
	// tiny is for tests.
	tiny = settings{
		throughput: throughput{resident: 1000, chunks: 2, rounds: 1},
		checks:     []checks{{1000, 1 << 12, 1}},
		calls:      calls{resident: 1000, samples: 1 << 10},
	}
)

func main() {
	quickly := flag.Bool("quick", false, "measure less")
	out := flag.String("out", "", "write the tables to this `file`, too")
	flag.Parse()
	s := full
	if *quickly {
		s = quick
	}
	var page strings.Builder
	if err := s.run(io.MultiWriter(os.Stdout, &page), *out); err != nil {
		fmt.Fprintln(os.Stderr, "ports:", err)
		os.Exit(1)
	}
	if *out != "" {
		if err := os.WriteFile(*out, []byte(page.String()), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "ports:", err)
			os.Exit(1)
		}
	}
}

// run measures everything and writes the page as it goes.
func (s *settings) run(page io.Writer, out string) error {
	head(page, out)
	headChecks(page)
	for _, k := range s.checks {
		for _, c := range k.run() {
			c.write(page)
		}
	}
	headCalls(page)
	for _, n := range goroutineCounts {
		for _, c := range s.calls.run(n) {
			c.write(page)
		}
	}
	var cells []*cell
	for _, n := range goroutineCounts {
		c, err := s.throughput.run(n)
		if err != nil {
			return err
		}
		cells = append(cells, c)
	}
	writeThroughput(page, cells)
	return nil
}
