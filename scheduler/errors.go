package scheduler

import (
	"errors"

	"github.com/atoll-sim/atoll/world"
)

// ErrRunning is returned by a Run while another is under way.
var ErrRunning = errors.New("scheduler: Scheduler.Run while another is under way; stop that first, or leave it to make the ticks")

// failure is the panic of a system, of a condition or of the Balancer, with the system whose policy
// applies.
type failure struct {
	*world.PanicError
	system *system
}

// The values of world.PanicError.In that a scheduler sets.
const (
	inSystem    = "system"
	inCondition = "condition of system"
	inBalancer  = "balancer"
	inBetween   = "function between ticks"
	inWatchdog  = "Watchdog.Notify"
)
