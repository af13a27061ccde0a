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
				return add(h, i, n)
			case 2:
				return remove(h, i)
			}
			return exchange(h, d.n(len(bundleParts)), parts(d.n(1<<partsN)), n)
		},
	}
}

// add is the act of adding a component.
func add(h handle.Handle, i int, n int64) *act {
	return on("add", h, func(o *objects, by world.Actor, h handle.Handle) error { return o.parts[i].add(by, h, n) },
		func(m *model, e *entity) world.Outcome { return m.exchange(e, 1<<i, 0, alike(n)) })
}

// remove is the act of removing a component.
func remove(h handle.Handle, i int) *act {
	return on("remove", h, func(o *objects, by world.Actor, h handle.Handle) error { return o.parts[i].remove(by, h) },
		func(m *model, e *entity) world.Outcome {
			if e != nil && !e.has.has(i) {
				return world.Missing
			}
			return m.exchange(e, 0, 1<<i, values{})
		})
}

// exchange is the act of adding a bundle and removing components.
func exchange(h handle.Handle, give int, take parts, n int64) *act {
	return on("exchange", h, func(o *objects, by world.Actor, h handle.Handle) error {
		return o.bundles[give].exchange(by, h, n, o.these(take)...)
	}, func(m *model, e *entity) world.Outcome { return m.exchange(e, bundleParts[give], take, alike(n)) })
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
			return set(d.someone(), i, n)
		},
	}
}

// set is the act of setting a component.
func set(h handle.Handle, i int, n int64) *act {
	a := on("set", h, func(o *objects, by world.Actor, h handle.Handle) error { return o.parts[i].set(by, h, n) },
		func(m *model, e *entity) world.Outcome { return m.set(e, 1<<i, alike(n)) })
	a.own = true
	return a
}
