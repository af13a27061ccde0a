package extend

import (
	"errors"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/queue"
)

// PartitionsMax is the largest number of partitions into which a refresh divides the requests
// that were sent. Each has lists for every shard.
const PartitionsMax = 64

// Recorder receives the inputs of a world from outside, refresh by refresh. Its methods are called
// on goroutines of their own, which the refresh waits for; a method that panics does not break the
// world.
type Recorder interface {
	// Begin is called when a refresh begins.
	Begin()
	// Requests is called with the requests of a port, in the order in which they were sent,
	// before they are applied; a record of many is one of them: see queue.Registry.Each. One
	// goroutine calls it for the ports of one partition. The partitions in their order hold all
	// ports, by number. sent is good until Requests returns.
	Requests(partition, port int, sent []queue.PendingRequest)
	// End is called with the other inputs when the refresh is done except for notifying
	// outcomes. in is good until End returns.
	End(in *Inputs)
	// Settled is called after End, when the state is the one that the next tick begins with.
	Settled()
	// Failed is called after the refresh if one of the other methods panicked or ended its
	// goroutine. No method is called after it, because the log would have a gap.
	Failed(err error)
}

// Sealer is a Recorder for a world whose ticks are sealed. Begin, Request and End are called when a
// tick begins, with what its refresh will apply. The refresh begins when Commit has returned nil.
// If it returns an error, or one of the methods panics, the world is closed without that refresh.
type Sealer interface {
	Recorder
	// Request is called with each request of the ports in place of Requests: in the order of the
	// ports, and of each port as sent. If it panics, Fail is called with the panic and the same
	// request, and the refresh decides that as Failed: nothing of it is done. Fail must not encode
	// its value.
	Request(port int, sent queue.PendingRequest)
	Fail(port int, sent queue.PendingRequest, value any)
	// Commit waits until what End got is where it has to be.
	Commit() error
}

// ErrForged is the error of a Replayer for inputs that no world can have had.
var ErrForged = errors.New("world: these inputs contradict each other")

// Inputs is what a refresh got from outside, besides the requests of ports.
type Inputs struct {
	Tick     uint64
	By       Refresh
	Drawn    uint32          // how many indexes ports had drawn at the cut
	Settled  uint32          // how many of them were certainly drawn before the recording; not recorded
	Recalled []handle.Handle // handles that a port gave out and took back
	Released []handle.Handle // by references, except those that are still pending unless the tick is sealed
	Sum      uint64          // of Turns before the tick; the Recorder's
	Rung     uint8           // of the scheduler's ladder, below RungsMax
	Shifts   []Shift         // decisions to balance the shards, which may depend on time
	Switches []Switch        // systems that are switched before the tick
	Sealed   bool            // all of this was fixed when the tick began
}

// SealBytes is how much of what ports have sent a sealed tick takes, in bytes as queues count them.
// Each port gives a share from its beginning, and the rest goes round: what does not fit waits for
// the next tick. Only a batch that is larger than that is taken alone.
const SealBytes = 4 << 20

// Switch is a decision about a system, by name.
type Switch struct {
	System string
	On     bool // it runs from this tick on
	Anew   bool // also on the shards on which it has panicked
}

// RungsMax is the number of possible rungs, counting none as one.
const RungsMax = 64

// Refresh says what a refresh was part of.
type Refresh uint8

const (
	ByTick    Refresh = iota // the end of a tick
	ByRefresh                // World.Refresh
	ByClear                  // World.Clear
)
