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
	"encoding/json"
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

// report is one run: its settings and its results so far.
type report struct {
	settings
	header
	w        io.Writer // of result lines
	log      io.Writer // of progress
	results  []result
	findings []finding
}

// job is a cell or a section to measure.
type job struct {
	label  string
	weight float64 // its share of a budget
	cost   float64 // seconds that it takes about, if there is no budget
	run    func(deadline time.Time) error
}

// jobs lists the jobs of the settings: cells, then sections.
func (r *report) jobs() []job {
	var list []job
	for _, c := range r.cells() {
		list = append(list, job{c.label(c.n), sizeWeight(c.n), sizeCost(c.n), func(deadline time.Time) error {
			res := c.run(r.settings, deadline)
			res.Commit = r.commit
			r.results = append(r.results, res)
			return r.line(res, func() { writeRow(r.w, res) })
		}})
	}
	for _, x := range sections {
		n := x.size(r.settings)
		if !r.settings.names(x.label(n), x.name+"/"+size(n)) {
			continue
		}
		list = append(list, job{x.label(n), x.weight, x.cost, func(time.Time) error {
			for _, f := range x.measure(n, r.settings) {
				f.Commit = r.commit
				r.findings = append(r.findings, f)
				if err := r.line(f, func() { writeFinding(r.w, x, f) }); err != nil {
					return err
				}
			}
			return nil
		}})
	}
	return list
}

// line writes a result as a line of JSON, or by row.
func (r *report) line(found any, row func()) error {
	if r.json {
		return writeJSON(r.w, found)
	}
	row()
	return nil
}

// run measures everything and writes it.
func (r *report) run(start time.Time) error {
	list := r.jobs()
	if len(list) == 0 {
		return fmt.Errorf("no cell and no section matches -run %q here; -h lists the benches and sections", r.settings.run)
	}
	head := r.w
	if r.json {
		head = r.log
	}
	writeHead(head, r.header)
	left := budget{each: fullEach}
	if r.budget > 0 {
		left.end = start.Add(r.budget)
	}
	p := progress{w: r.log, start: start, jobs: len(list)}
	for i := range list {
		if !left.end.IsZero() {
			list[i].cost = list[i].weight
		}
		left.weight += list[i].weight
		p.total += list[i].cost
	}
	for i, j := range list {
		if left.spent() {
			r.missing = fmt.Sprintf("Out of time: %d of %d cells and sections were not measured, from %s on.", len(list)-i, len(list), j.label)
			fmt.Fprintln(r.log, r.missing)
			break
		}
		p.begin(j.label, j.cost, time.Now())
		if err := j.run(left.next(j.weight)); err != nil {
			return err
		}
	}
	sum := summarize(r.results)
	if err := r.line(sum, func() {
		if sum.Cells > 0 {
			writeSummary(r.w, sum)
		}
	}); err != nil || r.out == "" {
		return err
	}
	return writePage(r.out, r.header, r.results, r.findings)
}

// budget shares time among the jobs still to come.
type budget struct {
	end    time.Time     // zero: no limit
	each   time.Duration // without a limit, the time for a weight of 1
	weight float64       // of the jobs to come
}

// sizeWeight is the share of time that a cell of n entities gets, relative to
// others: large ones take longer to set up.
func sizeWeight(n int) float64 {
	switch {
	case n >= 500_000:
		return 6
	case n >= 100_000:
		return 4
	default:
		return 1
	}
}

// sizeCost is about how many seconds a cell of n entities takes without
// a limit.
func sizeCost(n int) float64 {
	switch {
	case n >= 500_000:
		return 14
	case n >= 100_000:
		return 4
	default:
		return 0.5
	}
}

// next takes the share of a job and returns its deadline.
func (b *budget) next(weight float64) time.Time {
	if b.end.IsZero() {
		return time.Now().Add(time.Duration(weight * float64(b.each)))
	}
	share := weight / b.weight
	b.weight -= weight
	left := time.Until(b.end)
	return time.Now().Add(time.Duration(float64(left) * share))
}

// spent reports whether there is no time left.
func (b *budget) spent() bool { return !b.end.IsZero() && !time.Now().Before(b.end) }

// progress prints how far a run is, a line for each job that begins.
type progress struct {
	w     io.Writer
	start time.Time
	jobs  int
	total float64 // cost of all jobs
	begun int
	done  float64 // cost of those that are done
}

// begin notes that a job of some cost begins now. It estimates the remaining time from
// the time that the costs so far have taken.
func (p *progress) begin(label string, cost float64, now time.Time) {
	spent := now.Sub(p.start)
	estimate := ""
	if p.done > 0 {
		left := time.Duration(float64(spent) * (p.total - p.done) / p.done)
		estimate = fmt.Sprintf(", about %v left", left.Round(time.Second))
	}
	p.begun++
	fmt.Fprintf(p.w, "[%d/%d, %v%s] %s\n", p.begun, p.jobs, spent.Round(time.Second), estimate, label)
	p.done += cost
}

// writeJSON writes a result, a finding or a summary as one line.
func writeJSON(w io.Writer, found any) error { return json.NewEncoder(w).Encode(found) }
