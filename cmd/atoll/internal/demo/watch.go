package demo

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/server"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
	"github.com/atoll-sim/atoll/world/stats"
)

const (
	watchPeriod = time.Second
	// deadSampled is how many dead handles of each island are checked each period.
	deadSampled = 128
	// headerPeriod is after how many lines the header comes again.
	headerPeriod = 20
)

// sample is what the goroutine that makes ticks sends to the watcher.
type sample struct {
	at      time.Duration // since the start
	ticks   uint64
	recent  stats.Histogram
	ledger  realm.Ledger
	shards  []int // entities
	dead    []handle.Handle
	skipped uint64
}

// onTick takes a sample once a period. The world is idle. It does not wait for
// the watcher: if the last sample was not received yet, it takes none.
func (d *demo) onTick(r scheduler.Report) {
	if d.began.IsZero() {
		return // the log of an earlier process is being played
	}
	d.meter.add(r)
	if now := time.Since(d.began); now >= d.sampleDue && len(d.samples) < cap(d.samples) {
		d.sampleDue = now.Truncate(watchPeriod) + watchPeriod
		d.samples <- d.sample(now)
	}
}

func (d *demo) sample(at time.Duration) *sample {
	s := &sample{at: at, ticks: d.meter.all.Count(), skipped: d.meter.skipped, recent: d.meter.lately(), ledger: d.realm.Ledger()}
	d.realm.World.Stats(&d.stats)
	for i := range d.stats.Shards {
		s.shards = append(s.shards, d.stats.Shards[i].Entities)
	}
	s.dead = d.realm.AppendDead(nil, deadSampled)
	if hook := d.config.hooks.watched; hook != nil {
		s.dead = hook(s.dead)
	}
	return s
}

// watcher prints the progress of the run, and checks dead handles from outside while
// ticks run.
//
// Ownership: one goroutine; read when it has ended.
type watcher struct {
	out    io.Writer
	budget time.Duration
	port   *world.Port
	totals func() server.Totals
	last   sample
	lines  int
	checks uint64
	risen  []string
}

// watch goes on until there are no more samples.
func (w *watcher) watch(samples <-chan *sample) {
	for s := range samples {
		w.check(s.dead)
		w.write(s)
		w.last = *s
	}
}

// check asks a port for handles that are dead.
func (w *watcher) check(dead []handle.Handle) {
	for _, h := range dead {
		w.checks++
		if status := w.port.Status(h); (status != world.Stale || w.port.Alive(h)) && len(w.risen) < violationsShown {
			w.risen = append(w.risen, fmt.Sprintf("dead %v was %v while ticks ran", h, status))
		}
	}
}

// The columns of a line.
const (
	headerFormat = "%7s %6s │ %5s %5s %5s │ %9s %7s %7s │ %9s %9s │ %9s %9s %6s %8s │ %s\n"
	lineFormat   = "%6.0fs %6d │ %5.1f %5.1f %5.1f │ %9d %7d %7d │ %9.0f %9.0f │ %9d %9d %6d %8d │ %s\n"
)

// write writes the line of a sample, and a header now and then.
func (w *watcher) write(s *sample) {
	if w.lines%headerPeriod == 0 {
		_, _ = fmt.Fprintf(w.out, "tick times are of the last %ds, in ms; the budget is %.0f ms\n", recentSeconds, ms(w.budget))
		_, _ = fmt.Fprintf(w.out, headerFormat, "time", "ticks", "p50", "p99", "max", "creatures", "items", "avatars",
			"created/s", "destr./s", "accepted", "applied", "late", "rejected", "entities per shard: min mean max")
	}
	w.lines++
	t, l := w.totals(), &s.ledger
	alive := func(k realm.Kind) int64 { return int64(l.Created[k] - l.Destroyed[k]) }
	seconds := (s.at - w.last.at).Seconds()
	created, destroyed := sums(l)
	createdBefore, destroyedBefore := sums(&w.last.ledger)
	_, _ = fmt.Fprintf(w.out, lineFormat,
		s.at.Seconds(), s.ticks, ms(s.recent.Quantile(0.5)), ms(s.recent.Quantile(0.99)), ms(s.recent.Max()),
		alive(realm.Creatures), alive(realm.Items), int64(t.Joined-t.Left)+alive(realm.Avatars),
		float64(created-createdBefore)/seconds, float64(destroyed-destroyedBefore)/seconds,
		t.Accepted, t.Applied, t.Late, t.Rejected, load(s.shards))
}

// sums returns what the systems created and destroyed.
func sums(l *realm.Ledger) (created, destroyed uint64) {
	for _, k := range realm.AllKinds {
		created += l.Created[k]
		destroyed += l.Destroyed[k]
	}
	return created, destroyed
}

// barsMax is the number of shards up to which each has a bar.
const barsMax = 32

// load shows the shards' entities: least, mean, most and a bar for each.
func load(shards []int) string {
	if len(shards) == 0 {
		return ""
	}
	least, most, sum := shards[0], shards[0], 0
	for _, n := range shards {
		least, most, sum = min(least, n), max(most, n), sum+n
	}
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "%d %d %d", least, sum/len(shards), most)
	if len(shards) <= barsMax {
		bars := []rune("▁▂▃▄▅▆▇█")
		b.WriteByte(' ')
		for _, n := range shards {
			b.WriteRune(bars[n*(len(bars)-1)/max(most, 1)])
		}
	}
	return b.String()
}

// meter keeps how long ticks took: all of them, and the most recent ones. Its size is fixed.
//
// Ownership: the goroutine that makes ticks; read when they have ended.
type meter struct {
	all      stats.Histogram
	before   [recentSeconds]stats.Histogram // all, as it was at the last samples; a ring
	samples  int
	overruns uint64 // over budget, the ticks of the first second not counted
	skipped  uint64
	warmUp   uint64 // ticks in the first second
}

// recentSeconds is how many seconds count as recent.
const recentSeconds = 10

// add counts a tick.
func (m *meter) add(r scheduler.Report) {
	if r.Overrun && m.all.Count() >= m.warmUp {
		m.overruns++
	}
	m.all.Add(r.Duration)
	m.skipped = r.Skipped
}

// lately returns the ticks of the last seconds. It is called once a second.
func (m *meter) lately() stats.Histogram {
	before := &m.before[m.samples%recentSeconds]
	recent := m.all.Since(before)
	*before = m.all
	m.samples++
	return recent
}
