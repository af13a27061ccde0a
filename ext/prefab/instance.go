package prefab

import (
	"cmp"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend/remap"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/world"
)

// Instance is one that is about to be made, as CreateN passes it to each. It is valid until the
// function returns.
type Instance struct {
	of      *Prefab
	call    string
	home    int
	shard   int           // or -1
	values  []mem.Address // by entity: a copy of the template's, or nil
	used    []bool        // by entity: the copy is used instead of the template
	mapper  *remap.Mapper
	maps    [][]remap.Map // by entity and field
	target  target
	making  engine.Making
	handles []handle.Handle
}

// target is an entity that a Part is about: of a draft or of an instance.
type target struct {
	draft    *draft
	instance *Instance
	entity   int
	err      error
}

// at returns where the entity has a component.
func (t *target) at(of world.ComponentSet) mem.Pointer {
	if t.draft == nil {
		return t.instance.at(t.entity, of)
	}
	component := 0
	for component = range t.draft.engine.Components(of).All {
	}
	at, err := t.draft.value(t.entity, component)
	if t.err = err; err != nil {
		at = t.draft.engine.Space().TypeOf(component).New(1)
	}
	return mem.Pointer{Address: at}
}

// Set gives values to components that an entity has. 0 is the root; the others have the numbers of
// Local. In, for the root, makes the instance in a shard.
func (i *Instance) Set(entity int, with ...Part) {
	if i.call == "" {
		panic(fmt.Sprintf("prefab: Instance.Set of %q after the function of CreateN returned; set it within", i.of.name))
	}
	for k := range with {
		if with[k].entity > 0 {
			panic(fmt.Sprintf("prefab: Instance.Set of %q with a part that is For entity %d; pass that number to Set, or For to Prefab.Append", i.of.name, with[k].entity))
		}
		i.set(entity, &with[k])
	}
}

// set applies a Part to an entity: a value, or for the root a shard. It panics for any other part,
// and for an entity that there is not.
func (i *Instance) set(entity int, part *Part) {
	switch {
	case entity < 0 || entity >= len(i.of.nodes):
		panic(fmt.Sprintf("prefab: %s of %q sets entity %d; want 0 to %d", i.call, i.of.name, entity, len(i.of.nodes)-1))
	case part.set != nil:
		i.target = target{instance: i, entity: entity}
		part.set(&i.target)
	case part.shard > 0 && entity == 0:
		i.shard = part.shard - 1
	default:
		panic(fmt.Sprintf("prefab: %s of %q: a part is neither With nor, for the root, In; pass Child and Extends to prefab.New", i.call, i.of.name))
	}
}

// at returns where an entity has a component.
func (i *Instance) at(entity int, of world.ComponentSet) mem.Pointer {
	p := i.of
	set := p.engine.Components(of)
	for k := range p.nodes[entity].fields {
		if f := &p.nodes[entity].fields[k]; set.Has(f.component) {
			return mem.Pointer{Address: i.own(entity)}.At(1, f.offset)
		}
	}
	component := 0
	for component = range set.All {
	}
	panic(fmt.Sprintf("prefab: %s of %q: entity %d lacks component %q; pass With to prefab.New, or add the component to the entity",
		i.call, p.name, entity, p.engine.ComponentName(component)))
}

// own gives the instance its own copy of the values of an entity.
func (i *Instance) own(entity int) mem.Address {
	n := &i.of.nodes[entity]
	if i.used[entity] {
		return i.values[entity]
	}
	if i.values[entity] == nil {
		i.values[entity] = n.rows.Type().New(1)
	}
	i.used[entity] = true
	to, from := mem.Pointer{Address: i.values[entity]}, mem.Pointer{Address: n.value}
	if !n.copied {
		n.rows.Type().Copy(to.Address, from.Address, 1)
		return to.Address
	}
	space := i.of.engine.Space()
	for k := range n.fields {
		at := n.fields[k].offset
		space.CopyValue(n.fields[k].component, to.At(1, at).Address, from.At(1, at).Address)
	}
	return to.Address
}

// create makes the instance.
func (i *Instance) create(by world.Actor) (err error) {
	p := i.of
	m := &i.making
	if err := p.mayShare(); err != nil {
		return p.engine.Refuse(by, err)
	}
	i.cloneAll(by) // before handles are allocated: entities that a CloneBy creates must not get them
	if *m, i.handles, err = p.group.Begin(by, i.call, i.shard, i.handles[:0]); err != nil {
		return err
	}
	hs, made, done := i.handles, 0, false
	defer func() {
		if !done {
			p.undo(by, hs[:made])
			err = p.group.End(m, cmp.Or(err, errPanicked))
		}
	}()
	i.complete()
	_, atOnce := engine.Is(by).(*engine.World)
	if atOnce { // before anything is created, because a relation may have no room
		if err = i.link(); err != nil {
			return err
		}
	}
	for k := range p.nodes {
		p.group.Create(m, k, i.row(k))
		made++
	}
	for k := range p.nodes[1:] {
		if atOnce {
			break
		}
		n := &p.nodes[k+1]
		parent, child := hs[n.parent], hs[k+1]
		if n.place < 0 {
			err = n.relation.AddChild(by, parent, child)
		} else {
			err = n.relation.Put(by, child, parent, n.place)
		}
		if err != nil {
			return err
		}
	}
	done = true
	return p.group.End(m, nil)
}

// link gives the children their parents, all or none, before they are created.
func (i *Instance) link() (err error) {
	linked := 0
	defer func() {
		if linked == len(i.handles)-1 {
			return
		}
		for k := linked; k > 0; k-- {
			n := &i.of.nodes[k]
			n.family.Unlink(i.handles[n.parent])
		}
	}()
	for k := range i.of.nodes[1:] {
		n := &i.of.nodes[k+1]
		if err = n.family.Link(i.handles[k+1], i.handles[n.parent], n.place); err != nil {
			return err
		}
		linked++
	}
	return nil
}

// complete replaces handles of Local by those of the instance.
func (i *Instance) complete() {
	component := 0
	defer remap.Catch(func(err error) {
		panic(fmt.Sprintf("prefab: %s of %q: component %q: %v", i.call, i.of.name, i.of.engine.ComponentName(component), err))
	})
	for entity := range i.of.nodes {
		n := &i.of.nodes[entity]
		if !i.used[entity] && !n.local {
			continue
		}
		at := mem.Pointer{Address: i.own(entity)}
		for k := range n.fields {
			if n.fields[k].handles {
				component = n.fields[k].component
				i.mapOf(entity, k)(at.At(1, n.fields[k].offset).Address)
			}
		}
	}
}

// cloneAll calls the CloneBy of each value that was not set.
func (i *Instance) cloneAll(by world.Actor) {
	i.of.guard(by, func() {
		for entity := range i.of.nodes {
			if n := &i.of.nodes[entity]; n.copied && i.of.clones(n) {
				i.own(entity)
			}
		}
	})
}

// mapOf returns what maps the handles in a field.
func (i *Instance) mapOf(entity, field int) remap.Map {
	if i.maps[entity] == nil {
		i.maps[entity] = make([]remap.Map, len(i.of.nodes[entity].fields))
	}
	if i.maps[entity][field] == nil {
		if i.mapper == nil {
			i.mapper = remap.New(i.of.engine.Liveness(), ownerType, i.now)
		}
		i.maps[entity][field] = i.mapper.Of(i.of.nodes[entity].fields[field].of.Of)
	}
	return i.maps[entity][field]
}

// now returns the handle of the entity that a handle of Local stands for in this instance.
func (i *Instance) now(h handle.Handle) (handle.Handle, bool) {
	n, ok := localOf(h)
	switch {
	case !ok:
		return h, true
	case n >= len(i.handles):
		panic(fmt.Sprintf("prefab: %s of %q: Local(%d) stands for none of its %d entities", i.call, i.of.name, n, len(i.handles)))
	}
	return i.handles[n], true
}

// row returns the values of an entity.
func (i *Instance) row(entity int) mem.Address {
	if i.used[entity] {
		return i.values[entity]
	}
	return i.of.nodes[entity].value
}
