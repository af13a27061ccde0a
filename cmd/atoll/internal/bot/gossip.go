package bot

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
)

// Gossip shares an entity that one bot saw with other bots, so that
// those on other islands use it too. Safe for concurrent use; the zero
// value is ready.
type Gossip struct {
	seen, item atomic.Uint64
}

func (g *Gossip) tell(seen, item handle.Handle) {
	if seen != handle.None {
		g.seen.Store(uint64(seen))
	}
	if item != handle.None {
		g.item.Store(uint64(item))
	}
}

func (g *Gossip) heard() (seen, item handle.Handle) {
	return handle.Handle(g.seen.Load()), handle.Handle(g.item.Load())
}
