package pairs_test

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// changes adds, removes and exchanges components.
func changes() *feature {
	return &feature{
		name: "changes", rate: 800, by: byAny,
		draw: func(d *drawer) *act {
			h, i, n := d.someone(), d.n(partsN), d.next()
			switch d.n(4) {
			case 0, 1:
				return on("add", h, func(o *objects, by world.Actor, h handle.Handle) error { return o.parts[i].add(by, h, n) },
					func(m *model, e *entity) world.Outcome { return m.exchange(e, 1<<i, 0, alike(n)) })
			case 2:
				return on("remove", h, func(o *objects, by world.Actor, h handle.Handle) error { return o.parts[i].remove(by, h) },
					func(m *model, e *entity) world.Outcome {
						if e != nil && !e.has.has(i) {
							return world.Missing
						}
						return m.exchange(e, 0, 1<<i, values{})
					})
			}
			give, take := d.n(len(bundleParts)), parts(d.n(1<<partsN))
			return on("exchange", h, func(o *objects, by world.Actor, h handle.Handle) error {
				return o.bundles[give].exchange(by, h, n, o.these(take)...)
			}, func(m *model, e *entity) world.Outcome { return m.exchange(e, bundleParts[give], take, alike(n)) })
		},
	}
}

// these lists components.
func (o *objects) these(set parts) (all []world.ComponentSet) {
	for i, p := range o.parts {
		if set.has(i) {
			all = append(all, p.component)
		}
	}
	return all
}

// sets stores components in entities that have them.
func sets() *feature {
	return &feature{
		name: "sets", rate: 800, by: byAny,
		draw: func(d *drawer) *act {
			i, n := d.n(partsN), d.next()
			a := on("set", d.someone(), func(o *objects, by world.Actor, h handle.Handle) error { return o.parts[i].set(by, h, n) },
				func(m *model, e *entity) world.Outcome { return m.set(e, 1<<i, alike(n)) })
			a.own = true
			return a
		},
	}
}
