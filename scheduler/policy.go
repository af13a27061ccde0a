package scheduler

import "fmt"

// PanicPolicy says what happens to a system that panicked. Under every policy, all other
// systems and shards complete the tick, and what the system had
// written and created until then stays, including half-written rows.
type PanicPolicy int

// The policies.
const (
	byDefault PanicPolicy = iota - 1
	// StopRun makes Run return the error after the tick. The system stays enabled.
	StopRun
	// DisableSystem makes the system not run from the next tick on, on any shard.
	DisableSystem
	// DisableOnShard makes the system no longer run on the shards on which it
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

// Overrun is what Run does when ticks took too long and it is behind.
type Overrun int

// The policies.
const (
	// CatchUp makes the ticks that are due follow at once while Run is at most CatchUpMax
	// ticks behind. When it is further behind, it gives up all of them but the last.
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
