// Command compare measures Atoll and its peers, in one process and in turns,
// so that other load on the machine affects all of them alike. Run it from
// the root of the repository:
//
//	go run ./bench/compare                           a selection, in 45 seconds
//	go run ./bench/compare -json -run '^random'      one bench, a JSON object a line
//	go run ./bench/compare -full -out docs/benchmarks.md
//
// A cell is one bench at one number of entities. In each, every contender is set
// up at once and they are measured in turns; times are medians over the rounds,
// in nanoseconds for each entity or operation. The work is checked
// after each cell: a contender that did other work than asked, or panicked, is left out of
// the cell and the reason is given. A cell is measured longer if its ratio is
// close to 1 or to its bar.
//
// Sections measure what the cells do not show: the longest single create,
// memory, allocations, the work of the garbage collector.
//
// With -out a page of tables is written.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"
)

// settings are the values of the flags.
type settings struct {
	json   bool
	full   bool
	shards int // 0: by size
	huge   bool
	run    *regexp.Regexp
	peers  *regexp.Regexp
	budget time.Duration // 0: no limit
	out    string
	plan   plan
}

const (
	quickBudget = 36 * time.Second
	// quickPeers match the best peer of each cell of -quick.
	quickPeers = "^((ark|arche)(-cached)?|unitoftime-slices|maps)$"
	// fullEach is the time for a small cell under -full: all of them then take
	// some 24 minutes.
	fullEach = 2500 * time.Millisecond
)

var (
	quickPlan = plan{batchMin: 300 * time.Microsecond, warmMin: 3 * time.Millisecond, roundMax: 20 * time.Millisecond, roundsAll: 3, roundsMin: 3, roundsMax: 25}
	fullPlan  = plan{batchMin: time.Millisecond, warmMin: 5 * time.Millisecond, roundMax: 50 * time.Millisecond, roundsAll: 3, roundsMin: 7, roundsMax: 51}
)

// texts are flags that must still be parsed.
type texts struct {
	quick      bool
	run, peers string
}

// flags defines the flags; help and errors go to out.
func (s *settings) flags(out io.Writer, t *texts) *flag.FlagSet {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // parse prints errors
	flags.Usage = func() {
		flags.SetOutput(out)
		defer flags.SetOutput(io.Discard)
		fmt.Fprint(out, `usage: compare [-quick|-full] [flags]

Compares Atoll with its peers: times by bench and number of entities, and
sections on stalls, memory, allocations and garbage collection. Progress goes to
the standard error.

`)
		flags.PrintDefaults()
		fmt.Fprint(out, "\nbenches:\n")
		for _, b := range benches {
			fmt.Fprintf(out, "  %-34s %s\n", b.name, b.title)
		}
		fmt.Fprint(out, "\nsections:\n")
		for _, x := range sections {
			fmt.Fprintf(out, "  %-34s %s\n", x.name, x.title)
		}
	}
	flags.BoolVar(&t.quick, "quick", false, "a selection of benches and sizes, with the fastest peers, within 45s; the default")
	flags.BoolVar(&s.full, "full", false, "all benches, sizes and peers, and Atoll with 1, 4, 16 and 256 shards")
	flags.BoolVar(&s.json, "json", false, "write one JSON object a line: cells, findings of sections, a summary")
	flags.IntVar(&s.shards, "shards", 0, "Atoll's number of shards (default: as many as a world has by default)")
	flags.BoolVar(&s.huge, "huge", false, "Atoll with Options.HugePages, in cells")
	flags.DurationVar(&s.budget, "budget", 0, "time to spend; what is left then is not measured (default 36s for -quick, no limit for -full)")
	flags.StringVar(&s.out, "out", "", "write a page of the results to this `file`")
	flags.StringVar(&t.run, "run", "", "only the cells bench/N and sections section/N that match this `regexp`")
	flags.StringVar(&t.peers, "peers", "", "only the peers that match this `regexp`")
	return flags
}

// parse reads the flags. It prints errors to out.
func parse(args []string, out io.Writer) (settings, error) {
	s, err := read(args, out)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(out, "compare:", err)
	}
	return s, err
}

func read(args []string, out io.Writer) (settings, error) {
	var s settings
	var t texts
	flags := s.flags(out, &t)
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 || t.quick && s.full {
		return s, errors.New("-quick and -full exclude each other, and there are no arguments beside flags; -h tells what there is")
	}
	s.plan = quickPlan
	switch {
	case s.full:
		s.plan = fullPlan
	case t.peers == "":
		t.peers = quickPeers
	}
	if s.budget == 0 && !s.full {
		s.budget = quickBudget
	}
	var err error
	if s.run, err = regexp.Compile(t.run); err != nil {
		return s, err
	}
	s.peers, err = regexp.Compile(t.peers)
	return s, err
}

// cells lists the cells that the settings select.
func (s settings) cells() []cell {
	var list []cell
	for i := range benches {
		b := &benches[i]
		ns := sizes
		switch {
		case !s.full && b.quick == nil && s.run.String() != "":
			ns = b.sizes // asked for by name
		case !s.full:
			ns = b.quick
		case b.once:
			ns = []int{1}
		case b.sizes != nil:
			ns = b.sizes
		}
		for _, n := range ns {
			if s.names(b.label(n), b.name+"/"+size(n)) {
				list = append(list, cell{b, n})
			}
		}
	}
	return list
}

// names reports whether -run matches a label, whose number may be written as in the tables.
func (s settings) names(label, short string) bool {
	return s.run.MatchString(label) || s.run.MatchString(short)
}

func main() {
	start := time.Now()
	s, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(2)
	}
	r := report{settings: s, header: newHeader(s.out), w: os.Stdout, log: os.Stderr}
	if err := r.run(start); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}
