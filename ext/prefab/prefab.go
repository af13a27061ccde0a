package prefab

import (
	"fmt"
	"sync"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/driver"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/world"
)

// Prefab is a template of one or more entities. Build.Creates takes it: a system that makes
// instances declares it there.
//
// Ownership: the world's; scratch memory for instances belongs to the goroutine that makes them.
// Methods may be called by the goroutine that holds the Actor.
type Prefab struct {
	part
	driver driver.World
	name   string
	nodes  []node
	names  map[string]int
	group  drive.Group
	kept   []kept // by home
	free   pool   // of ports
}

// part makes a Prefab something that Build.Creates takes.
type part = world.ComponentSet

// node is an entity of a prefab.
//
// Ownership: immutable.
type node struct {
	parent   int
	relation *hierarchy.Relation // nil for the root
	family   drive.Family        // what the world has of it
	place    int                 // or -1: after the others
	rows     drive.Rows
	value    mem.Address // of the type of rows
	fields   []field
	local    bool // a value has a handle of Local
	copied   bool // a value has pointers, so the functions of CloneBy copy it
}

// field is a component of a node.
type field struct {
	component int
	of        *mem.Type
	offset    uintptr
	handles   bool // its values may hold handles
}

// kept is an Instance that is kept for the next call, in a cache line of its own.
//
// Ownership: the goroutine that acts in the home.
type kept struct {
	instance *Instance
	_        [56]byte
}

// pool keeps instances for ports.
//
// Ownership: shared, by mu.
type pool struct {
	mu  sync.Mutex
	all []*Instance
}

// Part is a part of a prefab, or a change to it in one call: With, Child, Extends or In.
type Part struct {
	set   func(t *target)
	child *child
	base  *Prefab
	shard int // the shard, plus 1
}

// child is the arguments of Child.
type child struct {
	relation *hierarchy.Relation
	place    int
	parts    []Part
}

// With gives an entity a component with a value. It replaces the value that the component has from
// Extends. It allocates nothing where it is written as an argument of the call.
func With[C any](c *world.Component[C], v C) Part {
	return Part{set: func(t *target) {
		*mem.As[C](t.at(c)) = v
	}}
}

// Child adds a child entity with its parts. It is a child by the relation: at a place as with
// Relation.Put, or with a negative place after the others.
func Child(r *hierarchy.Relation, place int, parts ...Part) Part {
	return Part{child: &child{r, max(place, -1), parts}}
}

// Extends gives an entity all that the root of another prefab has, including children. It must be
// the first of the entity's parts. Later parts can replace values and add children, but not change
// or leave out a child.
func Extends(p *Prefab) Part {
	p.mustBe("Extends")
	return Part{base: p}
}

// mustBe refuses a nil or a zero Prefab.
func (p *Prefab) mustBe(call string) {
	if p == nil || p.group == nil {
		panic(fmt.Sprintf("prefab: %s of a nil or zero Prefab; use one of New, or of Load under a name that its files have", call))
	}
}

// In makes an instance in a shard, as a Bundle.PlaceBy does. Systems and functions create in their
// own shard regardless.
func In(shard int) Part {
	if shard < 0 {
		panic(fmt.Sprintf("prefab: In of shard %d; want 0 or more", shard))
	}
	return Part{shard: shard + 1}
}

// Local returns a handle that stands, in values of a prefab, for one of its entities: 0 is the
// root, and the others are numbered in the order of Child, each before its own children. In an
// instance it becomes the handle of the instance's own entity. It is never the handle of an entity.
func Local(entity int) handle.Handle {
	if entity < 0 || entity >= entitiesMax {
		panic(fmt.Sprintf("prefab: Local of entity %d; want 0 to %d", entity, entitiesMax-1))
	}
	return handle.New(0, uint32(entity)+1, 1) - handle.New(0, 0, 1) // version 0, which no handle has
}

// entitiesMax is how many entities a prefab may have.
const entitiesMax = handle.IndexMax

// localOf returns the entity that a handle of Local stands for.
func localOf(h handle.Handle) (entity int, ok bool) {
	return int(h.Index()) - 1, h.Version() == 0 && h.Shard() == 0 && h.Index() > 0
}

// New makes a prefab of the parts of its root. Errors use its name. The world must be idle. Values
// are copied by assignment, or by Component.CloneBy if the component has one. A timer.ID or
// async.ID in them becomes None. While the world's inputs are recorded or replayed, as by a
// durable.Store, creating from a prefab returns an error if instances would share a map, slice or
// pointer; see world.Copy.
//
// It panics for a part that is In; a component that comes twice or is of another world; a value
// that holds a reference.Owner; a Local of an entity that the prefab does not have; a place that
// two children have or that does not exist; and for a prefab that no queue of a port, or no outbox
// of a system, can ever hold: the text has its size and the limit. Prefabs with the same sets of
// components share what they need in a world.
func New(w *world.World, name string, parts ...Part) *Prefab {
	d := driver.Of(w)
	d.MustRegister("prefab.New", name)
	x := newDraft(d, w.Options())
	err := x.add(0, parts)
	var p *Prefab
	if err == nil {
		p, err = x.finish(name)
	}
	if err != nil {
		panic(fmt.Sprintf("prefab: New of %q: %v", name, err))
	}
	p.group.Ready()
	return p
}

// Name returns the prefab's name.
func (p *Prefab) Name() string { return p.name }

// Len returns how many entities an instance has.
func (p *Prefab) Len() int { return len(p.nodes) }

// Entity returns the number of the entity with a name in the prefab's file, as Local and
// Instance.Set take it.
func (p *Prefab) Entity(name string) (entity int, ok bool) {
	entity, ok = p.names[name]
	return entity, ok
}
