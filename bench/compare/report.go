package main

import (
	"fmt"
	"io"
	"time"
)

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
