package inspect

import (
	"fmt"
	"strconv"
	"time"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// moment is the statistics of a sample. Nothing writes them any more.
type moment struct {
	at        time.Time
	scheduler scheduler.Stats
	world     world.Stats
}

// shard returns the times of a shard: none before the first tick.
func (m *moment) shard(i int) (t scheduler.ShardTimes) {
	if i < len(m.scheduler.Shards) {
		t = m.scheduler.Shards[i]
	}
	return t
}

// pointsOf are how many points a span of the history has, and the time between them.
type pointsOf struct {
	name string
	step time.Duration
	n    int
}

var spans = map[string]int{"minute": 0, "hour": 1, "day": 2}

var resolutions = [...]pointsOf{{"minute", time.Second, 300}, {"hour", 10 * time.Second, 360}, {"day", 4 * time.Minute, 360}}

// history has points of three resolutions. Its size is fixed.
//
// Ownership: samples.mu guards it.
type history struct {
	spans [len(resolutions)]series
	now   moment
}

// series is a ring of points. The number of a point is its time in steps, and gives its place.
type series struct {
	points []point
	at     int64  // the number of the point under way
	begun  moment // when it began
	part   bool   // it began before the first sample
}

// columns are the names of the values of a point.
var columns = [...]string{
	"p50_ns", "p99_ns", "max_ns", "budget_ns", "entities", "overruns", "waiting", "bytes_used", "created", "destroyed",
}

// unknown is the value of what a point does not know.
const unknown = -1

// point is what happened in a step of time.
type point struct {
	number int64
	values [len(columns)]int64
}

// init makes the rings, for New.
func (h *history) init() {
	for i, r := range resolutions {
		h.spans[i].points = make([]point, r.n)
	}
}

// add adds a sample. In each span it ends the point under way if its time is over. The goroutine
// that takes a sample calls it, with samples.mu.
func (h *history) add(now *moment) {
	first := h.spans[0].at == 0
	was := h.now
	h.now = *now
	for i := range h.spans {
		s := &h.spans[i]
		number := now.at.UnixMilli() / resolutions[i].step.Milliseconds()
		switch {
		case first:
			s.begun, s.part = h.now, true
		case number != s.at:
			s.points[s.at%int64(len(s.points))] = pointOf(s.at, s.part, &s.begun, &was)
			s.begun, s.part = was, false
		}
		s.at = number
	}
}

// pointOf returns what happened between two samples. A part of a point does not cover its whole
// time, so counts of what happened within it would be too small. It changes neither.
func pointOf(number int64, part bool, from, to *moment) point {
	s, w := &to.scheduler, &to.world
	t := s.Time.Since(&from.scheduler.Time)
	since := func(now, was uint64) int64 {
		if part {
			return unknown
		}
		return int64(now - was)
	}
	p50, p99, longest := t.Quantile(0.5), t.Quantile(0.99), t.Max()
	if t.Count() == 0 {
		p50, p99, longest = unknown, unknown, unknown
	}
	return point{number, [...]int64{
		int64(p50), int64(p99), int64(longest), int64(s.Budget), int64(w.Entities), since(s.Overruns, from.scheduler.Overruns), int64(w.Waiting),
		int64(w.BytesUsed), since(w.Created, from.world.Created), since(w.Destroyed, from.world.Destroyed),
	}}
}

// append appends a span as JSON, a list for each column, from the oldest point on. It serves
// /api/history, with samples.mu.
func (h *history) append(dst []byte, span int) []byte {
	s, r := &h.spans[span], resolutions[span]
	n := int64(r.n)
	var all []*point // nil where there was no sample
	for number := s.at - n + 1; number <= s.at; number++ {
		p := &s.points[(number%n+n)%n]
		if number == s.at {
			p = new(pointOf(number, true, &s.begun, &h.now))
		}
		if p.number != number || s.at == 0 {
			p = nil
		}
		if p != nil || len(all) > 0 {
			all = append(all, p)
		}
	}
	dst = fmt.Appendf(dst, `{"span":%q,"step_ms":%d,"t_ms":[`, r.name, r.step.Milliseconds())
	for i := range all {
		dst = strconv.AppendInt(appendComma(dst), (s.at-int64(len(all)-1-i))*r.step.Milliseconds(), 10)
	}
	for k, name := range columns {
		dst = fmt.Appendf(dst, `],%q:[`, name)
		for _, p := range all {
			if dst = appendComma(dst); p == nil || p.values[k] == unknown {
				dst = append(dst, "null"...)
			} else {
				dst = strconv.AppendInt(dst, p.values[k], 10)
			}
		}
	}
	return append(dst, "]}"...)
}
