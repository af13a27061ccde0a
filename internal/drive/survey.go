package drive

import (
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Survey is the state of an idle world, for tools that hash, save or compare worlds without knowing
// their types: everything that decides what the world does next, and nothing else. The results of
// its methods must not be written, and are good until the world changes.
type Survey interface {
	// Components and Resources are listed by number, Messages in the order in which they were
	// registered, Extensions in the order in which they were added, Hooks in the order in which
	// they are called.
	Components() []Named
	Messages() []Named
	Resources() []Named
	Extensions() []any
	Hooks() []Hook
	// Registered lists everything that the program has registered and on which the hash of the
	// state depends. Whatever else is hashed, a load restores. So the hashes of two worlds can be
	// compared if these lists are the same, and package snapshot refuses a list that it does not
	// save.
	Registered() []Registered
	// Counts returns how many there are.
	Counts() Counts
	// Kinds returns the kinds of requests.
	Kinds() store.Kinds
	// Placement returns the shard of the next entity that the idle world creates, and how many
	// are created there.
	Placement() (shard, run int)
	// Pinned returns the components whose entities Transfer leaves where they are.
	Pinned() []int
	// Misrouted reports whether messages may be in the box of another shard than their
	// entity's. The next tick then forwards them when it begins.
	Misrouted() bool
	// Shard returns a shard, which includes its tables and its slots.
	Shard(i int) *store.Shard
	// PortSlots returns the slots of the entities that ports create.
	PortSlots() *slots.PortAllocator
	// Copied reports whether a frame's copy of a component shares nothing with the component.
	// Shares returns the path to a shared part and its kind, or 0.
	Copied(component int) bool
	Shares(component int) (path string, what reflect.Kind)
	// Requests calls f with the requests that systems, and functions called on entities, have sent
	// and that the next refresh will apply: those of one shard, in order, or with world.AllShards
	// those of global systems. The argument of f is good until f returns.
	Requests(from int, f func(queue.PendingRequest))
	// Mailbox returns the messages of one kind that are delivered to a shard in the next tick,
	// in order: the receivers and the bodies.
	Mailbox(message, shard int) ([]handle.Handle, mem.Cells)
	// Resource returns the value of a resource, and how many parts it has: one for each shard if it
	// is an accumulator, otherwise none. ResourcePart returns what a shard has added since the last
	// merge. Both are in place, without Values.
	Resource(i int) (value mem.Cells, parts int)
	ResourcePart(i, shard int) mem.Cells
	// State and Image return the state as data, for a Loader: what concerns the world as a whole,
	// and each shard. They include what decides nothing, such as which handles ports have in their
	// caches.
	State() State
	Image(shard int) store.Image
}

// Counts is how many of some things a world has.
type Counts struct{ Components, Resources, Extensions int }

// Frozen has the rows of a world as they were. Safe from any goroutine until Release.
type Frozen interface {
	// Has reports whether a component was copied.
	Has(component int) bool
	// Chunk returns a chunk by its place in the store.Image of the world, if it has rows: its
	// handles, and the Cells of components that were copied.
	Chunk(shard, table, chunk int) *store.Chunk
	// Shard returns a shard as it was: its tables and chunks, with the Cells of components that
	// were copied, and nothing else.
	Shard(i int) *store.Shard
	// Lookup returns where entities were, for the View of a Column.
	Lookup() *slots.Lookup
	// View finds the rows of a component. It panics if that was not copied; call is what messages
	// name.
	View(component int, call string) store.View
	Release()
}

// Registered is what a program has registered of one kind, such as "component", in order.
type Registered struct {
	What  string
	Names []Named
}

// Named is a type that is registered under a name, or a name alone.
type Named struct {
	Name string
	Type reflect.Type
}

// Hook is what a Survey shows of a hook.
type Hook interface {
	Name() string
	Enabled(shard int) bool
	// Disable disables the hook on one shard.
	Disable(shard int)
}

// State is the state of a world as a whole, besides its options and registrations.
type State struct {
	Tick            uint64
	Incarnation     uint32
	Shard, Run      int // as for Survey.Placement
	Misrouted       bool
	Moves, Gathered uint32   // as for store.Space.MovesOf
	Pinned          []int    // components
	Hooks           [][]bool // by hook and shard: it is enabled
	Ports           slots.PortImage
}
