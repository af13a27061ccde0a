package drive

import (
	"context"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
)

// Rows makes entities with certain components, for callers that know no types.
type Rows interface {
	// Type is a struct of the components' values; Offset says where that of one is.
	Type() *mem.Type
	Offset(component int) uintptr
}

// Grouping says what a group is made of.
type Grouping struct {
	Name string
	Of   []store.Set // the components of each entity
	// Fresh has the sets for which groups that are not Ready yet are the first. NewGroup adds to it.
	Fresh map[store.Set]bool
	// Links is how many requests of LinkSize follow the creates of a group, by actors that request.
	Links    int
	LinkSize uint32
}

// Group makes several entities that belong together, in one shard. A call of Begin that returns no
// error is followed by Create for each entity in order, by the requests, and by End.
//
// Ownership: shared. Its methods may be called by whoever holds the actor.
type Group interface {
	// Ready makes what the creates need, as a registration does. The world must be idle. It is called
	// once, before the methods below.
	Ready()
	// Rows returns that of an entity.
	Rows(i int) Rows
	// Home returns the shard that an actor has, or the number of shards for one that acts on all, or -1
	// for a port, and for one that may not act.
	Home(actor any) int
	// Nothing is Begin and End of no group. Within returns the context of Port.Within, or nil.
	Nothing(actor any, call string) error
	Within(actor any) context.Context
	// Begin makes sure that there is room for all. It appends the handles that the entities are
	// going to have. A shard of -1 lets the actor choose; systems and functions have their own. call
	// is what messages name.
	Begin(actor any, call string, shard int, dst []handle.Handle) (Making, []handle.Handle, error)
	// Create makes an entity, whose components are at v, on the heap. It does not fail.
	Create(m *Making, i int, v mem.Address)
	// End ends it: with an error a port sends nothing. It returns the error of the batch. An actor
	// that is no port has made the entities by then.
	End(m *Making, err error) error
}

// Making is a group that is being made.
type Making struct {
	Actor any
	Shard int
	Batch bool // that End ends
}
