// Command compare measures Atoll beside its peers, in one process and in turns,
// so that whatever else the machine does meets all of them alike. Run it from
// the root of the repository:
//
//	go run ./bench/compare                           a selection, in 40 seconds
//	go run ./bench/compare -json -run '^random'      one bench, a JSON object a line
//	go run ./bench/compare -full -out docs/benchmarks.md
//
// A cell is one bench at one number of entities. In each, every contender is set
// up at once and they are measured in turns; times are medians over the rounds,
// in nanoseconds for each entity or operation. What a contender did is checked
// after each cell: who did other work than asked, or panicked, is left out of
// the cell and the reason is given.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"
)

// settings are what the flags say.
type settings struct {
	json   bool
	full   bool
	both   bool // Atoll with one shard and with the default number
	shards int  // 0: by size
	run    *regexp.Regexp
	peers  *regexp.Regexp
	budget time.Duration
	out    string
	plan   plan
}

const (
	quickBudget = 40 * time.Second
	fullBudget  = 20 * time.Minute
	quickPeers  = "^(ark|arche)(-cached)?$" // one of them is the best in each cell of -quick
)

func parse() (settings, error) {
	var s settings
	quick := flag.Bool("quick", false, "a selection of benches and sizes, the fastest peers; the default")
	flag.BoolVar(&s.full, "full", false, "all benches, sizes and peers")
	flag.BoolVar(&s.json, "json", false, "write one JSON object a line")
	flag.IntVar(&s.shards, "shards", 0, "Atoll's number of shards (default by size: 1 below 1,000 entities)")
	flag.DurationVar(&s.budget, "budget", 0, "time to spend (default 40s, -full 20m)")
	flag.StringVar(&s.out, "out", "", "write a page of the results to this `file`")
	run := flag.String("run", "", "only the cells bench/N that match this `regexp`")
	peers := flag.String("peers", "", "only the peers that match this `regexp`")
	flag.Parse()
	if flag.NArg() > 0 || *quick && s.full {
		return s, fmt.Errorf("usage: compare [-quick|-full] [-json] [-run regexp] [-peers regexp] [-shards n] [-budget d] [-out file]")
	}
	s.both = s.full
	s.plan = plan{batchMin: 300 * time.Microsecond, roundMax: 20 * time.Millisecond, roundsMin: 3, roundsMax: 25}
	if s.full {
		s.plan = plan{batchMin: time.Millisecond, roundMax: 50 * time.Millisecond, roundsMin: 3, roundsMax: 25}
	} else if *peers == "" {
		*peers = quickPeers
	}
	if s.budget == 0 {
		s.budget = quickBudget
		if s.full {
			s.budget = fullBudget
		}
	}
	var err error
	if s.run, err = regexp.Compile(*run); err != nil {
		return s, err
	}
	s.peers, err = regexp.Compile(*peers)
	return s, err
}

// cell is one bench at one size.
type cell struct {
	*bench
	n int
}

// cells lists what the settings ask for.
func (s settings) cells() []cell {
	var list []cell
	for i := range benches {
		b := &benches[i]
		ns := sizes
		switch {
		case !s.full:
			ns = b.quick
		case b.once:
			ns = []int{1}
		}
		for _, n := range ns {
			if s.run.MatchString(b.label(n)) {
				list = append(list, cell{b, n})
			}
		}
	}
	return list
}

func main() {
	start := time.Now()
	s, err := parse()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if err := run(s, start); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(s settings, start time.Time) error {
	h := newHeader(s.out)
	head := os.Stdout
	if s.json {
		head = os.Stderr
	}
	writeHead(head, h)
	list := s.cells()
	left := budget{end: start.Add(s.budget)}
	for _, c := range list {
		left.weight += weight(c.n)
	}
	var results []result
	for i, c := range list {
		if left.spent() {
			h.missing = fmt.Sprintf("Out of time: %d of %d cells were not measured, from %s on.", len(list)-i, len(list), c.label(c.n))
			fmt.Fprintln(os.Stderr, h.missing)
			break
		}
		fmt.Fprintf(os.Stderr, "[%d/%d, %v] %s\n", i+1, len(list), time.Since(start).Round(time.Second), c.label(c.n))
		r := c.run(c.n, s, left.next(c.n))
		r.Commit = h.commit
		results = append(results, r)
		if !s.json {
			writeRow(os.Stdout, r)
		} else if err := writeJSON(os.Stdout, r); err != nil {
			return err
		}
	}
	if s.out == "" {
		return nil
	}
	return writePage(s.out, h, results)
}
