package pairs_test

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// destroy destroys entities, by everybody.
func destroy() *feature {
	return &feature{
		name: "destroy", rate: 700, by: byAny,
		draw: func(d *drawer) *act {
			if d.crowd < population/2 {
				return nil
			}
			return kill(d.someone())
		},
	}
}

// kill is the act of destroying an entity.
func kill(h handle.Handle) *act {
	a := on("destroy", h, func(_ *objects, by world.Actor, h handle.Handle) error {
		switch by := by.(type) {
		case *world.World:
			if !by.Destroy(h) {
				return world.ErrStale
			}
			return nil
		case *world.EntityContext:
			return by.Destroy(h)
		case *world.Context:
			return by.Destroy(h)
		}
		return by.(*world.Port).Destroy(h)
	}, (*model).destroy)
	a.own, a.again = true, true
	return a
}
