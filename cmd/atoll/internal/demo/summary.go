package demo

import (
	"fmt"
	"io"
	"time"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/world"
)

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
	m := d.meter
	s := &Summary{
		Seconds: took.Seconds(), Hz: d.config.Hz, Shards: d.realm.World.Shards(), Workers: d.scheduler.Workers(),
		Seed: d.config.Seed, Bots: d.config.Bots, Creatures: d.config.Creatures,

		Ticks: m.ticks, TickP50: ms(m.quantile(0.5)), TickP99: ms(m.quantile(0.99)), TickMax: ms(m.longest),
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
