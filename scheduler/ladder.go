package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// When Run goes a rung up the ladder and down again.
const (
	lateTicks  = 3 // of the last lateOf that took longer than the budget
	lateOf     = 4
	calmTicks  = 64 // in a row that took less than calmShare of the budget
	calmShare  = 0.7
	rungsMax   = extend.RungsMax - 1
	stretchMax = world.TurnsMax
	slowMax    = 1 << 10
)

// Rung is something that a server gives up while its ticks take too long; SkipOptional, Stretch,
// Refuse and Slow make one. See Options.Ladder.
type Rung struct {
	skip    bool
	stretch int
	refuse  []world.Refusable
	slow    int
	what    string // for messages
}

// SkipOptional leaves out the systems that are Optional.
func SkipOptional() Rung { return Rung{skip: true, what: "SkipOptional"} }

// Stretch spreads the turns of the entities over n times as many runs, in the queries of systems
// with world.Turns and world.TurnsFor; Query.Delta takes that into account. n must be a power of
// two, 2 or more.
func Stretch(n int) Rung { return Rung{stretch: n, what: fmt.Sprintf("Stretch(%d)", n)} }

// Refuse makes ports get world.ErrRefused when they send one of these messages or set a timer of
// it, call one of these functions or ask one of these questions. Not refused are other senders,
// timers that are set already, the results of package async, and other requests of ports, such as a
// Prefab.Create.
func Refuse(requests ...world.Refusable) Rung {
	return Rung{refuse: requests, what: fmt.Sprintf("Refuse of %d", len(requests))}
}

// Slow makes ticks come n times as far apart, so that the simulation runs slower than the clock and
// each tick has n times the budget: Stats.Interval and Stats.Budget tell both. Stats.Slipped does
// not count it. n must be 2 or more.
func Slow(n int) Rung { return Rung{slow: n, what: fmt.Sprintf("Slow(%d)", n)} }

// String returns what the rung does. Once a scheduler has the rung, in Options and Climb, the text
// of Refuse names what is refused.
func (r Rung) String() string { return r.what }

// check returns an error that says what is wrong with a rung.
func (r Rung) check() error {
	switch {
	case r.what == "":
		return fmt.Errorf("it is a zero Rung; use SkipOptional, Stretch, Refuse or Slow")
	case r.stretch != 0 && (r.stretch < 2 || r.stretch > stretchMax || r.stretch&(r.stretch-1) != 0):
		return fmt.Errorf("%v; want a power of two, from 2 to %d", r, stretchMax)
	case !r.skip && r.stretch == 0 && len(r.refuse) == 0 && (r.slow < 2 || r.slow > slowMax):
		return fmt.Errorf("%v; want something to refuse, or to go 2 to %d times slower", r, slowMax)
	}
	return nil
}

// Climb is a change of Stats.Rung.
type Climb struct {
	At   time.Time
	Tick uint64 // the next one, which is the first with the change
	From int    // how many rungs were in force
	To   int    // how many are: one more, or one less
	Rung Rung   // the one that came into force, or ended
}

// ClimbsMax is how many Climbs a scheduler keeps: the last.
const ClimbsMax = 64

// ladder is the state of Options.Ladder.
//
// Ownership: the goroutine of Run or Step.
type ladder struct {
	w     *engine.World
	rungs []Rung
	at    int    // how many rungs are in force in the next tick of Run
	ran   int    // how many were in force in the last tick; in a replay the log decides
	late  uint64 // a bit for each of the last ticks: it took too long
	calm  int    // ticks in a row that did not take long

	climbs  []Climb // the last ones, the oldest first
	climbed uint64  // all
}

// init checks the rungs, and gives those that refuse requests a name. It panics for a bad rung.
func (l *ladder) init(w *world.World, rungs []Rung) {
	l.w, l.rungs = engine.Of(w), slices.Clone(rungs)
	if len(rungs) > rungsMax {
		panic(fmt.Sprintf("scheduler: Ladder has %d rungs, want %d or fewer", len(rungs), rungsMax))
	}
	for i, r := range rungs {
		err := r.check()
		var names []string
		for _, x := range r.refuse {
			if x == nil {
				err = fmt.Errorf("%v has a nil request; pass what Register returned", r)
			} else if name, ok := l.w.RefuseAtPorts(x, 0); !ok {
				err = fmt.Errorf("%v: %q belongs to another world", r, name)
			} else {
				names = append(names, name)
			}
		}
		if err != nil {
			panic(fmt.Sprintf("scheduler: Ladder, rung %d: %v", i, err))
		}
		if names != nil {
			l.rungs[i].what = "Refuse(" + listed(names) + ")"
		}
	}
	if len(rungs) > 0 {
		l.climbs = make([]Climb, 0, ClimbsMax)
	}
}

// listedMax is how many names the text of a rung has.
const listedMax = 8

// listed writes names, or the first of many.
func listed(names []string) string {
	if more := len(names) - listedMax; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:listedMax], ", "), more)
	}
	return strings.Join(names, ", ")
}

// note keeps a change for Stats.
func (l *ladder) note(x Climb) {
	if len(l.climbs) == ClimbsMax {
		l.climbs = slices.Delete(l.climbs, 0, 1)
	}
	l.climbs = append(l.climbs, x)
	l.climbed++
}

// begin chooses the rung of the next tick, and reports whether optional systems are left out.
func (l *ladder) begin() (skip bool) {
	l.ran = min(int(l.w.Rung(uint8(l.at))), len(l.rungs))
	stretch := 1
	for _, r := range l.rungs[:l.ran] {
		skip = skip || r.skip
		stretch = min(stretch*max(1, r.stretch), stretchMax)
	}
	l.w.Stretch(uint32(stretch))
	return skip
}

// slow returns how many times the usual interval is between ticks, with n rungs in force.
func (l *ladder) slow(n int) (times int) {
	times = 1
	for _, r := range l.rungs[:n] {
		times = min(times*max(1, r.slow), slowMax)
	}
	return times
}
