package scheduler

import "fmt"

// PanicPolicy is what becomes of a system that panicked. Whatever the policy, the
// tick is completed by all other systems and shards, and what the system had
// written and created until then stays: half-written rows among it.
type PanicPolicy int

// The policies.
const (
	byDefault PanicPolicy = iota - 1
	// StopRun makes Run return the error after the tick. The system stays enabled.
	StopRun
	// DisableSystem makes the system not run from the next tick on, on any shard.
	DisableSystem
	// DisableOnShard makes the system not run any more on the shards on which it
	// panicked.
	DisableOnShard
)

// String returns the policy's name.
func (p PanicPolicy) String() string {
	switch p {
	case StopRun:
		return "StopRun"
	case DisableSystem:
		return "DisableSystem"
	case DisableOnShard:
		return "DisableOnShard"
	}
	return fmt.Sprintf("PanicPolicy(%d)", int(p))
}

// Overrun is what Run does when a tick took longer than there was time for.
type Overrun int

// The policies.
const (
	// CatchUp makes the ticks that are due follow at once, up to CatchUpMax; those
	// beyond are given up.
	CatchUp Overrun = iota
	// Skip gives up all ticks that are due. The next one is made at its time.
	Skip
	// SlowClock gives nothing up: the next tick follows at once, and all later
	// ones come that much later.
	SlowClock
)

// String returns the policy's name.
func (o Overrun) String() string {
	switch o {
	case CatchUp:
		return "CatchUp"
	case Skip:
		return "Skip"
	case SlowClock:
		return "SlowClock"
	}
	return fmt.Sprintf("Overrun(%d)", int(o))
}
