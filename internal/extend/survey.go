package extend

import (
	"reflect"

	"github.com/atoll-sim/atoll/internal/slots"
)

// Counts is how many of some things a world has.
type Counts struct{ Components, Resources, Extensions int }

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

// State is the state of a world as a whole, besides its options and registrations.
type State struct {
	Tick            uint64
	Incarnation     uint32
	Shard, Run      int // as for Survey.Placement
	Misrouted       bool
	Moves, Gathered uint32   // as for store.Space.MovesOf
	TxRuns          uint64   // as for Survey.TxRuns
	Pinned          []int    // components
	Hooks           [][]bool // by hook and shard: it is enabled
	Ports           slots.PortImage
}
