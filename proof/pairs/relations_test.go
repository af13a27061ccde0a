package pairs_test

import (
	"slices"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// policy is a relation and what becomes of the children of one that dies.
type policy struct {
	*hierarchy.Relation
	hierarchy.OnParentDeath
}

// relations makes entities children of others, by each of the policies.
func relations() *feature {
	of := func(o *objects) policy { return o.made["policy"].(policy) }
	return &feature{
		name: "relations", rate: 900, by: byAny &^ byGlobal,
		prepare: func(o *objects) { makeTree(o) },
		draw: func(d *drawer) (a *act) {
			child, parent := d.someone(), d.someone()
			if len(d.known) > 100 && d.coin() { // large families
				parent = d.known[d.n(50)]
			}
			switch d.n(5) {
			case 0, 1:
				a = on("add child", child, func(o *objects, by world.Actor, h handle.Handle) error { return of(o).AddChild(by, parent, h) },
					func(m *model, e *entity) world.Outcome { return m.adopt(e, parent, false) })
			case 2, 3:
				a = on("give to", child, func(o *objects, by world.Actor, h handle.Handle) error { return of(o).Relation.Move(by, h, parent) },
					func(m *model, e *entity) world.Outcome { return m.adopt(e, parent, true) })
			default:
				a = on("remove child", child, func(o *objects, by world.Actor, h handle.Handle) error {
					return of(o).RemoveChild(by, h, hierarchy.Close)
				}, (*model).orphan)
			}
			a.joint = true
			return a
		},
		between: func(s *scene) { // nobody may die in a refresh that spares some
			for range 50 {
				if e := s.model.alive(s.someone()); s.model.policy == hierarchy.SpareParent && e != nil && len(e.children) > 2 {
					s.byIdle(kill(e.h))
				}
			}
		},
		check: checkTree,
	}
}

// makeTree returns the relation of a world, which the first to ask makes.
func makeTree(o *objects) policy {
	if o.made["policy"] == nil {
		p := hierarchy.OnParentDeath(o.seed % 4)
		if o.has("coalesce") && o.has("order") {
			p = hierarchy.SpareParent
		}
		o.made["policy"] = policy{hierarchy.New(o.World, "tree", hierarchy.Options{OnParentDeath: p, ConflictsMax: 100000}), p}
	}
	return o.made["policy"].(policy)
}

// checkTree compares the relation with the model.
func checkTree(s *scene) {
	tree := s.made["policy"].(policy)
	read := tree.Read(s.World)
	for h, e := range s.model.entities {
		if read.Parent(h) != e.parent {
			s.fail("the parent of %v is %v, by the model %v", h, read.Parent(h), e.parent)
		}
		got := slices.Collect(read.Each(h))
		if s.model.policy == hierarchy.Grandparent { // in the order of rows, of which the model knows nothing
			got, e.children = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(e.children))
		}
		if !slices.Equal(got, e.children) {
			s.fail("the children of %v are %v, by the model %v", h, got, e.children)
		}
	}
	for _, r := range read.Conflicts() {
		s.see("refused "+r.Change, r.Entity, uint64(r.Other))
	}
	image := tree.Save(nil)
	err := tree.Load(image)
	s.must(err == nil, "the relation: %v", err)
	s.see("relation", 0, text(image))
}

func (m *model) adopt(e *entity, parent handle.Handle, anyway bool) world.Outcome {
	to := m.alive(parent)
	switch {
	case e == nil || to == nil:
		return world.Gone
	case e.parent != handle.None && !anyway:
		return world.Refused
	}
	for up := to; up != nil; up = m.entities[up.parent] {
		if up == e {
			return world.Refused
		}
	}
	m.orphan(e)
	e.parent, to.children = parent, append(to.children, e.h)
	return world.Applied
}

// orphan takes an entity from its parent.
func (m *model) orphan(e *entity) world.Outcome {
	switch {
	case e == nil:
		return world.Gone
	case e.parent == handle.None:
		return world.Missing
	}
	up := m.entities[e.parent]
	i := slices.Index(up.children, e.h)
	up.children = slices.Delete(up.children, i, i+1)
	e.parent = handle.None
	return world.Applied
}

// spare keeps those alive that have a living child, if that is the policy, and with them
// their ancestors.
func (m *model) spare() {
	for again := m.policy == hierarchy.SpareParent; again; {
		again = false
		for _, e := range m.entities {
			if e.marked && !e.left() && slices.ContainsFunc(e.children, func(h handle.Handle) bool { return !m.entities[h].marked }) {
				e.marked, e.cancelled, e.spared, again = false, false, true, true
			}
		}
	}
}

// spread takes the dying out of the relation, and does to their children what the policy
// says.
func (m *model) spread() {
	var dying []*entity
	for _, e := range m.entities {
		if e.marked {
			dying = append(dying, e)
		}
	}
	if m.policy == hierarchy.Grandparent {
		for _, e := range dying {
			m.bequeath(e)
		}
	}
	for len(dying) > 0 {
		e := dying[len(dying)-1]
		dying = dying[:len(dying)-1]
		m.orphan(e)
		for _, h := range slices.Clone(e.children) {
			child := m.entities[h]
			m.orphan(child)
			if m.policy == hierarchy.Destroy && !e.left() && !child.marked && !child.guarded() {
				child.marked = true
				dying = append(dying, child)
			}
		}
	}
}

// bequeath gives the living children of a dying entity to its nearest ancestor that
// lives.
func (m *model) bequeath(e *entity) {
	up := m.entities[e.parent]
	for up != nil && up.marked {
		up = m.entities[up.parent]
	}
	for _, h := range slices.Clone(e.children) {
		if child := m.entities[h]; up != nil && !child.marked {
			m.orphan(child)
			child.parent, up.children = up.h, append(up.children, h)
		}
	}
}
