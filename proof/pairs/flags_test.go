package pairs_test

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// flags gives entities flags and takes them. What is published is compared for all.
func flags() *feature {
	return &feature{
		name: "flags", rate: 900, by: byAny,
		draw: func(d *drawer) *act {
			f, h := world.Flags(d.n(256)), d.someone()
			if d.n(4) > 0 {
				return raise(h, f)
			}
			a := on("unflag", h,
				func(_ *objects, by world.Actor, h handle.Handle) error { return world.RemoveFlags(by, h, f) },
				func(m *model, e *entity) world.Outcome { return m.flag(e, 0, f) })
			a.own = true
			return a
		},
	}
}

func raise(h handle.Handle, f world.Flags) *act {
	a := on("flag", h,
		func(_ *objects, by world.Actor, h handle.Handle) error { return world.AddFlags(by, h, f) },
		func(m *model, e *entity) world.Outcome { return m.flag(e, f, 0) })
	a.own = true
	return a
}

func (m *model) flag(e *entity, set, cleared world.Flags) world.Outcome {
	if e == nil {
		return world.Gone
	}
	e.flags = e.flags&^cleared | set
	return world.Applied
}
