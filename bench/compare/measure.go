package main

import (
	"math"
	"runtime"
	"slices"
	"time"
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
