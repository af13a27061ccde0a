// Package soak is the soak command: it runs all features of a world at once, for any
// time, and keeps books of what must be true.
//
//	herd      most entities; systems destroy and create them, each shard its own
//	guests    entities of outside clients, which do all that a port can, at full
//	          rate, until their queues are full
//	veterans  entities that are never destroyed; all clients and systems send them messages
//
// Systems panic and pause at random. All clients and systems keep a book. A client knows the
// outcome of each of its requests before it gets it, because its requests apply
// in the order sent and nothing else touches its guests. If two clients destroy
// the same entity, exactly one of them must get that outcome. Statuses are
// checked all the time, and the herd is sampled after every tick. Regularly the
// clients rest, the queues run empty, and every entity is compared with the books.
package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/setting"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

const (
	auditPeriod = 10 * time.Second
	tellPeriod  = time.Second
	quietTicks  = 3 // until the last messages are delivered
)

// soak is a run: it conducts the clients and makes the ticks.
type soak struct {
	*stage
	sampler *sampler
	began   time.Time // of what is measured, after the warm-up
	due     time.Time // of the next tick
	last    time.Time // of the newest tick
	told    uint64    // panics that steps have returned
	audits  uint32
	stats   *world.Stats // of the newest audit
	base    world.Stats  // of the first
	progress
}

// Run runs a soak until its time is over or the context ends. It writes lines about its
// progress to live. It returns an error if it could not run; violations
// are in the Summary.
func Run(ctx context.Context, c Config, live io.Writer) (*Summary, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	s, err := newStage(c, live)
	if err != nil {
		return nil, err
	}
	defer s.giveUp()
	k := &soak{stage: s, sampler: newSampler(s)}
	_, _ = fmt.Fprintf(live, "%d entities, %d clients with %d requests each, %d shards, %d workers, %d Hz, %d %% churn a second, seed %d\n%s\n\n",
		c.Entities, c.Clients, c.Queue, s.w.Shards(), s.scheduler.Workers(), c.Hz, c.Churn, c.Seed, legend)
	return k.run(ctx), nil
}

// legend says what the lines that follow it show.
const legend = `
The clients send as much as the machine does, so ticks may take longer than they should. Systems
panic now and then, on purpose. What must stay 0 is the last column. Ctrl-C ends the run early; the
last audit follows in any case.`

// run plays, with audits between, and compares the first with the last.
func (s *soak) run(ctx context.Context) *Summary {
	s.due, s.last = time.Now(), time.Now()
	s.step() // makes the herds
	var clients sync.WaitGroup
	for _, c := range s.clients {
		clients.Go(c.run)
	}
	s.play(ctx, s.config.WarmUp)
	start := s.audited()
	s.base = *s.stats
	s.began = time.Now()
	end := start
	var measured time.Duration
	for d := s.config.Duration; (d == 0 || measured < d) && ctx.Err() == nil && s.patience.Err() == nil; {
		part := auditPeriod
		if d > 0 {
			part = min(part, d-measured)
		}
		measured += s.play(ctx, part)
		end = s.audited()
	}
	s.ended.Store(true)
	s.giveUp()
	clients.Wait()
	s.compare(start, end)
	return s.summarize(start, end, measured)
}

// play makes ticks for some time, and returns how long it took.
func (s *soak) play(ctx context.Context, d time.Duration) time.Duration {
	start := time.Now()
	for time.Since(start) < d && ctx.Err() == nil && s.patience.Err() == nil {
		s.step()
		s.tell()
	}
	return time.Since(start)
}

// step makes a tick when it is due, and checks what it returns.
func (s *soak) step() {
	interval := time.Second / time.Duration(s.config.Hz)
	if wait := time.Until(s.due); wait > 0 {
		time.Sleep(wait)
	} else if -wait > interval {
		s.due = time.Now() // too late to catch up
	}
	s.due = s.due.Add(interval)
	now := time.Now()
	s.elapsed, s.last = now.Sub(s.last).Seconds(), now

	err := s.scheduler.Step(context.Background())
	s.took = max(s.took, time.Since(now))
	for _, e := range panics(err) {
		var x *world.PanicError
		if errors.As(e, &x) && errors.Is(x, errStumble) {
			s.told++
		} else {
			s.violate("tick %d returned: %v", s.w.Tick()-1, e)
		}
	}
	s.expect("panics that steps returned", s.told, s.thrown.Load())
	s.sampler.sample()
	if between := s.config.hooks.between; between != nil {
		between(s.stage)
	}
}

// panics splits what a step returned.
func panics(err error) []error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	if err != nil {
		return []error{err}
	}
	return nil
}

// audited lets the clients rest, audits the world, and measures the
// process. If the clients do not stop, the run is over.
func (s *soak) audited() reading {
	s.rest.ask()
	deadline := time.Now().Add(s.config.hooks.patienceMax)
	for int(s.rest.parked.Load()) < len(s.clients) {
		if time.Now().After(deadline) {
			s.violate("after %v, %d of %d clients still wait for outcomes", s.config.hooks.patienceMax, len(s.clients)-int(s.rest.parked.Load()), len(s.clients))
			s.giveUp()
			break
		}
		s.step()
	}
	s.quiet = true
	for range quietTicks {
		s.step()
	}
	s.quiet = false
	var now reading
	if s.patience.Err() == nil {
		s.audits++
		s.stats = s.audit(s.audits)
		now = read()
	} else if s.stats == nil {
		s.stats = &world.Stats{}
	}
	s.last = time.Now() // the time of the audit does not count
	s.rest.release()
	return now
}

// The ranges of the settings in a Config.
var (
	EntitiesRange = setting.Range{Min: 1000, Max: 16_000_000}
	ClientsRange  = setting.Range{Min: 1, Max: 4096}
	ChurnRange    = setting.Range{Min: 0, Max: 1000}
	ShardsRange   = setting.Range{Min: 0, Max: 1024}
	WorkersRange  = setting.Range{Min: 0, Max: 1024}
	HzRange       = setting.Range{Min: 1, Max: 1000}
	QueueRange    = setting.Range{Min: 16, Max: 1 << 20}
	VersionsRange = setting.Range{Min: 0, Max: handle.VersionMax}
)

// Config says what to run. See Default.
type Config struct {
	Duration time.Duration // after the warm-up; 0: until the context ends
	WarmUp   time.Duration // before measuring begins
	Seed     uint64
	Entities int // alive at a time
	Clients  int // goroutines outside of the tick
	Churn    int // percent of the entities that systems replace each second
	Shards   int // 0: the world's default
	Workers  int // 0: GOMAXPROCS
	Hz       int // ticks per second
	Queue    int // requests that a port may have under way
	Versions int // times a slot is used; 0: the world's default

	heapGrowthMax float64 // more growth is a violation, as parts of the size after the warm-up
	rssGrowthMax  float64 // 0: not checked
	hooks         hooks
}

// hooks are for tests that inject a fault, to see that it is noticed.
type hooks struct {
	between     func(*stage)     // after each tick, when the world is idle
	lose        func() bool      // whether to drop a word instead of sending it
	deaf        func() bool      // whether not to ask for an outcome that is waited for
	system      scheduler.System // one more, after the others
	patienceMax time.Duration    // of the clients' rest
}

// Default returns the Config of a run without settings.
func Default() Config {
	return Config{
		Duration: 30 * time.Second, WarmUp: 5 * time.Second, Seed: 1, Entities: 1_000_000, Clients: 64, Churn: 10, Hz: 20, Queue: 1024,
		heapGrowthMax: 0.02, rssGrowthMax: 0.10, hooks: hooks{patienceMax: time.Minute},
	}
}

// validate names each setting that is out of its range.
func (c *Config) validate() error {
	err := setting.Check("soak",
		setting.Value{Name: "Entities", Value: c.Entities, Range: EntitiesRange},
		setting.Value{Name: "Clients", Value: c.Clients, Range: ClientsRange},
		setting.Value{Name: "Churn", Value: c.Churn, Range: ChurnRange},
		setting.Value{Name: "Shards", Value: c.Shards, Range: ShardsRange},
		setting.Value{Name: "Workers", Value: c.Workers, Range: WorkersRange},
		setting.Value{Name: "Hz", Value: c.Hz, Range: HzRange},
		setting.Value{Name: "Queue", Value: c.Queue, Range: QueueRange},
		setting.Value{Name: "Versions", Value: c.Versions, Range: VersionsRange},
	)
	if c.Duration < 0 || c.WarmUp < 0 {
		err = errors.Join(err, fmt.Errorf("soak: Duration is %v and WarmUp %v, want 0 or more", c.Duration, c.WarmUp))
	}
	return err
}

// options returns the options of the world.
func (c *Config) options() world.Options {
	return world.Options{
		Shards: c.Shards, TickInterval: time.Second / time.Duration(c.Hz), VersionMax: uint32(c.Versions),
		QueueRequests: c.Queue, OutboxRequests: outboxRequests,
	}
}

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
func (s *soak) tell() {
	p, now := &s.progress, time.Now()
	if p.at.IsZero() {
		p.start, p.at = now, now
	}
	seconds := now.Sub(p.at).Seconds()
	if seconds < tellPeriod.Seconds() {
		return
	}
	if p.lines%headerPeriod == 0 {
		_, _ = fmt.Fprintf(s.live, "%7s %7s %9s │ %9s │ %9s %9s │ %9s %9s │ %9s %s\n",
			"time", "ticks", "longest", "entities", "created/s", "destr./s", "ops/s", "applied/s", "rejected/s", "violations")
	}
	p.lines++
	stats, ops := &s.sampler.stats, s.operations()
	violations, _ := s.all()
	rate := func(now, before uint64) float64 { return float64(now-before) / seconds }
	_, _ = fmt.Fprintf(s.live, "%6.0fs %7d %6.1f ms │ %9d │ %9.0f %9.0f │ %9.0f %9.0f │ %9.0f %d\n",
		now.Sub(p.start).Seconds(), stats.Tick, float64(p.took)/float64(time.Millisecond), stats.Entities,
		rate(stats.Created, p.stats.Created), rate(stats.Destroyed, p.stats.Destroyed), rate(ops, p.ops),
		rate(stats.Applied, p.stats.Applied), rate(stats.Rejected, p.stats.Rejected), violations)
	p.stats, p.ops, p.at, p.took = *stats, ops, now, 0
	p.stats.Shards = nil
}

// operations returns how many operations the clients have done.
func (s *soak) operations() (n uint64) {
	for _, c := range s.clients {
		n += c.ops.Load()
	}
	return n
}
