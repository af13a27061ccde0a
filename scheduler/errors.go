package scheduler

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/world"
)

// errGoexit is the value of a system that neither returned nor panicked.
var errGoexit = errors.New("it called runtime.Goexit, as a test that fails does")

// ErrRunning is returned by a Run while another is under way.
var ErrRunning = errors.New("scheduler: Scheduler.Run while another is under way; stop that first, or leave it to make the ticks")

// SystemError is the error of a system that panicked. What it had written until then
// stays. The other shards and systems completed the tick.
type SystemError struct {
	System string
	Shard  int // or world.AllShards, for a global system and for a condition
	Tick   uint64
	Value  any    // what it panicked with
	Stack  []byte // where it panicked

	system *system
}

// Error names system, shard, tick and the panic's value.
func (e *SystemError) Error() string {
	if e.Shard == world.AllShards {
		return fmt.Sprintf("scheduler: system %q panicked in tick %d: %v", e.System, e.Tick, e.Value)
	}
	return fmt.Sprintf("scheduler: system %q panicked on shard %d in tick %d: %v", e.System, e.Shard, e.Tick, e.Value)
}

// Unwrap returns the panic's value if it was an error.
func (e *SystemError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// errUnknown is for a name that no system has.
func errUnknown(name string) error {
	return fmt.Errorf("scheduler: there is no system %q", name)
}
