package stateful_test

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// naive is the simplest thing that behaves as a world should: a map of entities, and
// a list of requests that a refresh sorts.
type naive struct {
	entities  map[handle.Handle]*entity // pending ones included
	takenBack map[*world.Port]int       // handles of such batches since the last refresh
	withdrawn map[handle.Handle]bool    // of batches that were refused: pending until the next refresh
	children  map[int64]handle.Handle   // what functions created, by argument
	given     map[handle.Handle]bool    // every handle ever
	dead      []handle.Handle           // every one that was destroyed, in no order
	requests  []request
	waiting   map[int]int // requests by sender
	ports     int         // numbers below are of ports, others of shards
	tick      uint64      // refreshes so far
	hits      map[handle.Handle][]int64
	within    bool // a refresh

	outcomes   [6]uint64
	rejected   uint64
	made, gone uint64
	retired    int
	versionMax uint32

	hooks []*hook
	told  []tale // what hooks are to be told, in no order
	late  []late // what they have done in refreshes
}

type entity struct {
	has     parts
	flags   world.Flags
	value   values
	pending bool
	marked  bool
	hidden  bool           // from systems of other shards: one has created it in this tick
	came    uint64         // tick in which its row did
	wrote   [partsN]uint64 // tick in which each component was written

	shard     int  // that it is in; nowhere if that is not known
	to        int  // to which it is to move at the refresh, or nowhere
	misrouted bool // it was moved since the last refresh, and its messages come after it

	// What hooks are to be told of it at the refresh.
	born   bool  // it was created since the last one
	fresh  bool  // by this one
	had    parts // its components at the last one
	stored parts // those that were stored anew since
}

// step is when a refresh does a request.
type step int

const (
	others step = iota
	creates
	deals // transactions
)

type request struct {
	sender int // ports by number, then shards
	step   step
	moves  bool // may take rows to another table
	do     func() world.Outcome
	done   *promise // who waits; may be nil
}

// promise is a Completion and what it must tell; of a question also the answer.
type promise struct {
	done   *world.Completion
	want   world.Outcome
	value  func() (int64, bool) // nil if nothing was asked
	answer int64
}

func newNaive(ports int, versionMax uint32) *naive {
	return &naive{
		entities: map[handle.Handle]*entity{}, withdrawn: map[handle.Handle]bool{}, takenBack: map[*world.Port]int{}, children: map[int64]handle.Handle{}, given: map[handle.Handle]bool{}, waiting: map[int]int{},
		hits: map[handle.Handle][]int64{}, ports: ports, versionMax: versionMax,
	}
}

// create is an entity with a handle that nobody ever had; false if somebody had.
func (n *naive) create(h handle.Handle, has parts, v values, pending bool) bool {
	if h.IsNone() || n.given[h] {
		return false
	}
	n.given[h] = true
	e := &entity{has: has, value: v, pending: pending, shard: nowhere, to: nowhere}
	n.entities[h] = e
	if !pending {
		n.store(h, e)
	}
	return true
}

// store is the moment in which an entity gets its row.
func (n *naive) store(h handle.Handle, e *entity) {
	e.pending, e.came, e.born, e.fresh = false, n.tick, true, e.pending
	n.made++
}

// alive returns the entity unless it is pending or gone.
func (n *naive) alive(h handle.Handle) *entity {
	if e := n.entities[h]; e != nil && !e.pending {
		return e
	}
	return nil
}

// living is alive without the marked: what requests find.
func (n *naive) living(h handle.Handle) *entity {
	if e := n.alive(h); e != nil && !e.marked {
		return e
	}
	return nil
}

func (n *naive) status(h handle.Handle) world.Status {
	switch e := n.entities[h]; {
	case n.withdrawn[h]:
		return world.Pending
	case e == nil:
		return world.Stale
	case e.pending:
		return world.Pending
	case e.marked:
		return world.Dying
	}
	return world.Alive
}
