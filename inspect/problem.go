package inspect

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/atoll-sim/atoll/scheduler"
)

const (
	problemsMax = 200
	repeatFor   = time.Minute // the same problem within this time is counted
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
// recently.
func (p *problems) add(x problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x.Times = 1; x.At == 0 {
		x.At = time.Now().UnixMilli()
	}
	p.number++
	x.number = p.number
	i := slices.IndexFunc(p.all, func(y problem) bool {
		return y.Kind == x.Kind && y.What == x.What && x.At-y.At < repeatFor.Milliseconds()
	})
	if i >= 0 {
		x.Times += p.all[i].Times
		p.all = slices.Delete(p.all, i, i+1)
	} else if len(p.all) == problemsMax {
		p.all = slices.Delete(p.all, 0, 1)
	}
	p.all = append(p.all, x)
}

// last returns the number of the newest change.
func (p *problems) last() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.number
}

// since returns the problems that came or were repeated after a number, as JSON, and advances the
// number.
func (p *problems) since(seen *uint64) (all [][]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.all {
		if x := &p.all[i]; x.number > *seen {
			body, _ := json.Marshal(x) // of numbers and texts
			all = append(all, body)
		}
	}
	*seen = p.number
	return all
}

func (x *Inspector) serveProblems(w http.ResponseWriter, r *http.Request) error {
	p := parametersOf(r)
	if p.err != nil {
		return p.err
	}
	x.samples.follow(r.Context())
	m := &x.samples.problems
	m.mu.Lock()
	all := append([]problem{}, m.all...)
	m.mu.Unlock()
	writeJSON(w, http.StatusOK, struct {
		Problems []problem `json:"problems"`
	}{all})
	return nil
}

// signs are counts that grow when something goes wrong.
type signs struct {
	seen                                uint64 // ticks
	skipped, refused, rejected, overran uint64
	slipped                             time.Duration
	climbed                             uint64
	panics                              []uint64 // by system
	all                                 uint64   // panics
}

// overrunText says how long a tick took, and how much of that came before it.
func overrunText(t *scheduler.Trace) string {
	text := fmt.Sprintf("%v of %v", t.Duration.Round(time.Microsecond), t.Budget)
	if share := t.Between; share > t.Duration/10 {
		text += fmt.Sprintf(", %v of it in OnTick, functions of Between or captures", share.Round(time.Microsecond))
	}
	return text
}

// findProblems compares the sample with the one before.
func (m *samples) findProblems() {
	c, w := &m.scheduler, &m.world
	now := signs{
		seen: c.Ticks + 1, skipped: c.Skipped, refused: w.Refused, rejected: w.Rejected, slipped: c.Slipped, climbed: c.Climbed, all: c.Panics,
		overran: m.before.overran,
	}
	add := func(kind, what, format string, values ...any) {
		m.problems.add(problem{Kind: kind, Tick: w.Tick, What: what, Detail: fmt.Sprintf(format, values...)})
	}
	for _, t := range m.x.overruns.Traces() {
		if t.Tick+1 > now.overran {
			now.overran = t.Tick + 1
			m.problems.add(problem{
				Kind: "overrun", Tick: t.Tick, What: "a tick took longer than its budget",
				Detail: overrunText(&t), Recording: overrunID(t.Tick),
			})
		}
	}
	if now.overran > m.before.overran && m.x.flights.recorder != nil {
		m.x.flights.keep(overrunID(now.overran - 1))
	}
	inSystems := uint64(0)
	for i := range c.Systems {
		x := &c.Systems[i]
		now.panics = append(now.panics, x.Panics)
		if len(m.before.panics) == len(c.Systems) && x.Panics > m.before.panics[i] {
			inSystems += x.Panics - m.before.panics[i]
			add("panic", "system "+x.Name, "%d panics since the start", x.Panics)
		}
	}
	was := m.before
	m.before = now
	if was.seen == 0 {
		return
	}
	if n := now.all - was.all; n > inSystems {
		add("panic", "a function, hook or condition", "%d more panics; the log says where", n-inSystems)
	}
	if n := now.refused - was.refused; n > 0 {
		add("refused", "requests met a limit of the world", "%d more", n)
	}
	if n := now.rejected - was.rejected; n > 0 {
		add("refused", "requests were not accepted", "%d more: a queue of a port was full, or a rung of the ladder refuses them", n)
	}
	if n := now.skipped - was.skipped; n > 0 {
		add("slow", "ticks were given up", "%d more", n)
	}
	if d := now.slipped - was.slipped; d > 0 {
		add("slow", "the clock of the world slips", "by %v more", d.Round(time.Millisecond))
	}
	m.findClimbs(now.climbed - was.climbed)
}

// findClimbs adds the last n changes of the rung: the scheduler keeps them, so that none between
// two samples is missed.
func (m *samples) findClimbs(n uint64) {
	all := m.scheduler.Climbs
	if more := int64(n) - int64(len(all)); more > 0 {
		m.problems.add(problem{Kind: "rung", Tick: m.world.Tick, What: "the ladder went up and down", Detail: fmt.Sprintf("%d more times than are told", more)})
	}
	for _, x := range all[len(all)-min(len(all), int(n)):] {
		what, detail := fmt.Sprintf("up to rung %d of the ladder: %v", x.To, x.Rung), "ticks take too long"
		if x.To < x.From {
			what, detail = fmt.Sprintf("down to rung %d of the ladder, without %v", x.To, x.Rung), "ticks are short again, or the world is paused"
		}
		m.problems.add(problem{At: x.At.UnixMilli(), Kind: "rung", Tick: x.Tick, What: what, Detail: detail})
	}
}
