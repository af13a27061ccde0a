package drive

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
)

// Late is what a package does at the end of each refresh, when entities and messages are where
// they stay for the next tick: timers, say. It has homes: one for each shard, and behind them that of
// global systems. Unlike an Extension it is not told who dies, and so costs destroys nothing.
type Late interface {
	// Due returns how much there is to do at a tick, which begins with the end of the refresh. It is
	// called by the coordinator; if it is 0, the others are not called.
	Due(tick uint64) int
	// Collect looks at a home and changes nothing that another home has. Then Deliver hands over to
	// a shard what was collected for it. Both are called for different numbers at once.
	Collect(home int)
	Deliver(shard int)
}

// Coded is an Extension or Late whose state has values of types of the user's.
type Coded interface {
	// Coded returns what shows the state by a *state.Codecs, and if toRead is set, loads it. It
	// returns state.ErrNoCodec if there is no codec for a type that needs one.
	Coded(codecs any, toRead bool) (any, error)
}

// StateOf returns what shows the state of an Extension or Late: itself, unless it is Coded.
func StateOf(x, codecs any, toRead bool) (any, error) {
	if c, ok := x.(Coded); ok {
		return c.Coded(codecs, toRead)
	}
	return x, nil
}

// Where an actor acts that is in no shard.
const (
	ByWorld = -1 - iota // the idle world, which may change all at once
	ByPort              // by request
)

// Deliver puts a message of the tick that is about to begin into the box of a shard, behind those
// that are there.
type Deliver = func(shard int, to handle.Handle, body mem.Pointer)
