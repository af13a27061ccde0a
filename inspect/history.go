package inspect

import (
	"fmt"
	"strconv"
	"time"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
	"github.com/atoll-sim/atoll/world/stats"
)

// pointsOf are how many points a span of the history has, and the time between them.
type pointsOf struct {
	name string
	step time.Duration
	n    int
}

var spans = map[string]int{"minute": 0, "hour": 1, "day": 2}

var resolutions = [...]pointsOf{{"minute", time.Second, 300}, {"hour", 10 * time.Second, 360}, {"day", 4 * time.Minute, 360}}

// history has points of three resolutions. Its size is fixed.
type history struct {
	spans [len(resolutions)]series
	now   counts
}

// series is a ring of points. The number of a point is its time in steps, and gives its place.
type series struct {
	points []point
	at     int64  // the number of the point under way
	begun  counts // when it began
	part   bool   // it began before the first sample
}

// counts are the counts of a sample that points need.
type counts struct {
	time                         stats.Histogram
	budget                       time.Duration
	overruns, created, destroyed uint64
	entities, waiting            int
	bytes                        uint64
}

// point is what happened in a step of time.
type point struct {
	number             int64
	part               bool // it does not cover its whole time, so what happened within it is too little
	ticks              uint64
	p50, p99, max      time.Duration
	budget             time.Duration
	overruns           uint64
	created, destroyed uint64
	entities, waiting  int
	bytes              uint64
}

func (h *history) init() {
	for i, r := range resolutions {
		h.spans[i].points = make([]point, r.n)
	}
}

func countsOf(s *scheduler.Stats, w *world.Stats) counts {
	return counts{s.Time, s.Budget, s.Overruns, w.Created, w.Destroyed, w.Entities, w.Waiting, w.BytesUsed}
}

// add adds a sample.
func (h *history) add(now *moment, s *scheduler.Stats, w *world.Stats) {
	first := h.spans[0].at == 0
	was := h.now
	h.now = countsOf(s, w)
	for i := range h.spans {
		x := &h.spans[i]
		number := now.at.UnixMilli() / resolutions[i].step.Milliseconds()
		switch {
		case first:
			x.begun, x.part = h.now, true
		case number != x.at:
			x.points[x.at%int64(len(x.points))] = pointOf(x.at, x.part, &x.begun, &was)
			x.begun, x.part = was, false
		}
		x.at = number
	}
}

// pointOf returns what happened between two samples.
func pointOf(number int64, part bool, from, to *counts) point {
	t := to.time.Since(&from.time)
	return point{
		number, part, t.Count(), t.Quantile(0.5), t.Quantile(0.99), t.Max(), to.budget, to.overruns - from.overruns,
		to.created - from.created, to.destroyed - from.destroyed, to.entities, to.waiting, to.bytes,
	}
}

// append appends a span as JSON. The unfinished point has no counts of what happened within it,
// which would be too small.
func (h *history) append(dst []byte, span int) []byte {
	x, r := &h.spans[span], resolutions[span]
	n := int64(r.n)
	var all []*point
	for number := x.at - n + 1; number <= x.at; number++ {
		p := &x.points[(number%n+n)%n]
		if number == x.at {
			p = new(pointOf(number, true, &x.begun, &h.now))
		}
		if p.number != number || x.at == 0 {
			p = nil
		}
		if p != nil || len(all) > 0 {
			all = append(all, p)
		}
	}
	dst = fmt.Appendf(dst, `{"span":%q,"step_ms":%d,"t_ms":[`, r.name, r.step.Milliseconds())
	for i := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, (x.at-int64(len(all)-1-i))*r.step.Milliseconds(), 10)
	}
	list := func(name string, of func(p *point) (uint64, bool)) {
		dst = fmt.Appendf(dst, `],%q:[`, name)
		for i, p := range all {
			if i > 0 {
				dst = append(dst, ',')
			}
			var v uint64
			ok := p != nil
			if ok {
				v, ok = of(p)
			}
			if ok {
				dst = strconv.AppendUint(dst, v, 10)
			} else {
				dst = append(dst, "null"...)
			}
		}
	}
	list("p50_ns", func(p *point) (uint64, bool) { return uint64(p.p50), p.ticks > 0 })
	list("p99_ns", func(p *point) (uint64, bool) { return uint64(p.p99), p.ticks > 0 })
	list("max_ns", func(p *point) (uint64, bool) { return uint64(p.max), p.ticks > 0 })
	list("budget_ns", func(p *point) (uint64, bool) { return uint64(p.budget), true })
	list("entities", func(p *point) (uint64, bool) { return uint64(p.entities), true })
	list("overruns", func(p *point) (uint64, bool) { return p.overruns, !p.part })
	list("waiting", func(p *point) (uint64, bool) { return uint64(p.waiting), true })
	list("bytes_used", func(p *point) (uint64, bool) { return p.bytes, true })
	list("created", func(p *point) (uint64, bool) { return p.created, !p.part })
	list("destroyed", func(p *point) (uint64, bool) { return p.destroyed, !p.part })
	return append(dst, "]}"...)
}
