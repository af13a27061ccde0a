package prefab

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend/remap"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

// draft is a prefab that is being made.
type draft struct {
	engine *engine.World
	nodes  []*draftNode
	names  map[string]int
	fresh  map[store.Set]bool // see engine.Grouping
	queue  int                // world.Options.QueueRequests
	most   int                // entities
	wrong  int                // the entity that the error of finish is about
}

// draftNode is an entity of a draft.
type draftNode struct {
	parent   int
	relation *hierarchy.Relation
	place    int
	values   []draftValue // by component
	own      store.Set    // given by parts of the entity itself, not by Extends
}

// draftValue is a component of an entity.
type draftValue struct {
	component int
	at        mem.Address
}

func newDraft(d *engine.World, o world.Options) *draft {
	return &draft{engine: d, queue: o.QueueRequests, most: (o.QueueRequests + 1) / 2, nodes: []*draftNode{{parent: -1}}, names: map[string]int{}, fresh: map[store.Set]bool{}}
}

// errNothing is for the zero Part.
var errNothing = errors.New("a part is nothing; pass what With, Child or Extends returned")

// add adds parts to an entity.
func (d *draft) add(entity int, parts []Part) error {
	for i, p := range parts {
		var err error
		switch {
		case p.entity > 0:
			err = errors.New("For is for calls that make an instance; pass it to Create or Append")
		case p.set != nil:
			t := target{draft: d, entity: entity}
			p.set(&t)
			err = t.err
		case p.child != nil:
			c, at := p.child, 0
			if at, err = d.addChild(entity, c.relation, c.place); err == nil {
				err = d.add(at, c.parts)
			}
		case p.base != nil && i > 0:
			err = fmt.Errorf("Extends of %q is not the first part of its entity; put it before the others", p.base.name)
		case p.base != nil:
			err = d.extend(entity, p.base)
		case p.shard > 0:
			err = errors.New("In is for calls that make an instance; pass it to Create")
		default:
			err = errNothing
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addChild adds an entity below another, and returns its number.
func (d *draft) addChild(parent int, r *hierarchy.Relation, place int) (int, error) {
	switch {
	case r == nil:
		return 0, errors.New("Child with a nil Relation; pass one of hierarchy.New")
	case d.engine.Extension(r) == nil:
		return 0, fmt.Errorf("relation %q belongs to another world; use that world's own", r.Name())
	case len(d.nodes) == d.most:
		return 0, d.tooMany()
	}
	d.nodes = append(d.nodes, &draftNode{parent: parent, relation: r, place: place})
	return len(d.nodes) - 1, nil
}

// tooMany is the error of a prefab that no port's queue can ever hold: it takes two requests for
// each entity but the root. It is checked as entities are added, before the draft gets large.
func (d *draft) tooMany() error {
	return fmt.Errorf("%w: it has more than %d entities, with QueueRequests = %d", world.ErrTooLarge, d.most, d.queue)
}

// extend adds what the root of a prefab has to an entity, which has nothing yet.
func (d *draft) extend(entity int, base *Prefab) error {
	if base.engine != d.engine {
		return fmt.Errorf("prefab %q belongs to another world; use that world's own", base.name)
	}
	if len(d.nodes)+len(base.nodes)-1 > d.most {
		return d.tooMany()
	}
	to := []int{entity}
	for i := range base.nodes[1:] {
		n := &base.nodes[i+1]
		at, err := d.addChild(to[n.parent], n.relation, n.place)
		if err != nil {
			return err
		}
		to = append(to, at)
	}
	m := d.mapper(func(h handle.Handle) handle.Handle {
		if i, ok := localOf(h); ok {
			return Local(to[i])
		}
		return h
	})
	for i := range base.nodes {
		n := &base.nodes[i]
		for _, f := range n.fields {
			at := f.of.New(1)
			f.of.Copy(at, mem.Pointer{Address: n.value}.At(1, f.offset).Address, 1)
			if f.handles {
				m.Of(f.of.Of)(at)
			}
			d.nodes[to[i]].values = append(d.nodes[to[i]].values, draftValue{f.component, at})
		}
	}
	return nil
}

// ownerType is a type that no component of a prefab may contain.
var ownerType = reflect.TypeFor[reference.Owner]()

// mapper returns a mapper that replaces handles in values.
func (d *draft) mapper(to func(handle.Handle) handle.Handle) *remap.Mapper {
	return remap.New(d.engine.Liveness(), ownerType, func(h handle.Handle) (handle.Handle, bool) { return to(h), true })
}

// value returns where an entity has a component. It adds the component if the entity lacks it.
func (d *draft) value(entity, component int) (mem.Address, error) {
	n, of := d.nodes[entity], d.engine.Space().TypeOf(component)
	if n.own.Has(component) {
		return nil, fmt.Errorf("component %q is there twice; give it once", d.engine.ComponentName(component))
	}
	if remap.Holds(of.Of, ownerType) {
		return nil, fmt.Errorf("component %q: %w", d.engine.ComponentName(component), remap.ErrOwner)
	}
	n.own.Add(component)
	i, has := slices.BinarySearchFunc(n.values, component, func(v draftValue, component int) int { return v.component - component })
	if !has {
		n.values = slices.Insert(n.values, i, draftValue{component, of.New(1)})
	}
	return n.values[i].at, nil
}

// finish makes the prefab. Nothing of it is in the world until its group is ready.
func (d *draft) finish(name string) (*Prefab, error) {
	if err := d.places(); err != nil {
		return nil, err
	}
	p := &Prefab{engine: d.engine, name: name, names: d.names}
	g := engine.Grouping{Name: name, Links: len(d.nodes) - 1, Fresh: d.fresh}
	for _, n := range d.nodes {
		var set store.Set
		for _, v := range n.values {
			set.Add(v.component)
		}
		g.Of = append(g.Of, set)
		if n.relation != nil {
			g.LinkSize = d.engine.Extension(n.relation).(engine.Family).LinkSize()
		}
	}
	var err error
	if p.group, err = d.engine.NewGroup(g); err != nil {
		return nil, err
	}
	p.part = p.group
	for i, n := range d.nodes {
		to, err := d.node(n, p.group.Rows(i))
		if err != nil {
			return nil, err
		}
		p.nodes = append(p.nodes, to)
	}
	p.kept = make([]kept, d.engine.Space().Shards()+1)
	return p, nil
}

// node makes an entity of the prefab.
func (d *draft) node(n *draftNode, rows engine.Rows) (to node, err error) {
	to = node{parent: n.parent, relation: n.relation, place: n.place, rows: rows, value: rows.Type().New(1), copied: !rows.Type().Plain}
	if n.relation != nil {
		to.family = d.engine.Extension(n.relation).(engine.Family)
	}
	component := 0
	defer remap.Catch(func(e error) { err = fmt.Errorf("component %q: %w", d.engine.ComponentName(component), e) })
	m := d.mapper(func(h handle.Handle) handle.Handle {
		i, ok := localOf(h)
		to.local = to.local || ok
		if ok && i >= len(d.nodes) {
			err = fmt.Errorf("component %q has Local(%d), and there are %d entities", d.engine.ComponentName(component), i, len(d.nodes))
		}
		return h
	})
	for _, v := range n.values {
		component = v.component
		f := field{v.component, d.engine.Space().TypeOf(component), rows.Offset(component), false}
		f.handles = remap.HoldsHandles(f.of.Of)
		at := mem.Pointer{Address: to.value}.At(1, f.offset).Address
		d.engine.Space().CopyValue(component, at, v.at)
		f.of.ClearSingles(at, 1)
		if f.handles {
			m.Of(f.of.Of)(at)
		}
		to.fields = append(to.fields, f)
	}
	return to, err
}

// places checks that each child can have its place. A place after all others becomes -1.
func (d *draft) places() error {
	type list struct {
		of     *hierarchy.Relation
		parent int
	}
	taken, next := map[list]map[int]bool{}, map[list]int{}
	for i, n := range d.nodes[1:] {
		l, o := list{n.relation, n.parent}, n.relation.Options()
		if taken[l] == nil {
			taken[l] = map[int]bool{}
		}
		at := n.place
		if at < 0 {
			at = next[l]
			for o.Places > 0 && taken[l][at] {
				at++
			}
			next[l] = at
		}
		var err error
		switch {
		case taken[l][at]:
			err = hierarchy.ErrTaken
		case o.Places > 0 && n.place < 0 && at >= o.Places:
			err = hierarchy.ErrNoPlace
		case o.Places > 0 && at >= o.Places || n.place > o.PlacesMax:
			err = hierarchy.ErrPlace
		}
		if err != nil {
			d.wrong = i + 1
			return fmt.Errorf("a child by %q at place %d: %w", n.relation.Name(), n.place, err)
		}
		taken[l][at] = true
		if o.Places == 0 && at == next[l] {
			n.place = -1
		}
		if o.Places == 0 {
			next[l] = max(next[l], at+1)
		}
	}
	return nil
}
