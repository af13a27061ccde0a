package main

import (
	"fmt"
	"io"
	"time"
)

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
