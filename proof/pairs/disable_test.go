package pairs_test

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// disable disables and enables entities and components.
func disable() *feature {
	return &feature{
		name: "disable", rate: 800, by: byAny,
		draw: func(d *drawer) *act {
			i, off := d.n(partsN+1)-1, d.n(3) > 0
			a := on("disable or enable", d.someone(), func(o *objects, by world.Holder, h handle.Handle) error {
				return o.toggler(i, off)(by, h)
			}, func(m *model, e *entity) world.Outcome { return m.toggle(e, i, off) })
			a.own = true
			return a
		},
	}
}

// toggler disables or enables a component, or with -1 the entity.
func (o *objects) toggler(i int, off bool) func(world.Holder, handle.Handle) error {
	switch {
	case i < 0 && off:
		return world.Disable
	case i < 0:
		return world.Enable
	case off:
		return o.parts[i].disable
	}
	return o.parts[i].enable
}

func (m *model) toggle(e *entity, i int, off bool) world.Outcome {
	switch {
	case e == nil:
		return world.Gone
	case i < 0:
		e.disabled = off
		return world.Applied
	case !e.has.has(i):
		return world.Missing
	}
	if e.off &^= 1 << i; off {
		e.off |= 1 << i
	}
	return world.Applied
}
