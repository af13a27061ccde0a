package pairs_test

import (
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// Nest is a component whose CloneBy creates an entity, while a prefab is made by the idle world or
// a port.
type Nest struct{ Eggs []byte }

// nests is a prefab of a root and a child with nests.
//
// Ownership: the scene's goroutine while it makes an instance; otherwise nobody writes.
type nests struct {
	family *prefab.Prefab
	by     world.Actor // who lays, or nil
	n      int64       // what an egg holds
	laid   []handle.Handle
	err    error
}

func registerNest(o *objects) *world.Component[Nest] {
	state.Register(o.codecs, state.Codec[Nest]{
		Append: func(dst []byte, v *Nest) []byte { return append(dst, v.Eggs...) },
		Read:   func(src []byte, v *Nest) error { v.Eggs = append([]byte(nil), src...); return nil },
	})
	return world.Register[Nest](o.World, "nest")
}

func newNests(o *objects) *nests {
	x := &nests{}
	c := registerNest(o).CloneBy(func(to, from *Nest) {
		to.Eggs = append(to.Eggs[:0], from.Eggs...)
		if x.by != nil && x.err == nil {
			var h handle.Handle
			h, x.err = o.bundles[0].create(x.by, x.n)
			x.laid = append(x.laid, h)
		}
	})
	nest := prefab.Extends(prefab.New(o.World, "nest", prefab.With(c, Nest{[]byte{1, 2, 3}}), o.parts[0].give(0)))
	x.family = prefab.New(o.World, "nests", nest, prefab.Child(makeTree(o).Relation, -1, nest))
	return x
}

// clones makes instances whose values create others when they are copied.
func clones() *feature {
	return &feature{
		name: "clones", rate: 50, by: byIdle | byPort,
		draw: func(d *drawer) *act {
			if d.crowd > population*3/2 {
				return nil
			}
			n := d.next()
			a := &act{name: "clone", born: &creation{has: bundleParts[0], value: func(k int) values {
				if k < 2 {
					return alike(n)
				}
				return alike(0)
			}}}
			a.do = func(o *objects, by world.Actor) ([]handle.Handle, error) {
				x := o.made["nests"].(*nests)
				x.by, x.n, x.laid, x.err = by, n, nil, nil
				made, err := x.family.Append(nil, by)
				x.by = nil
				if err == nil {
					err = x.err
				}
				return append(x.laid, made...), err
			}
			a.links = func(made []handle.Handle, _ bool) []*act {
				parent := made[2]
				link := on("add child", made[3], nil, func(m *model, e *entity) world.Outcome { return m.adopt(e, parent, false) })
				link.joint = true
				return []*act{link}
			}
			return a
		},
		check: func(s *scene) {
			for _, h := range s.known {
				if v := world.Read[Nest](s.World).Get(h); v != nil {
					s.must(string(v.Eggs) == "\x01\x02\x03", "%v has a nest of %v", h, v.Eggs)
				}
			}
			if !s.plan.has("relations") && !s.plan.has("prefabs") {
				checkTree(s)
			}
		},
	}
}
