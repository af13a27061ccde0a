package pairs_test

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// move moves entities to any shard, in each tick most of them to the same: its tables
// outgrow their chunks then.
func move() *feature {
	return &feature{
		name: "move", rate: 900, by: byAny,
		draw: func(d *drawer) *act {
			to := d.rush
			if d.n(3) == 0 {
				to = d.n(d.shards)
			}
			a := on("move", d.someone(),
				func(_ *objects, by world.Actor, h handle.Handle) error { return world.Move(by, h, to) },
				func(m *model, e *entity) world.Outcome { return m.move(e, to) })
			a.moves = true
			return a
		},
	}
}

// move moves an entity when all else is done, or at once by an idle world.
func (m *model) move(e *entity, to int) world.Outcome {
	switch {
	case e == nil:
		return world.Gone
	case m.atOnce:
		e.shard, e.misrouted = to, true
	default:
		e.to = to
	}
	return world.Applied
}
