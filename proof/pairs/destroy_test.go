package pairs_test

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// destroy destroys entities, by everybody: at random, and in runs of neighbouring rows.
func destroy() *feature {
	return &feature{
		name: "destroy", rate: 700, by: byAny,
		between: func(s *scene) {
			if s.crowd < population/2 || s.n(3) > 0 {
				return
			}
			var run []handle.Handle
			at := s.n(s.Count() + 1)
			for ch := range s.Query().Chunks() {
				if at < ch.Len() {
					run = slices.Clone(ch.Handles()[at:min(ch.Len(), at+2+s.n(200))])
					break
				}
				at -= ch.Len()
			}
			for _, h := range run {
				s.byIdle(kill(h))
			}
		},
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
