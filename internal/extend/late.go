package extend

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
)

// Late is work of a package at the end of each refresh, when entities and messages are where they
// stay for the next tick, such as timers. It has a home for each shard, and after these one for
// global systems. Unlike an Extension it is not notified of deaths, so it adds nothing to the cost
// of a destroy.
type Late interface {
	Base
	// Due returns how much there is to do at a tick, which begins when the refresh ends. The
	// coordinator calls it; if it returns 0, the other methods are not called.
	Due(tick uint64) int
	// Collect looks at a home and changes nothing of other homes. Then Deliver hands over to a
	// shard what was collected for it. Each is called for several numbers at the same time.
	Collect(home int)
	Deliver(shard int)
}

// Deliver appends a message of the tick that is about to begin to the box of a shard.
type Deliver = func(shard int, to handle.Handle, body mem.Pointer)

// ByHome is an extension that keeps something for each home.
type ByHome interface {
	// Arrange says that a new world, whose state is about to be loaded, has other homes; or that it has
	// its own again, because the load has failed.
	Arrange()
}
