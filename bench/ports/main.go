package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// goroutineCounts are the numbers of goroutines that act at the same time.
var goroutineCounts = []int{1, 2, 8, 64}

// chunkSizes are the numbers of entities that one call creates.
var chunkSizes = []int{16, 256, 1024, 8192}

// settings say how much is measured.
type settings struct {
	throughput throughput
	checks     []checks
	calls      calls
}

// full and quick are the settings of the command.
var (
	full = settings{
		throughput: throughput{resident: 100_000, entities: 3 << 20, rounds: 15},
		checks:     []checks{{16_000, 4 << 20, 15}, {1_000_000, 2 << 20, 15}},
		calls:      calls{resident: 100_000, samples: 1 << 20},
	}
	quick = settings{
		throughput: throughput{resident: 100_000, entities: 1 << 20, rounds: 5},
		checks:     []checks{{16_000, 2 << 20, 7}, {1_000_000, 1 << 20, 7}},
		calls:      calls{resident: 100_000, samples: 1 << 18},
	}
	// tiny is for tests.
	tiny = settings{
		throughput: throughput{resident: 1000, entities: 2 << 10, rounds: 1},
		checks:     []checks{{1000, 1 << 12, 1}},
		calls:      calls{resident: 1000, samples: 1 << 10},
	}
)

func main() {
	quickly := flag.Bool("quick", false, "measure less")
	only := flag.Bool("chunks", false, "measure only chunks of several sizes")
	out := flag.String("out", "", "write the tables to this `file`, too")
	flag.Parse()
	s := full
	if *quickly {
		s = quick
	}
	run := s.run
	if *only {
		run = s.runSizes
	}
	var page strings.Builder
	if err := run(io.MultiWriter(os.Stdout, &page), *out); err != nil {
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

// runSizes measures chunks of several sizes, and writes the page as it goes.
func (s *settings) runSizes(page io.Writer, out string) error {
	head(page, out)
	headSizes(page)
	for _, n := range goroutineCounts {
		cells, err := s.throughput.runSizes(n)
		if err != nil {
			return err
		}
		for _, c := range cells {
			c.writeSize(page)
		}
	}
	return nil
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
