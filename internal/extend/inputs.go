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

// ErrForged is the error of a Replayer for inputs that no world can have had.
var ErrForged = errors.New("world: these inputs contradict each other")

// Inputs is what a refresh got from outside, besides the requests of ports.
type Inputs struct {
	Tick     uint64
	By       Refresh
	Drawn    uint32          // how many indexes ports had drawn at the cut
	Settled  uint32          // how many of them were certainly drawn before the recording; not recorded
	Recalled []handle.Handle // handles that a port gave out and took back
	Released []handle.Handle // by references, except those that are still pending
	Sum      uint64          // of Turns before the tick; the Recorder's
	Rung     uint8           // of the scheduler's ladder, below RungsMax
	Shifts   []Shift         // decisions to balance the shards, which may depend on time
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
