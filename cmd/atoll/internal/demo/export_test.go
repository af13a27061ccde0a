package demo

import (
	"time"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
)

// The seams through which tests inject faults.

// Deliver sets how often each command is sent to the world.
func (c *Config) Deliver(f func(realm.Command) int) { c.hooks.deliver = f }

// OutcomeWaitMax sets how long the server waits for an outcome.
func (c *Config) OutcomeWaitMax(d time.Duration) { c.hooks.outcomeWaitMax = d }

// PauseMax sets how long bots wait between commands, at most.
func (c *Config) PauseMax(d time.Duration) { c.hooks.pauseMax = d }

// System sets a system that runs after the others.
func (c *Config) System(s scheduler.System) { c.hooks.system = s }

// BeforeAudit sets what is done to the world before it is audited.
func (c *Config) BeforeAudit(f func(*realm.Realm)) { c.hooks.beforeAudit = f }

// View sets what the audit sees in an inventory.
func (c *Config) View(f func(who handle.Handle, carries []handle.Handle) []handle.Handle) {
	c.hooks.view = f
}

// Dead sets what is done to the dead handles before they are checked, at the end
// and each second.
func (c *Config) Dead(end, watched func([]handle.Handle) []handle.Handle) {
	c.hooks.dead, c.hooks.watched = end, watched
}

// Overruns returns how many ticks of a run overran, given how long they took.
func Overruns(hz int, took []time.Duration) uint64 {
	m := meter{warmUp: uint64(hz)}
	for _, d := range took {
		m.add(scheduler.Report{Duration: d, Overrun: d > time.Second/time.Duration(hz)})
	}
	return m.overruns
}

// Lately returns the longest recent tick, after each sample of a run with so many ticks before it.
func Lately(took ...time.Duration) (longest []time.Duration) {
	var m meter
	for _, d := range took {
		m.add(scheduler.Report{Duration: d})
		recent := m.lately()
		longest = append(longest, recent.Quantile(1))
	}
	return longest
}

// Load shows the load of shards.
var Load = load
