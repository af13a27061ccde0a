package soak

import (
	"fmt"
	"time"

	"github.com/atoll-sim/atoll/world"
)

// headerPeriod is after how many lines the header comes again.
const headerPeriod = 20

// progress is the state at the last line.
type progress struct {
	start, at time.Time
	stats     world.Stats
	ops       uint64
	took      time.Duration // the longest tick since
	lines     int
}

// tell writes a line each second.
func (k *soak) tell() {
	p, now := &k.progress, time.Now()
	if p.at.IsZero() {
		p.start, p.at = now, now
	}
	seconds := now.Sub(p.at).Seconds()
	if seconds < tellPeriod.Seconds() {
		return
	}
	if p.lines%headerPeriod == 0 {
		_, _ = fmt.Fprintf(k.live, "%7s %7s %9s │ %9s │ %9s %9s │ %9s %9s │ %9s %s\n",
			"time", "ticks", "longest", "entities", "created/s", "destr./s", "ops/s", "applied/s", "rejected/s", "violations")
	}
	p.lines++
	stats, ops := &k.sampler.stats, k.operations()
	violations, _ := k.all()
	rate := func(now, before uint64) float64 { return float64(now-before) / seconds }
	_, _ = fmt.Fprintf(k.live, "%6.0fs %7d %6.1f ms │ %9d │ %9.0f %9.0f │ %9.0f %9.0f │ %9.0f %d\n",
		now.Sub(p.start).Seconds(), stats.Tick, float64(p.took)/float64(time.Millisecond), stats.Entities,
		rate(stats.Created, p.stats.Created), rate(stats.Destroyed, p.stats.Destroyed), rate(ops, p.ops),
		rate(stats.Applied, p.stats.Applied), rate(stats.Rejected, p.stats.Rejected), violations)
	p.stats, p.ops, p.at, p.took = *stats, ops, now, 0
	p.stats.Shards = nil
}

// operations returns how many operations the clients have done.
func (k *soak) operations() (n uint64) {
	for _, c := range k.clients {
		n += c.ops.Load()
	}
	return n
}
