package prefab

import (
	"cmp"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/drive/remap"
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
	making  drive.Making
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
	for component = range t.draft.driver.Components(of).All {
	}
	at, err := t.draft.value(t.entity, component)
	if t.err = err; err != nil {
		at = t.draft.driver.Space().TypeOf(component).New(1)
	}
	return mem.Pointer{Address: at}
}

// Set gives values to components that an entity has. 0 is the root; the others have the numbers of
// Local. In, for the root, makes the instance in a shard.
func (x *Instance) Set(entity int, with ...Part) {
	if x.call == "" {
		panic(fmt.Sprintf("prefab: Instance.Set of %q after the function of CreateN returned; set it within", x.of.name))
	}
	if entity < 0 || entity >= len(x.of.nodes) {
		panic(fmt.Sprintf("prefab: Instance.Set of entity %d of %q; want 0 to %d", entity, x.of.name, len(x.of.nodes)-1))
	}
	for i := range with {
		x.set(entity, &with[i])
	}
}

func (x *Instance) set(entity int, part *Part) {
	switch {
	case part.set != nil:
		x.target = target{instance: x, entity: entity}
		part.set(&x.target)
	case part.shard > 0 && entity == 0:
		x.shard = part.shard - 1
	default:
		panic(fmt.Sprintf("prefab: %s of %q: a part is neither With nor, for the root, In; pass Child and Extends to prefab.New", x.call, x.of.name))
	}
}

// setAll gives the root values.
func (x *Instance) setAll(by world.Actor, with []Part) {
	if len(with) == 0 {
		return
	}
	done := false
	defer x.of.refuseUnless(&done, by)
	for i := range with {
		x.set(0, &with[i])
	}
	done = true
}

// callEach calls the each of CreateN.
func (x *Instance) callEach(by world.Actor, each func(i int, x *Instance), i int) {
	done := false
	defer x.of.refuseUnless(&done, by)
	each(i, x)
	done = true
}

// at returns where an entity has a component.
func (x *Instance) at(entity int, of world.ComponentSet) mem.Pointer {
	p := x.of
	set := p.driver.Components(of)
	for i := range p.nodes[entity].fields {
		if f := &p.nodes[entity].fields[i]; set.Has(f.component) {
			return mem.Pointer{Address: x.own(entity)}.At(1, f.offset)
		}
	}
	component := 0
	for component = range set.All {
	}
	panic(fmt.Sprintf("prefab: %s of %q: entity %d lacks component %q; pass With to prefab.New, or add the component to the entity",
		x.call, p.name, entity, p.driver.ComponentName(component)))
}

// own gives the instance its own copy of the values of an entity.
func (x *Instance) own(entity int) mem.Address {
	n := &x.of.nodes[entity]
	if x.used[entity] {
		return x.values[entity]
	}
	if x.values[entity] == nil {
		x.values[entity] = n.rows.Type().New(1)
	}
	x.used[entity] = true
	to, from := mem.Pointer{Address: x.values[entity]}, mem.Pointer{Address: n.value}
	if !n.copied {
		n.rows.Type().Copy(to.Address, from.Address, 1)
		return to.Address
	}
	space := x.of.driver.Space()
	for i := range n.fields {
		at := n.fields[i].offset
		space.CopyValue(n.fields[i].component, to.At(1, at).Address, from.At(1, at).Address)
	}
	return to.Address
}

// create makes the instance.
func (x *Instance) create(by world.Actor) (err error) {
	p := x.of
	m := &x.making
	if err := p.mayShare(); err != nil {
		return p.driver.Refuse(by, err)
	}
	x.cloneAll(by) // before handles are allocated: entities that a CloneBy creates must not get them
	if *m, x.handles, err = p.group.Begin(by, x.call, x.shard, x.handles[:0]); err != nil {
		return err
	}
	hs, made, done := x.handles, 0, false
	defer func() {
		if !done {
			p.undo(by, hs[:made])
			err = p.group.End(m, cmp.Or(err, errPanicked))
		}
	}()
	x.complete()
	_, atOnce := by.(*world.World)
	if atOnce { // before anything is created, because a relation may have no room
		if err = x.link(); err != nil {
			return err
		}
	}
	for i := range p.nodes {
		p.group.Create(m, i, x.row(i))
		made++
	}
	for i := range p.nodes[1:] {
		if atOnce {
			break
		}
		n := &p.nodes[i+1]
		parent, child := hs[n.parent], hs[i+1]
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
func (x *Instance) link() (err error) {
	linked := 0
	defer func() {
		if linked == len(x.handles)-1 {
			return
		}
		for i := linked; i > 0; i-- {
			n := &x.of.nodes[i]
			n.family.Unlink(x.handles[n.parent])
		}
	}()
	for i := range x.of.nodes[1:] {
		n := &x.of.nodes[i+1]
		if err = n.family.Link(x.handles[i+1], x.handles[n.parent], n.place); err != nil {
			return err
		}
		linked++
	}
	return nil
}

// complete replaces handles of Local by those of the instance.
func (x *Instance) complete() {
	component := 0
	defer func() {
		switch v := recover(); v {
		case nil:
		case remap.ErrDeep, remap.ErrOwner:
			panic(fmt.Sprintf("prefab: %s of %q: component %q: %v", x.call, x.of.name, x.of.driver.ComponentName(component), v))
		default:
			panic(v)
		}
	}()
	for i := range x.of.nodes {
		n := &x.of.nodes[i]
		if !x.used[i] && !n.local {
			continue
		}
		at := mem.Pointer{Address: x.own(i)}
		for k := range n.fields {
			if n.fields[k].handles {
				component = n.fields[k].component
				x.mapOf(i, k)(at.At(1, n.fields[k].offset).Address)
			}
		}
	}
}

// cloneAll calls the CloneBy of each value that was not set.
func (x *Instance) cloneAll(by world.Actor) {
	done := false
	defer x.of.refuseUnless(&done, by)
	for i := range x.of.nodes {
		if n := &x.of.nodes[i]; n.copied && x.of.clones(n) {
			x.own(i)
		}
	}
	done = true
}

// mapOf returns what maps the handles in a field.
func (x *Instance) mapOf(entity, field int) remap.Map {
	if x.maps[entity] == nil {
		x.maps[entity] = make([]remap.Map, len(x.of.nodes[entity].fields))
	}
	if x.maps[entity][field] == nil {
		if x.mapper == nil {
			x.mapper = remap.New(x.of.driver.Liveness(), ownerType, x.now)
		}
		x.maps[entity][field] = x.mapper.Of(x.of.nodes[entity].fields[field].of.Of)
	}
	return x.maps[entity][field]
}

// now returns the handle of the entity that a handle of Local stands for in this instance.
func (x *Instance) now(h handle.Handle) (handle.Handle, bool) {
	i, ok := localOf(h)
	switch {
	case !ok:
		return h, true
	case i >= len(x.handles):
		panic(fmt.Sprintf("prefab: %s of %q: Local(%d) stands for none of its %d entities", x.call, x.of.name, i, len(x.handles)))
	}
	return x.handles[i], true
}

// row returns the values of an entity.
func (x *Instance) row(entity int) mem.Address {
	if x.used[entity] {
		return x.values[entity]
	}
	return x.of.nodes[entity].value
}
