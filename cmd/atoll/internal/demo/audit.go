package demo

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/bot"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/line"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/server"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// violationsShown is how many violations of one finding are listed; more are
// counted.
const violationsShown = 8

// finding is one line of an audit: a claim and what contradicts it.
type finding struct {
	name       string
	claim      string
	violations []string
	more       int
}

func (f *finding) violate(format string, args ...any) {
	if len(f.violations) == violationsShown {
		f.more++
		return
	}
	f.violations = append(f.violations, fmt.Sprintf(format, args...))
}

// expect is violated by two figures that should be the same.
func (f *finding) expect(what string, got, want uint64) {
	if got != want {
		f.violate("%s: %d, want %d", what, got, want)
	}
}

// evidence is what an audit compares. Nothing changes it meanwhile.
type evidence struct {
	before past
	realm  *realm.Realm
	ledger realm.Ledger
	census realm.Census
	totals server.Totals
	bots   []bot.Ledger
	tally  func(client uint32) (line.Tally, bool) // the server's tallies
	where  realm.Possessions
	dead   []handle.Handle
	risen  []string // dead handles that were alive, found during the run
	undone error    // the server could not be drained
	checks uint64   // of dead handles, during the run
}

// audit compares the books.
func (e *evidence) audit() []*finding {
	return []*finding{e.entities(), e.items(), e.clients(), e.commands(), e.handles()}
}

// entities: a scan finds what was created and not destroyed, for each
// kind. The books are those of the systems and, for avatars, of the server, not
// the world's counters; these must agree too.
func (e *evidence) entities() *finding {
	f := &finding{name: "entities"}
	var claims []string
	var made, gone uint64
	for _, k := range realm.AllKinds {
		created, destroyed := e.books(k)
		made, gone = made+created, gone+destroyed
		if alive := uint64(e.census.Alive[k]); created-destroyed != alive {
			f.violate("%s: %d created − %d destroyed = %d, but %d are alive", k, created, destroyed, int64(created-destroyed), alive)
		}
		claims = append(claims, fmt.Sprintf("%s %d − %d = %d", k, created, destroyed, e.census.Alive[k]))
	}
	f.expect("entities of no kind", uint64(e.census.Other), 0)
	f.expect("rows whose handle is not alive", uint64(e.census.Dead), 0)
	var stats world.Stats
	e.realm.World.Stats(&stats)
	if f.violations == nil { // otherwise the violations are more precise
		made0, gone0 := e.before.books()
		f.expect("the world's count of the created", stats.Created-e.before.stats.Created, made-made0)
		f.expect("the world's count of the destroyed", stats.Destroyed-e.before.stats.Destroyed, gone-gone0)
	}
	f.claim = "created − destroyed = alive: " + strings.Join(claims, ", ")
	return f
}

// books returns what was created and destroyed of a kind.
func (e *evidence) books(k realm.Kind) (created, destroyed uint64) {
	created, destroyed = e.ledger.Created[k], e.ledger.Destroyed[k]
	if k == realm.Avatars {
		created += e.before.joined() + e.totals.Joined
		destroyed += e.before.left + e.totals.Left
	}
	return created, destroyed
}

// joined returns how many avatars earlier processes had: those alive at the end and those that
// died.
func (p *past) joined() uint64 { return p.avatars + p.ledger.Destroyed[realm.Avatars] }

// books returns what earlier processes created and destroyed, of all kinds.
func (p *past) books() (created, destroyed uint64) {
	for _, k := range realm.AllKinds {
		created, destroyed = created+p.ledger.Created[k], destroyed+p.ledger.Destroyed[k]
	}
	return created + p.joined(), destroyed
}

// items: each is in one place, on the ground or in one inventory. None is lost,
// duplicated, or stacked on one of another sort.
func (e *evidence) items() *finding {
	f := &finding{name: "items", more: e.where.Further}
	for _, text := range e.where.Wrong {
		f.violate("%s", text)
	}
	if f.violations == nil {
		f.expect("items that are anywhere", uint64(e.where.Total()), uint64(e.census.Alive[realm.Items]))
	}
	held := &e.where.Held
	f.claim = fmt.Sprintf("%d items, each in one place: %d on the ground, %d with creatures, %d with avatars, %d stacked on others of their sort",
		e.where.Total(), e.where.Lying, held[realm.Creatures], held[realm.Avatars], held[realm.Items])
	return f
}

// clients: what each bot knows from its connection agrees with the world and the
// server.
func (e *evidence) clients() *finding {
	f := &finding{name: "bots"}
	var obeyed, items uint64
	alive := 0
	for i := range e.bots {
		e.client(f, i, &e.bots[i])
		if e.bots[i].Alive {
			alive++
			obeyed += uint64(e.bots[i].Obeyed)
			items += uint64(e.bots[i].Items)
		}
	}
	f.claim = fmt.Sprintf("%d bots know what the world holds: %d avatars, which applied %d commands and have %d items",
		len(e.bots), alive, obeyed, items)
	return f
}

// client compares what one bot knows with the server and the world.
func (e *evidence) client(f *finding, i int, l *bot.Ledger) {
	for _, text := range l.Errors {
		f.violate("bot %d was told: %s", i, text)
	}
	if tally, ok := e.tally(l.Client); !ok {
		f.violate("bot %d: the server has no client %d", i, l.Client)
	} else if tally != l.Tally {
		f.violate("bot %d: counts %+v, the server %+v", i, l.Tally, tally)
	}
	avatar, stance, items, alive := e.realm.AvatarOf(l.Avatar)
	switch {
	case alive != l.Alive:
		f.violate("bot %d: avatar %v alive: %v, in the world: %v", i, l.Avatar, l.Alive, alive)
	case !alive:
	case avatar.Client != l.Client:
		f.violate("bot %d: avatar %v is that of client %d, want %d", i, l.Avatar, avatar.Client, l.Client)
	case avatar.Obeyed != l.Obeyed || avatar.Sum != l.Sum:
		f.violate("bot %d: avatar %v applied %d commands of sum %d, the bot knows of %d of sum %d",
			i, l.Avatar, avatar.Obeyed, avatar.Sum, l.Obeyed, l.Sum)
	case items != int(l.Items):
		f.violate("bot %d: avatar %v has %d items, the bot knows of %d", i, l.Avatar, items, l.Items)
	case stance.Fierce != l.Fierce:
		f.violate("bot %d: avatar %v is fierce: %v, the bot thinks: %v", i, l.Avatar, stance.Fierce, l.Fierce)
	}
}

// commands: each accepted command was applied once, came too late, or
// met a limit; and the client got that outcome.
func (e *evidence) commands() *finding {
	t, l := &e.totals, &e.ledger
	f := &finding{name: "commands"}
	if e.undone != nil {
		f.violate("%v", e.undone)
	}
	f.expect("accepted commands that have an outcome", t.Decided(), t.Accepted)
	f.expect("commands without an outcome in time", t.Lost, 0)
	was := &e.before.settled
	f.expect("commands that never arrived", l.Skipped-was.Skipped, 0)
	f.expect("commands that arrived twice", l.Doubled-was.Doubled, 0)
	f.expect("replies that nobody heard", l.Unheard-was.Unheard, 0)
	f.expect("replies to no command", t.Stray, 0)
	f.expect("commands applied by islands", l.Obeyed-was.Obeyed, t.Obeyed)
	f.claim = fmt.Sprintf("%d accepted = %d applied once + %d too late + %d refused", t.Accepted, t.Applied, t.Late, t.Refused)
	return f
}

// handles: no dead handle is alive.
func (e *evidence) handles() *finding {
	f := &finding{name: "handles"}
	for _, text := range e.risen {
		f.violate("%s", text)
	}
	for _, h := range e.dead {
		if s := e.realm.World.Status(h); s != world.Stale || e.realm.World.Alive(h) {
			f.violate("dead %v is %v", h, s)
		}
	}
	f.claim = fmt.Sprintf("none of %d dead handles is alive, nor was in %d checks while the ticks ran", len(e.dead), e.checks)
	return f
}

// violations lists what is wrong, or nothing.
func violations(findings []*finding) []string {
	var all []string
	for _, f := range findings {
		for _, v := range f.violations {
			all = append(all, f.name+": "+v)
		}
		if f.more > 0 {
			all = append(all, fmt.Sprintf("%s: and %d more", f.name, f.more))
		}
	}
	return all
}

// writeAudit writes the findings for people.
func writeAudit(w io.Writer, findings []*finding) {
	for _, f := range findings {
		if f.violations == nil {
			_, _ = fmt.Fprintf(w, "audit  %-9s ok    %s\n", f.name, f.claim)
			continue
		}
		for _, v := range f.violations {
			_, _ = fmt.Fprintf(w, "audit  %-9s FAIL  %s\n", f.name, v)
		}
		if f.more > 0 {
			_, _ = fmt.Fprintf(w, "audit  %-9s FAIL  and %d more\n", f.name, f.more)
		}
	}
}

// Summary is the result of a run.
type Summary struct {
	Seconds   float64 `json:"seconds"`
	Hz        int     `json:"hz"`
	Shards    int     `json:"shards"`
	Workers   int     `json:"workers"`
	Seed      uint64  `json:"seed"`
	Bots      int     `json:"bots"`
	Creatures int     `json:"creatures"` // asked for

	Ticks     uint64  `json:"ticks"`
	TickP50   float64 `json:"tick_p50_ms"`
	TickP99   float64 `json:"tick_p99_ms"`
	TickMax   float64 `json:"tick_max_ms"`
	BudgetMax float64 `json:"tick_budget_ms"`
	Overruns  uint64  `json:"overruns"` // ticks over budget after the first second
	Skipped   uint64  `json:"skipped"`  // ticks given up

	Entities  int               `json:"entities"`
	Created   uint64            `json:"created"`
	Destroyed uint64            `json:"destroyed"`
	Kinds     map[string]Counts `json:"kinds"`

	CommandsAccepted uint64 `json:"commands_accepted"`
	CommandsApplied  uint64 `json:"commands_applied"`
	CommandsRejected uint64 `json:"commands_rejected"`
	CommandsLate     uint64 `json:"commands_too_late"`
	CommandsRefused  uint64 `json:"commands_refused"`

	Attacks       uint64 `json:"attacks"`
	AttacksAbroad uint64 `json:"attacks_across_shards"`
	Dropped       uint64 `json:"dropped"` // by systems, at a limit of the world

	StaleChecked uint64 `json:"stale_checked"`
	Audit        any    `json:"audit"` // "ok", or the list of violations

	// World describes the world at the end, if Config.Describe asked for it.
	World *world.WorldInfo `json:"world,omitempty"`

	findings []*finding
}

// Counts are those of one kind of entity.
type Counts struct {
	Alive     int    `json:"alive"`
	Created   uint64 `json:"created"`
	Destroyed uint64 `json:"destroyed"`
}

// auditOK is the Audit of a run without violations.
const auditOK = "ok"

// OK reports whether the audit found nothing wrong.
func (s *Summary) OK() bool { return s.Audit == auditOK }

// summarize makes the result of the run.
func (d *demo) summarize(e *evidence, took time.Duration) *Summary {
	m := &d.meter
	s := &Summary{
		Seconds: took.Seconds(), Hz: d.config.Hz, Shards: d.realm.World.Shards(), Workers: d.scheduler.Workers(),
		Seed: d.config.Seed, Bots: d.config.Bots, Creatures: d.config.Creatures,

		Ticks: m.all.Count(), TickP50: ms(m.all.Quantile(0.5)), TickP99: ms(m.all.Quantile(0.99)), TickMax: ms(m.all.Max()),
		BudgetMax: ms(d.config.budget()), Overruns: m.overruns, Skipped: m.skipped,

		Entities: e.census.Total(), Kinds: map[string]Counts{},

		CommandsAccepted: e.totals.Accepted, CommandsApplied: e.totals.Applied, CommandsRejected: e.totals.Rejected,
		CommandsLate: e.totals.Late, CommandsRefused: e.totals.Refused,

		Attacks: e.ledger.Blows, AttacksAbroad: e.ledger.Abroad, Dropped: e.ledger.Dropped,

		StaleChecked: e.checks + uint64(len(e.dead)), Audit: auditOK,
		findings: e.audit(),
	}
	for _, k := range realm.AllKinds {
		created, destroyed := e.books(k)
		s.Kinds[k.String()] = Counts{e.census.Alive[k], created, destroyed}
		s.Created += created
		s.Destroyed += destroyed
	}
	if d.config.Describe {
		described := d.realm.World.Describe()
		s.World = &described
	}
	if all := violations(s.findings); all != nil {
		s.Audit = all
	}
	return s
}

// Write writes the result for people.
func (s *Summary) Write(w io.Writer) {
	_, _ = fmt.Fprintf(w, "\n%d ticks in %.1f s: p50 %.2f ms, p99 %.2f ms, max %.2f ms\n", s.Ticks, s.Seconds, s.TickP50, s.TickP99, s.TickMax)
	_, _ = fmt.Fprintf(w, "ticks longer than the budget of %.0f ms: %d after the first second; ticks given up: %d\n", s.BudgetMax, s.Overruns, s.Skipped)
	_, _ = fmt.Fprintf(w, "%d entities alive, %d created, %d destroyed; %d attacks, %d of them across shards\n",
		s.Entities, s.Created, s.Destroyed, s.Attacks, s.AttacksAbroad)
	_, _ = fmt.Fprintf(w, "%d commands accepted: %d applied, %d too late, %d refused; %d rejected\n\n",
		s.CommandsAccepted, s.CommandsApplied, s.CommandsLate, s.CommandsRefused, s.CommandsRejected)
	if s.World != nil {
		_, _ = fmt.Fprintf(w, "%v\n\n", s.World)
	}
	writeAudit(w, s.findings)
}

// ms returns a time in milliseconds.
func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
