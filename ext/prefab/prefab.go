package prefab

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend/remap"
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
	engine *engine.World
	name   string
	nodes  []node
	names  map[string]int
	group  *engine.Group
	kept   []kept    // by shard; global systems have the last
	free   sync.Pool // of *Instance, for ports
}

// part makes a Prefab something that Build.Creates takes.
type part = world.ComponentSet

// node is an entity of a prefab.
//
// Ownership: immutable.
type node struct {
	parent   int
	relation *hierarchy.Relation // nil for the root
	family   engine.Family       // what the world has of it
	place    int                 // or -1: after the others
	rows     engine.Rows
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

// Part is a part of a prefab, or a change to it in one call: With, Child, Extends or In.
type Part struct {
	set    func(t *target)
	child  *child
	base   *Prefab
	shard  int // the shard, plus 1
	entity int // of an instance
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

// For says which entity of an instance a part is for, where Create or Append has it: 0 is the root;
// the others have the numbers of Local, which Prefab.Entity finds by name. It allocates nothing
// where it is written as an argument of the call.
func For(entity int, part Part) Part {
	if entity < 0 || part.entity > 0 {
		panic(fmt.Sprintf("prefab: For of entity %d, with a part that is for %d; want 0 or more, and a part of With", entity, part.entity))
	}
	part.entity = entity
	return part
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
	return int(h.Index()) - 1, h.Version() == 0 && h.Home() == 0 && h.Index() > 0
}

// New makes a prefab of the parts of its root. Errors use its name. The world must be idle. Values
// are copied by assignment, or by Component.CloneBy if the component has one. A timer.ID or
// async.ID in them becomes None. While the world's inputs are recorded or replayed, as by a
// durable.Store, creating from a prefab returns an error if instances would share a map, slice or
// pointer; see world.Copy.
//
// It panics for a part that is In or For; a component that comes twice or is of another world; a value
// that holds a reference.Owner; a Local of an entity that the prefab does not have; a place that
// two children have or that does not exist; and for a prefab that no queue of a port, or no outbox
// of a system, can ever hold: the text has its size and the limit. Prefabs with the same sets of
// components share what they need in a world.
func New(w *world.World, name string, parts ...Part) *Prefab {
	d := engine.Of(w)
	d.MustBeNamed("prefab.New", name)
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

// Create makes an instance, and returns the handle of its root. with may have values for components
// of the root, with For of other entities, and a shard.
//
// All entities are made in one shard. A *World, a *Context and an *EntityContext make them at once;
// a *Port sends requests, in one batch or in the one that is under way. When the children get their
// parents depends on the actor: at once with a *World, at the end of the tick in a system, at the
// end of the next tick in a function or a hook, and as they are created with a port. A child whose
// parent is gone by then has none. A system declares the prefab with Build.Creates.
//
// It returns ErrIndexes or ErrChunks if the world is full, and ErrFull if a port's queue, or the
// outbox of a system, has no room for the whole instance. Only a *World gets the errors of
// Relation.Put. With an error nothing is made. Port.Within waits for room; Port.Notify learns the
// outcome of the root. An instance costs as much as creating its entities by Bundle.Create, and a
// Relation.AddChild for each child.
func (p *Prefab) Create(by world.Actor, with ...Part) (handle.Handle, error) {
	x, err := p.one(by, "Prefab.Create", with)
	defer p.put(x)
	if err != nil {
		return handle.None, err
	}
	return x.handles[0], nil
}

// Append is Create that appends the handles of all entities of the instance to dst, by their
// numbers.
func (p *Prefab) Append(dst []handle.Handle, by world.Actor, with ...Part) ([]handle.Handle, error) {
	x, err := p.one(by, "Prefab.Append", with)
	defer p.put(x)
	if err != nil {
		return dst, err
	}
	return append(dst, x.handles...), nil
}

// one makes an instance whose root has with.
func (p *Prefab) one(by world.Actor, call string, with []Part) (*Instance, error) {
	x := p.take(by, call)
	p.guard(by, func() {
		for k := range with {
			x.set(with[k].entity, &with[k])
		}
	})
	return x, x.create(by)
}

// CreateN makes n instances, each as Create does, and returns how many it made before an error.
// Each is made whole or not at all. All together are not, because no queue has room for many. If
// each is not nil, it may change an instance before it is made. With a *Port it waits for room for
// each instance, until the context of Port.Within ends; within a Port.Batch all instances are part
// of that. It panics if n is negative.
func (p *Prefab) CreateN(by world.Actor, n int, each func(i int, x *Instance)) (made int, err error) {
	const call = "Prefab.CreateN"
	p.mustBe(call)
	if n < 0 {
		p.refuse(by)
		panic(fmt.Sprintf("prefab: %s of %q: %d instances; want 0 or more", call, p.name, n))
	}
	if n == 0 {
		return 0, p.group.Nothing(by, call)
	}
	ctx := p.group.Within(by)
	for ; made < n; made++ {
		x := p.take(by, call)
		if each != nil {
			p.guard(by, func() { each(made, x) })
		}
		if ctx != nil && made > 0 {
			engine.Is(by).(*engine.Port).Within(ctx)
		}
		err := x.create(by)
		p.put(x)
		if err != nil {
			return made, fmt.Errorf("%w (after %d of %d)", err, made, n)
		}
	}
	return made, nil
}

// mayShare returns an error if instances would share something.
func (p *Prefab) mayShare() error {
	for i := range p.nodes {
		n, copied := &p.nodes[i], func(reflect.Type) bool { return false }
		if !n.copied {
			continue
		}
		if n.local {
			copied = remap.HoldsHandles
		}
		for _, f := range n.fields {
			if err := p.engine.Shared(f.component, mem.Pointer{Address: n.value}.At(1, f.offset).Address, copied); err != nil {
				return fmt.Errorf("prefab: an instance of %q: %w", p.name, err)
			}
		}
	}
	return nil
}

// undo destroys what was made at once.
func (p *Prefab) undo(by world.Actor, made []handle.Handle) {
	p.refuse(by)
	space := p.engine.Space()
	for _, h := range made {
		if l := space.Locate(h); l != 0 {
			space.Mark(l)
		}
	}
}

// guard calls f. If it does not return, because of a panic or Goexit in the caller's code, guard
// refuses the batch.
func (p *Prefab) guard(by world.Actor, f func()) {
	done := false
	defer func() {
		if !done {
			p.refuse(by)
		}
	}()
	f()
	done = true
}

// refuse ends a port's call that is about to panic, and refuses the batch that the call is in.
func (p *Prefab) refuse(by world.Actor) {
	if port, ok := engine.Is(by).(*engine.Port); ok {
		_ = p.engine.Refuse(port, errPanicked)
	}
}

// errPanicked is what a port's batch returns if a call in it panicked and the caller recovered.
var errPanicked = fmt.Errorf("%w: a call of a Prefab in the batch; so nothing of it is sent", world.ErrFailed)

// take returns an unused Instance.
func (p *Prefab) take(by world.Actor, call string) (x *Instance) {
	p.mustBe(call)
	home := p.group.Home(by)
	if home >= 0 {
		x, p.kept[home].instance = p.kept[home].instance, nil
	} else {
		x, _ = p.free.Get().(*Instance)
	}
	if x == nil {
		n := len(p.nodes)
		x = &Instance{of: p, values: make([]mem.Address, n), used: make([]bool, n), maps: make([][]remap.Map, n)}
	}
	x.call, x.home, x.shard = call, home, -1
	return x
}

// put keeps an Instance for the next time.
func (p *Prefab) put(x *Instance) {
	x.call, x.making = "", engine.Making{}
	for i, used := range x.used {
		if used && p.nodes[i].copied {
			p.nodes[i].rows.Type().Clear(x.values[i], 1) // so that it keeps nothing alive
		}
		x.used[i] = false
	}
	if x.home >= 0 {
		p.kept[x.home].instance = x
	} else {
		p.free.Put(x)
	}
}

// clones reports whether some component of an entity has a CloneBy.
func (p *Prefab) clones(n *node) bool {
	for i := range n.fields {
		if p.engine.Space().Cloned(n.fields[i].component) {
			return true
		}
	}
	return false
}
