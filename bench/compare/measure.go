package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/atoll-sim/atoll/world"
)

// subject is a contender that is set up for one bench at one size.
type subject struct {
	ops  int // entities or operations in one repetition
	work func(times int) time.Duration
	// warm: work a little before each round, to fill the caches. Even so the first repetitions have
	// colder caches than the rest, because others worked since. So all contenders in a cell that
	// are nearly as fast make the same number of repetitions; otherwise the one with the fewest
	// would be slowest.
	warm  bool
	check func() error // whether the work done is the work asked for
}

// repeated is the work of a bench that needs nothing done between repetitions:
// all are timed as one. It adds the number of repetitions to done.
func repeated(once func(), done *int) func(int) time.Duration {
	return func(times int) time.Duration {
		*done += times
		start := time.Now()
		for range times {
			once()
		}
		return time.Since(start) - clockCost
	}
}

// stretches is the work of a bench of which only calls of timed are timed. It returns their
// sum, less the cost of reading the clock. before and after may be nil; last
// says whether the repetition is the last.
func stretches(before, timed func(), after func(last bool)) func(int) time.Duration {
	return func(times int) time.Duration {
		total := time.Duration(0)
		for i := range times {
			if before != nil {
				before()
			}
			start := time.Now()
			timed()
			total += time.Since(start) - clockCost
			if after != nil {
				after(i == times-1)
			}
		}
		return total
	}
}

// clockCost is the least time that an empty stretch takes: a machine that is busy
// at the start of the run must not make all stretches too short.
var clockCost = func() time.Duration {
	const samples, reads = 51, 200
	costs := make([]time.Duration, samples)
	for i := range costs {
		for range reads {
			start := time.Now()
			costs[i] += time.Since(start)
		}
		costs[i] /= reads
	}
	return slices.Min(costs)
}()

// ballast is heap that is held and never touched, so that the collector runs as
// often, and gives as little memory back to the system, as in a program that has run
// for long. Without it, making a world would be mostly page faults.
var ballast = make([]byte, ballastBytes)

const ballastBytes = 256 << 20

// garbageMax is how much may be allocated before settle collects again.
const garbageMax = 4 << 20

// live is the size of the heap after the last collection of settle.
var live uint64

// settle collects garbage, unless little was allocated since the last time:
// with many large worlds set up, each collection takes a second.
func settle() {
	var m runtime.MemStats
	if runtime.ReadMemStats(&m); m.HeapAlloc >= live && m.HeapAlloc < live+garbageMax {
		return
	}
	runtime.GC()
	runtime.KeepAlive(ballast)
	runtime.ReadMemStats(&m)
	live = m.HeapAlloc
}

// plan says how long to measure.
type plan struct {
	batchMin  time.Duration // of timed work in a round
	warmMin   time.Duration // the same of subjects that work in warm caches
	roundMax  time.Duration // of a round, including untimed work, when repeating
	roundsAll int           // in which all take part
	roundsMin int
	roundsMax int
	enough    func(rounds int) bool // asked from roundsMin on; nil: never
}

// entrant is a contender in a cell, with its times.
type entrant struct {
	name   string
	role   role
	shards int // Atoll's
	subject
	times int
	sits  bool      // it takes part in no further rounds
	ns    []float64 // per operation, by round
	out   error     // why it was left out
}

// measure runs the entrants in turn, round by round, until p.enough or the
// deadline. Each round begins with another entrant. It returns the number of rounds.
func measure(entrants []*entrant, p plan, deadline time.Time) int {
	most := 0
	for _, e := range entrants {
		e.guard(func() { e.calibrate(p) })
		most = max(most, e.times)
	}
	for _, e := range entrants {
		if e.warm && e.times*4 > most {
			e.times = most
		}
	}
	rounds := 0
	for rounds < p.roundsMax {
		if rounds >= p.roundsMin && (p.enough != nil && p.enough(rounds) || !time.Now().Before(deadline)) {
			break
		}
		for i := range entrants {
			if e := entrants[(i+rounds)%len(entrants)]; !e.sits {
				e.guard(e.round)
			}
		}
		rounds++
		sitOut(entrants, rounds >= p.roundsAll)
	}
	for _, e := range entrants {
		e.guard(func() {
			if err := e.check(); err != nil {
				panic(err)
			}
		})
	}
	return rounds
}

// A peer that is hopeless times slower than the best one cannot be the best of
// the cell. With manyOps operations a repetition, rounds are long and vary
// little, so the first round is enough if the peer is slower by the square of hopeless.
const (
	hopeless = 2
	manyOps  = 100_000
)

// sitOut excludes the hopeless peers from further rounds: when all have taken part
// in enough rounds, or after a few. Their times stay in the table, and the time that
// they would take goes to the other contenders.
func sitOut(entrants []*entrant, enough bool) {
	best := math.Inf(1)
	for _, e := range entrants {
		if e.role == peer && e.out == nil {
			best = min(best, median(e.ns))
		}
	}
	for _, e := range entrants {
		if e.role == peer && e.out == nil {
			least := slices.Min(e.ns)
			e.sits = e.sits || enough && least > hopeless*best || e.ops >= manyOps && least > hopeless*hopeless*best
		}
	}
}

func (e *entrant) guard(f func()) {
	if e.out == nil {
		e.out = guard(f)
	}
}

// calibrate finds the number of repetitions that make a round long enough, twice
// in a row: once may be a stall of the machine.
func (e *entrant) calibrate(p plan) {
	e.times = 1
	least := p.batchMin
	if e.warm {
		least = p.warmMin
		e.work(1)
	}
	for inARow := 0; inARow < 2; {
		start := time.Now()
		if e.work(e.times) >= least || time.Since(start) >= p.roundMax {
			inARow++
		} else {
			inARow, e.times = 0, e.times*2
		}
	}
}

// round settles the collector and takes one time.
func (e *entrant) round() {
	settle()
	if e.warm {
		e.work(max(1, e.times/8))
	}
	e.ns = append(e.ns, float64(e.work(e.times))/float64(e.times)/float64(e.ops))
}

// median returns the middle value, or the mean of the two in the middle.
func median[T ~int64 | ~float64](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// defaultShards is the number of shards of a world with default options.
var defaultShards = world.MustNew(world.Options{}).Options().Shards

// cell is one bench at one size.
type cell struct {
	*bench
	n int
}

// result is the measurement of a cell. Times are nanoseconds for each entity,
// medians over the rounds. Ratios are medians of the ratios of single rounds, so that
// a phase in which the machine is slow counts for both sides. nil means not measured.
type result struct {
	Bench     string             `json:"bench"`
	N         int                `json:"n"`
	AtollNS   *float64           `json:"atoll_ns"`
	BestPeer  string             `json:"best_peer"` // the one with the largest ratio
	PeerNS    *float64           `json:"peer_ns"`
	Ratio     *float64           `json:"ratio"`              // Atoll to the best peer: below 1, Atoll is faster
	RatioLow  *float64           `json:"ratio_q1,omitempty"` // quartiles of the ratios of single rounds
	RatioHigh *float64           `json:"ratio_q3,omitempty"`
	Shards    int                `json:"shards"`
	Rounds    int                `json:"rounds"`
	Peers     map[string]float64 `json:"peers"`
	Ratios    map[string]float64 `json:"ratios"` // Atoll to each peer
	LimitNS   *float64           `json:"limit_ns,omitempty"`
	// LimitRatio is Atoll to the limit.
	LimitRatio *float64        `json:"limit_ratio,omitempty"`
	ByShards   map[int]float64 `json:"atoll_ns_by_shards,omitempty"`
	verdict
	LeftOut map[string]string `json:"left_out,omitempty"` // contender to reason
	Commit  string            `json:"commit"`
}

// shardCounts are the numbers of shards that Atoll is shown with.
var shardCounts = []int{1, defaultShards, 16, 256}

// manyFrom is the number of entities from which on many shards are shown.
const manyFrom = 1000

// quickShardsN is the one size that -quick shows with all numbers of shards.
const quickShardsN = 16_000

// shardsShown lists the numbers of shards that Atoll has in a cell. The default comes first, and is
// the one that is judged.
func (b *bench) shardsShown(n int, s settings) []int {
	list := []int{defaultShards}
	var beside []int
	switch {
	case n < manyFrom && !b.once:
		beside = []int{1}
	case s.full || n == quickShardsN || b.once:
		beside = shardCounts
	}
	for _, shards := range beside {
		if shards != list[0] {
			list = append(list, shards)
		}
	}
	return list
}

// enter sets the contenders up for a cell, Atoll first. It leaves out those that do not offer
// the bench.
func (b *bench) enter(n int, s settings) []*entrant {
	var all []contender
	for i, shards := range b.shardsShown(n, s) {
		c := atollWith(world.Options{Shards: shards, HugePages: s.huge})
		if i > 0 {
			c.role = twin
			c.name = fmt.Sprintf("%s, %d shards", c.name, shards)
		}
		all = append(all, c)
	}
	for _, c := range others {
		if c.role == limit || s.peers.MatchString(c.name) {
			all = append(all, c)
		}
	}
	var entrants []*entrant
	for _, c := range all {
		if e := b.enterOne(&c, n); e != nil {
			entrants = append(entrants, e)
		}
	}
	return entrants
}

func (b *bench) enterOne(c *contender, n int) *entrant {
	e := &entrant{name: c.name, role: c.role, shards: c.shards}
	offered := true
	e.guard(func() {
		if s := b.setup(c, n); s != nil {
			e.subject = *s
		} else {
			offered = false
		}
	})
	if !offered {
		return nil
	}
	return e
}

// run measures a cell, and ends by the deadline or soon after.
func (c cell) run(s settings, deadline time.Time) result {
	runtime.GC()
	entrants := c.enter(c.n, s)
	p := s.plan
	p.enough = func(rounds int) bool { return c.result(entrants).decided(rounds) }
	rounds := measure(entrants, p, deadline)
	r := c.result(entrants)
	r.Rounds = rounds
	return r
}

// result summarizes the entrants' measurements.
func (c cell) result(entrants []*entrant) result {
	r := result{Bench: c.name, N: c.n, Peers: map[string]float64{}, Ratios: map[string]float64{}, ByShards: map[int]float64{}, LeftOut: map[string]string{}}
	for _, e := range entrants {
		r.add(e)
		if r.AtollNS == nil || e.out != nil {
			continue
		}
		ratios := byRound(entrants[0], e)
		switch ratio := median(ratios); e.role {
		case peer:
			r.Ratios[e.name] = ratio
			if r.Ratio == nil || ratio > *r.Ratio {
				r.BestPeer, r.Ratio = e.name, &ratio
				r.RatioLow, r.RatioHigh = &ratios[len(ratios)/4], &ratios[len(ratios)*3/4]
			}
		case limit:
			r.LimitRatio = &ratio
		}
	}
	if r.AtollNS == nil {
		for name, ns := range r.Peers {
			if best := valueOf(r.Peers, r.BestPeer); best == nil || ns < *best || ns == *best && name < r.BestPeer {
				r.BestPeer = name
			}
		}
	}
	r.PeerNS = valueOf(r.Peers, r.BestPeer)
	r.verdict = c.judge(&r)
	return r
}

func (r *result) add(e *entrant) {
	if e.out != nil {
		r.LeftOut[e.name] = e.out.Error()
		return
	}
	ns := median(e.ns)
	switch e.role {
	case peer:
		r.Peers[e.name] = ns
	case limit:
		r.LimitNS = &ns
	case own:
		r.AtollNS, r.Shards = &ns, e.shards
		r.ByShards[e.shards] = ns
	case twin:
		r.ByShards[e.shards] = ns
	}
}

// byRound returns the ratios of an entrant's times to those of another, in the
// rounds in which both took part, in order of size.
func byRound(e, other *entrant) []float64 {
	ratios := make([]float64, min(len(e.ns), len(other.ns)))
	for i := range ratios {
		ratios[i] = e.ns[i] / other.ns[i]
	}
	slices.Sort(ratios)
	return ratios
}

// closeTo is how near to a bound a ratio must be to be measured longer, at least.
const closeTo = 0.02

// decided reports whether more rounds would hardly change on which side of 1 and of its
// bar the cell is: both are outside of the interval of a box plot's notch
// around the median.
func (r result) decided(rounds int) bool {
	if r.Ratio == nil {
		return true
	}
	notch := 1.57 * (*r.RatioHigh - *r.RatioLow) / math.Sqrt(float64(rounds))
	margin := max(notch, closeTo)
	near := func(ratio, bound float64) bool { return math.Abs(ratio-bound) < margin }
	switch {
	case near(*r.Ratio, 1):
		return false
	case r.Target != nil && near(*r.Ratio, *r.Target*(1+tolerance)):
		return false
	}
	return true
}
