package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// Options shape a scheduler. The zero value means the defaults: no watchdog, no logs and no
// profile labels.
type Options struct {
	// Workers is the number of goroutines that run systems, including the one that calls
	// Step. Default: GOMAXPROCS. There are never more workers than shards. Give it no more than
	// the processors that the program really has: where two workers share one, a tick takes up to
	// 1.5 times as long as with one worker, because the steps of a refresh wait for both.
	Workers int
	// OnTick, if not nil, is called after every tick, on the goroutine of Run or Step, while
	// the world is idle: it may use the World. The next tick waits for it, and its time counts for
	// that tick. If it panics, so does Run or Step, which may then be called again.
	OnTick func(Report)

	// IfPanics says what happens to a hook that panics, and to a system that panics and has
	// no such option of its own. It also says whether Run goes on after a function panics in
	// a refresh, or a handler of an output after it.
	// Default: StopRun.
	IfPanics PanicPolicy
	// Budget is the time a tick may take, with what comes before it; see Stats.Time. Run counts and
	// reports ticks that take longer. Default: the world's TickInterval.
	Budget time.Duration
	// Overrun is what Run does when it is behind. Default: CatchUp.
	Overrun OverrunPolicy
	// CatchUpMax is how many ticks Run may be behind before CatchUp gives them up.
	// Default: 5.
	CatchUpMax int

	// Ladder is what Run gives up while ticks take too long, in this order. After 3 of 4 ticks that
	// take longer than the budget, one more rung is in force; after 64 in a row that take less than
	// 70 % of it, one less. The simulation depends on the rungs, so a log of inputs records them.
	// Report.Rung, Stats and the Logger show them. Step does not use the ladder. A pause ends all
	// rungs, and in ticks of StepOnce none is in force.
	Ladder []Rung

	// Balancer, if not nil, moves entities from shards with much to do to others; see Level.
	// World.Pin exempts entities.
	Balancer Balancer

	// Logger, if not nil, gets records of panics, of overruns, of systems that do not return
	// or are disabled, of transactions that a system had called and that returned an error, of shifts
	// by the Balancer, and of what Run does. Overruns, and ticks given up, have one record a second
	// each, with the number since the last one. A panic of its handler is written to standard error.
	Logger *slog.Logger
	// Watchdog reports systems that do not return.
	Watchdog Watchdog
	// Labels gives the goroutines the profile labels "system" and "shard" while
	// they run a system. It costs about 50 ns per system and shard.
	Labels bool
	// Chaos, if not 0, is the seed of random delays in systems and in the refresh,
	// and of a random order of shards. Tests use it to check that the world does not depend
	// on these.
	Chaos uint64
}

// DefaultCatchUpMax is the default of Options.CatchUpMax.
const DefaultCatchUpMax = 5

// validate fills in the defaults. It panics if a limit is broken.
func (o Options) validate(w *world.World) Options {
	must := func(ok bool, format string, values ...any) {
		if !ok {
			panic("scheduler: " + fmt.Sprintf(format, values...))
		}
	}
	must(o.Workers >= 0, "Workers is %d, want 1 or more, or 0 for GOMAXPROCS", o.Workers)
	must(o.IfPanics >= StopRun && o.IfPanics <= DisableOnShard, "IfPanics is %d, want StopRun, DisableSystem or DisableOnShard", o.IfPanics)
	must(o.Budget >= 0, "Budget is %v, want more than 0, or 0 for the tick interval", o.Budget)
	must(o.Overrun >= CatchUp && o.Overrun <= SlowClock, "Overrun is %d, want CatchUp, Skip or SlowClock", o.Overrun)
	must(o.CatchUpMax >= 0, "CatchUpMax is %d, want 1 or more, or 0 for %d", o.CatchUpMax, DefaultCatchUpMax)
	must(o.Watchdog.After >= 0, "Watchdog.After is %v, want more than 0, or 0 for none", o.Watchdog.After)
	o.Workers = min(cmp.Or(o.Workers, runtime.GOMAXPROCS(0)), w.Shards())
	o.Budget = cmp.Or(o.Budget, w.Options().TickInterval)
	o.CatchUpMax = cmp.Or(o.CatchUpMax, DefaultCatchUpMax)
	return o
}

// Scheduler runs systems over a world.
//
// Ownership: one goroutine adds systems and calls Step or Run; between those
// calls it may use the world. Enable, Disable, Enabled, Pause, Resume, StepOnce, Stop and Between
// are for any goroutine at any time.
type Scheduler struct {
	w       *world.World
	options Options
	graph   graph
	merges  map[int]*system
	tick    tick
	planned bool
	running atomic.Bool // a step is under way
	runs    atomic.Bool // a Run is under way
	names   struct {    // from any goroutine
		sync.RWMutex
		systems map[string]*system
	}
	switched atomic.Bool     // Enable or Disable was called, since takeSwitches or a replayed tick
	switches []extend.Switch // of the next tick
	control  control
	between  between
	outside  outside
	traces   traces
	ladder   ladder
	late     rare          // ticks that took too long, for the Logger
	gaveUp   rare          // ticks given up, likewise
	counts   Stats         // only those that Run and Step count
	made     time.Time     // when the scheduler was made
	start    time.Time     // when the tick began, after what comes before it: systems that were added, changes of the idle world
	began    int64         // the same by package clock, which spans of traces count from
	before   time.Duration // what came before it, for which the goroutine did not wait; in took
	waited   time.Duration // how long it waited for its log; not in took
	took     time.Duration // how long the last tick took: the one time that Report, Stats and Trace tell
	goesOn   bool          // the last tick's error does not end a Run
	ended    bool          // the last step made a tick, which did not break the world

	balancing balancing
}

// New makes a scheduler for a world. A world has one scheduler at a time. It
// panics if a limit in the options is broken.
func New(w *world.World, o Options) *Scheduler {
	if w == nil {
		panic("scheduler: scheduler.New for a nil World; make one with world.New")
	}
	o = o.validate(w)
	s := &Scheduler{w: w, options: o, graph: graph{wanted: map[string][]edge{}}, merges: map[int]*system{}, made: time.Now()}
	s.names.systems = map[string]*system{}
	s.control.init()
	s.balancing.init(&o, w.Shards())
	s.ladder.init(w, o.Ladder)
	s.options.Ladder = s.ladder.rungs
	t := &s.tick
	t.init(w, o.Workers)
	t.engine.OnClose(func() {
		s.between.close(w.Err())
		s.traces.close(w.Err())
	})
	t.labels = o.Labels || o.Watchdog.After > 0
	if t.chaos = o.Chaos != 0; t.chaos {
		t.seed(o.Chaos)
	}
	if o.Watchdog.After > 0 {
		t.watchdog = newWatchdog(t, o.Watchdog.After, s.notifyStuck)
	}
	return s
}

// Options returns the scheduler's options, with the defaults filled in.
func (s *Scheduler) Options() Options { return s.options }

// World returns the world whose systems it runs.
func (s *Scheduler) World() *world.World { return s.w }

// Workers returns the number of goroutines that run systems.
func (s *Scheduler) Workers() int { return s.options.Workers }

// Add adds a system. It runs the constructor once for every shard, or once for a global
// system. It returns an error, and adds nothing,
//
//   - if the name is empty or taken or has a control character, or the options are invalid;
//   - if the constructor is nil, returns nil, or asks for different access on different shards;
//   - if the system asks for access that cannot be granted;
//   - if systems would then have to run before each other in a circle;
//   - if the world is closed (world.ErrClosed) or broken.
//
// If the constructor panics, for example in world.Read of a type that is not registered, Add panics
// with the name of the system before the value. It panics after durable.Open, too: the next start
// makes the ticks of the log there, and would make them without the system. The first Step returns
// an error if Before or After names a system that was not added.
func (s *Scheduler) Add(name string, construct System, options ...Option) error {
	if name == "" || construct == nil {
		return fmt.Errorf("scheduler: system %q needs a name and a constructor", name)
	}
	if strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("scheduler: system name %q has a control character; leave it out", name)
	}
	if x, _ := s.find(name); x != nil {
		return fmt.Errorf("scheduler: system name %q is taken", name)
	}
	if err := s.w.Err(); err != nil {
		return err
	}
	if !s.tick.engine.Idle() {
		panic(fmt.Sprintf("scheduler: Scheduler.Add of system %q while a tick runs; add systems between ticks", name))
	}
	s.tick.engine.MustBeNamed("Scheduler.Add", name)
	o := optionsOf(options)
	if err := o.check(name); err != nil {
		return err
	}
	if o.policy == byDefault {
		o.policy = s.options.IfPanics
	}
	x, err := build(s.w, name, construct, o)
	if err != nil {
		return err
	}
	if err := s.graph.add(x, s.names.systems); err != nil { // only this goroutine writes them
		return err
	}
	s.names.Lock()
	s.names.systems[name] = x
	s.names.Unlock()
	s.planned = false
	return nil
}

// MustAdd is Add for systems that are known to be valid. It panics on an error.
// It returns the scheduler, so that calls can be chained.
func (s *Scheduler) MustAdd(name string, construct System, options ...Option) *Scheduler {
	if err := s.Add(name, construct, options...); err != nil {
		panic(err)
	}
	return s
}

// Systems returns the names of the systems in the order in which they run.
func (s *Scheduler) Systems() []string {
	s.mustRest("Systems")
	sorted := s.graph.inOrder()
	names := make([]string, len(sorted))
	for i, x := range sorted {
		names[i] = x.name
	}
	return names
}

// Enable makes a system run on all shards from the next tick on, also after a panic disabled it. It
// returns an error if there is no such system. Safe from any goroutine at any time; a system may
// call it. Which tick is the next depends on the moment of the call. A log of inputs records that,
// and a replay switches systems by the log alone.
func (s *Scheduler) Enable(name string) error { return s.enable(name, true) }

// Disable makes a system not run from the next tick on. It returns the same error as Enable,
// and the same goroutines may call it.
func (s *Scheduler) Disable(name string) error { return s.enable(name, false) }

// enable enables a system, or disables it.
func (s *Scheduler) enable(name string, on bool) error {
	x, err := s.find(name)
	if err != nil {
		return err
	}
	if on {
		x.reenabled.Store(true)
	}
	x.enabled.Store(on)
	s.switched.Store(true)
	return nil
}

// Enabled reports whether the system is there and enabled. Safe from any
// goroutine.
func (s *Scheduler) Enabled(name string) bool {
	x, err := s.find(name)
	return err == nil && x.enabled.Load()
}

// find returns the system of that name. Safe from any goroutine.
func (s *Scheduler) find(name string) (*system, error) {
	s.names.RLock()
	defer s.names.RUnlock()
	x := s.names.systems[name]
	if x == nil {
		return nil, fmt.Errorf("scheduler: there is no system %q", name)
	}
	return x, nil
}

// takeSwitches puts the calls of Enable and Disable into effect for the next tick, all at once, and
// notes what that changes. A system that is switched later changes only in the tick after that, even
// if the next tick has not asked its conditions yet.
func (s *Scheduler) takeSwitches() {
	if !s.switched.Load() || !s.switched.Swap(false) {
		return
	}
	s.names.RLock()
	defer s.names.RUnlock()
	for _, x := range s.names.systems {
		on, anew := x.enabled.Load(), x.reenabled.Swap(false) && slices.Contains(x.off, true)
		if on != x.on || anew {
			s.switches = append(s.switches, extend.Switch{System: x.name, On: on, Anew: anew})
		}
		x.on, x.restarts = on, x.restarts || anew
	}
	slices.SortFunc(s.switches, func(a, b extend.Switch) int { return strings.Compare(a.System, b.System) })
}

// replaySwitches puts the switches of a log into effect, in place of those that are asked for: the
// log has them, too. What the last tick of a log asks for waits for the next.
func (s *Scheduler) replaySwitches(switches []extend.Switch) {
	s.names.RLock()
	defer s.names.RUnlock()
	if s.switched.Swap(false) {
		for _, x := range s.names.systems {
			x.enabled.Store(x.on)
			x.reenabled.Store(false)
		}
	}
	for _, y := range switches {
		if x := s.names.systems[y.System]; x != nil { // else another program has written the log, and hashes show what differs
			x.enabled.Store(y.On)
			x.on, x.restarts = y.On, x.restarts || y.Anew
		}
	}
}

// switchSystems switches systems before the next tick.
func (s *Scheduler) switchSystems() {
	w := s.tick.engine
	if w.Replaying() {
		s.replaySwitches(w.Switch(nil))
		return
	}
	if s.takeSwitches(); len(s.switches) > 0 {
		w.Switch(s.switches)
		s.switches = s.switches[:0]
	}
}

// prepare makes the programs, if systems were added since the last time.
func (s *Scheduler) prepare() error {
	if s.planned {
		return nil
	}
	if err := s.graph.unknown(); err != nil {
		return err
	}
	s.tick.compile(s.w, withMerges(s.w, s.graph.inOrder(), s.merges), s.tick.labels)
	s.planned = true
	return nil
}

// mustRest panics while a tick runs.
func (s *Scheduler) mustRest(call string) {
	if s.running.Load() {
		panic(fmt.Sprintf("scheduler: Scheduler.%s while a tick runs; call it between ticks, in Options.OnTick for example", call))
	}
}

func mustContext(ctx context.Context, call string) {
	if ctx == nil {
		panic("scheduler: " + call + " with a nil Context; pass one, or context.Background()")
	}
}

// log writes to the Logger, if there is one.
func (s *Scheduler) log(level slog.Level, what string, values ...any) {
	aside.Log(s.options.Logger, level, what, values...)
}

// notifyStuck reports a system that does not return, or a log that is not written. The watchdog calls
// it. It returns the panic of Notify.
func (s *Scheduler) notifyStuck(x Stuck) error {
	if x.System == "" {
		s.log(slog.LevelWarn, "tick waits for its log", "tick", x.Tick, "for", x.Duration)
	} else {
		s.log(slog.LevelWarn, "system does not return", "system", x.System, "shard", x.Shard, "tick", x.Tick, "for", x.Duration, "stack", x.Stack)
	}
	if s.options.Watchdog.Notify == nil {
		return nil
	}
	return aside.Do(inWatchdog, func() error {
		s.options.Watchdog.Notify(x)
		return nil
	})
}
