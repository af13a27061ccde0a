package drive

import (
	"context"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
)

// Rows makes entities with certain components, for callers that do not know the types.
type Rows interface {
	// Type is a struct of the components' values; Offset returns the offset of one of them.
	Type() *mem.Type
	Offset(component int) uintptr
}

// Grouping describes the entities of a group.
type Grouping struct {
	Name string
	Of   []store.Set // the components of each entity
	// Fresh has the component sets that no group had before and whose group is not Ready yet.
	// NewGroup adds to it.
	Fresh map[store.Set]bool
	// Links is how many requests of LinkSize follow the creates of a group, if the actor sends
	// requests.
	Links    int
	LinkSize uint32
}

// Group makes several entities that belong together, in one shard. After a Begin that returns no
// error come Create for each entity in order, the requests, and End.
//
// Ownership: shared. Any goroutine that may use the actor may call the methods.
type Group interface {
	// Ready makes what the creates need, as a registration does. The world must be idle. It is
	// called once, before the methods below.
	Ready()
	// Rows returns the Rows of entity i.
	Rows(i int) Rows
	// Home returns the shard that an actor has, or the number of shards for one that acts on all.
	// It returns -1 for a port, and for an actor that may not act.
	Home(actor any) int
	// Nothing is Begin and End for no group at all. Within returns the context of Port.Within, or
	// nil.
	Nothing(actor any, call string) error
	Within(actor any) context.Context
	// Begin makes sure that there is room for all entities, and appends the handles that they are
	// going to have. A shard of -1 lets the actor choose; systems and functions have their own.
	// call is the name for messages.
	Begin(actor any, call string, shard int, dst []handle.Handle) (Making, []handle.Handle, error)
	// Create makes an entity from the components at v, which is on the heap. It does not fail.
	Create(m *Making, i int, v mem.Address)
	// End ends the group. With an error a port sends nothing, and the world, which has created
	// nothing, is as before Begin. End returns the error of the batch. Other actors have already
	// made the entities.
	End(m *Making, err error) error
}

// Making is a group that is being made.
type Making struct {
	Actor any
	Shard int
	Batch bool // End must end the batch
	// For the idle world: whose turn it was, and for how many entities.
	Cursor, Run int
}
