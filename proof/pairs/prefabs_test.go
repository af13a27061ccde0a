package pairs_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// grove are the prefabs: one for each bundle, each a root with two children and a grandchild.
type grove [len(bundleParts)]*prefab.Prefab

// groveParents are the parents of the entities of a prefab.
var groveParents = [...]int{-1, 0, 1, 0}

func newGrove(o *objects) (all grove) {
	tree := makeTree(o)
	for i := range all {
		single := func(n int64) prefab.Part {
			var parts []prefab.Part
			for k := range partsN {
				if bundleParts[i].has(k) {
					parts = append(parts, o.parts[k].give(alike(n)[k]))
				}
			}
			return prefab.Extends(prefab.New(o.World, fmt.Sprint("single ", i), parts...))
		}
		all[i] = prefab.New(o.World, fmt.Sprint("family ", i), single(0),
			prefab.Child(tree.Relation, -1, single(1), prefab.Child(tree.Relation, -1, single(2))), prefab.Child(tree.Relation, -1, single(3)))
	}
	return all
}

// instance makes an instance, whose root has other values.
func (o *objects) instance(by world.Actor, i int, n int64) ([]handle.Handle, error) {
	var with []prefab.Part
	for k := range partsN {
		if bundleParts[i].has(k) {
			with = append(with, o.parts[k].give(alike(n)[k]))
		}
	}
	return o.made["grove"].(grove)[i].Append(nil, by, with...)
}

// instanceValue is what the k-th entity of an instance has.
func instanceValue(n int64, k int) values {
	if k == 0 {
		return alike(n)
	}
	return alike(int64(k))
}

// links are the requests behind the creates of an instance.
func links(made []handle.Handle) (all []*act) {
	for k, h := range made[1:] {
		parent := made[groveParents[k+1]]
		a := on("add child", h, nil, func(m *model, e *entity) world.Outcome { return m.adopt(e, parent, false) })
		a.joint = true
		all = append(all, a)
	}
	return all
}

// prefabs makes instances by everybody; ports destroy some at once, and functions make some.
func prefabs() *feature {
	return &feature{
		name: "prefabs", rate: 150, by: byAny &^ byOther,
		prepare: func(o *objects) { o.made["grove"] = newGrove(o) },
		draw: func(d *drawer) *act {
			if d.crowd > population*3/2 {
				return nil
			}
			i, n, dying := d.n(len(bundleParts)), d.next(), d.n(4) == 0
			a := &act{name: "instance", born: &creation{has: bundleParts[i], value: func(k int) values { return instanceValue(n, k) }}}
			a.do = func(o *objects, by world.Actor) ([]handle.Handle, error) {
				made, err := o.instance(by, i, n)
				if p, ok := by.(*world.Port); ok && err == nil && dying {
					err = p.Destroy(made[0])
				}
				return made, err
			}
			a.links = func(made []handle.Handle, byPort bool) []*act {
				all := links(made)
				if byPort && dying {
					all = append(all, kill(made[0]))
				}
				return all
			}
			return a
		},
		check: func(s *scene) {
			if !s.plan.has("relations") {
				checkTree(s)
			}
		},
	}
}
