package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/trace"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/atoll-sim/atoll/scheduler"
)

const (
	problemsMax = 200
	repeatFor   = time.Minute     // the same problem within this time is counted
	flightAge   = 5 * time.Second // how far back the trace of the Go runtime goes, approximately
	flightBytes = 8 << 20
	flightsMax  = 4
)

// problem is something that went wrong.
type problem struct {
	At        int64  `json:"at_ms"`
	Kind      string `json:"kind"`
	Tick      uint64 `json:"tick"`
	What      string `json:"what"`
	Detail    string `json:"detail"`
	Times     int    `json:"times"`
	Recording string `json:"recording"`

	number uint64 // of the last change of the list
}

// problems has the last ones, the oldest first.
//
// Ownership: mu guards it.
type problems struct {
	mu     sync.Mutex
	all    []problem
	number uint64
}

// add adds a problem of now, unless it says when it was, or counts it if the same one came
// recently. The goroutine that takes samples calls it.
func (p *problems) add(one problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one.Times = 1; one.At == 0 {
		one.At = time.Now().UnixMilli()
	}
	p.number++
	one.number = p.number
	i := slices.IndexFunc(p.all, func(was problem) bool {
		return was.Kind == one.Kind && was.What == one.What && one.At-was.At < repeatFor.Milliseconds()
	})
	if i >= 0 {
		one.Times += p.all[i].Times
		p.all = slices.Delete(p.all, i, i+1)
	} else if len(p.all) == problemsMax {
		p.all = slices.Delete(p.all, 0, 1)
	}
	p.all = append(p.all, one)
}

// list returns a copy of all problems. HTTP requests call it.
func (p *problems) list() []problem {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]problem{}, p.all...)
}

// last returns the number of the newest change.
func (p *problems) last() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.number
}

// since returns the problems that came or were repeated after a number, as JSON, and advances the
// number. A stream calls it, on the goroutine of its request.
func (p *problems) since(seen *uint64) (all [][]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.all {
		if one := &p.all[i]; one.number > *seen {
			body, _ := json.Marshal(one) // of numbers and texts
			all = append(all, body)
		}
	}
	*seen = p.number
	return all
}

// signs finds problems by comparing statistics with the sample before.
//
// Ownership: the goroutine that takes a sample.
type signs struct {
	problems
	overran uint64 // the last tick known to have overrun, plus one
}

// overrunID is the name of the recording of a tick that overran.
func overrunID(tick uint64) string { return "o" + strconv.FormatUint(tick, 10) }

// overruns adds the ticks that overran since the last call. It returns the recording of the last of
// them, or "". The goroutine that takes a sample calls it, after the world has gone on.
func (s *signs) overruns(traces []scheduler.Trace) (last string) {
	for i := range traces {
		t := &traces[i]
		if t.Tick < s.overran {
			continue
		}
		s.overran, last = t.Tick+1, overrunID(t.Tick)
		detail := fmt.Sprintf("%v of %v", t.Duration.Round(time.Microsecond), t.Budget)
		if t.Between > t.Duration/10 {
			detail += fmt.Sprintf(", %v of it in OnTick, functions of Between or captures", t.Between.Round(time.Microsecond))
		}
		s.add(problem{Kind: "overrun", Tick: t.Tick, What: "a tick took longer than its budget", Detail: detail, Recording: last})
	}
	return last
}

// compare adds the problems that a sample tells since the one before. The goroutine that takes a
// sample calls it, after the world has gone on.
func (s *signs) compare(now, was *moment) {
	is, before, w, tick := &now.scheduler, &was.scheduler, &now.world, now.world.Tick
	found := func(n uint64, kind, what, format string) {
		if n > 0 {
			s.add(problem{Kind: kind, Tick: tick, What: what, Detail: fmt.Sprintf(format, n)})
		}
	}
	others := is.Panics - before.Panics
	for i := range is.Systems {
		if now := &is.Systems[i]; len(before.Systems) == len(is.Systems) && now.Panics > before.Systems[i].Panics {
			others -= now.Panics - before.Systems[i].Panics
			found(now.Panics, "panic", "system "+now.Name, "%d panics since the start")
		}
	}
	if int64(others) > 0 {
		found(others, "panic", "a function, hook or condition", "%d more panics; the log says where")
	}
	found(w.Refused-was.world.Refused, "refused", "requests met a limit of the world", "%d more")
	found(w.Rejected-was.world.Rejected, "refused", "requests were not accepted", "%d more: a queue of a port was full, or a rung of the ladder refuses them")
	found(is.Skipped-before.Skipped, "slow", "ticks were given up", "%d more")
	if d := is.Slipped - before.Slipped; d > 0 {
		s.add(problem{Kind: "slow", Tick: tick, What: "the clock of the world slips", Detail: fmt.Sprintf("by %v more", d.Round(time.Millisecond))})
	}
	// The scheduler keeps the last changes of the rung, so that none between two samples is missed.
	climbs, n := is.Climbs, is.Climbed-before.Climbed
	if n > uint64(len(climbs)) {
		found(n-uint64(len(climbs)), "rung", "the ladder went up and down", "%d more times than are told")
	}
	for _, c := range climbs[len(climbs)-min(len(climbs), int(n)):] {
		what, detail := fmt.Sprintf("up to rung %d of the ladder: %v", c.To, c.Rung), "ticks take too long"
		if c.To < c.From {
			what, detail = fmt.Sprintf("down to rung %d of the ladder, without %v", c.To, c.Rung), "ticks are short again, or the world is paused"
		}
		s.add(problem{At: c.At.UnixMilli(), Kind: "rung", Tick: c.Tick, What: what, Detail: detail})
	}
}

// flights keeps the Go runtime's trace of the last seconds, and copies of it from ticks that
// overran.
//
// Ownership: mu guards the fields after it.
type flights struct {
	recorder *trace.FlightRecorder // nil without Options.GoTraces
	mu       sync.Mutex
	all      []flight // the oldest first
}

// flight is the trace of the Go runtime around a recording of a tick that overran.
type flight struct {
	id   string
	data []byte
}

// start begins the trace of the Go runtime, for New. It returns an error if the program has such a
// trace already.
func (f *flights) start() error {
	f.recorder = trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: flightAge, MaxBytes: flightBytes})
	if err := f.recorder.Start(); err != nil {
		return fmt.Errorf("inspect: GoTraces: %w", err)
	}
	return nil
}

// stop ends the trace of the Go runtime. What was kept stays.
func (f *flights) stop() {
	if f.recorder != nil {
		f.recorder.Stop()
	}
}

// keep keeps the present trace, if there is one, with a recording. The goroutine that takes a
// sample calls it. If the trace cannot be written now, nothing is kept.
func (f *flights) keep(id string) {
	if f.recorder == nil {
		return
	}
	data := &bounded{most: 4 * flightBytes}
	if _, err := f.recorder.WriteTo(data); err != nil {
		return // another is being written, or the recorder was stopped
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, flight{id, data.Bytes()})
	f.all = slices.Delete(f.all, 0, max(0, len(f.all)-flightsMax))
}

// find returns the trace of a recording, or nil.
func (f *flights) find(id string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.all {
		if one.id == id {
			return one.data
		}
	}
	return nil
}

// bounded is a buffer that fails when it would get too large.
type bounded struct {
	bytes.Buffer
	most int
}

// Write appends to the buffer. If that would make it too large, it fails and has written nothing.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		return 0, errors.New("inspect: the trace of the Go runtime is too large")
	}
	return b.Buffer.Write(p)
}
