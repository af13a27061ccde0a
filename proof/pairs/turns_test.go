package pairs_test

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// Nudge is a message that wakes.
type Nudge struct{}

const (
	inTurns              = 4
	asleep   world.Flags = 1 << 7
	inTurn               = "in turn"
	notAwake             = "in turn and asleep"
)

// turns puts entities to sleep and wakes them by messages, while a query meets those who are awake
// in turns.
func turns() *feature {
	return &feature{
		name: "turns", rate: 600, by: byAny,
		prepare: func(o *objects) {
			nudges := world.RegisterMessage[Nudge](o.World, "nudge")
			nudges.Wakes(asleep)
			o.made["nudges"] = nudges
			o.ticks.MustAdd("turns", func(b *world.Build) func(*world.Context) {
				q := b.Query(world.Turns(b, inTurns), world.WithoutFlags(b, asleep))
				return func(c *world.Context) {
					for h := range q.Entities() {
						if world.FlagsOf(c, h)&asleep != 0 {
							o.note(c, notAwake, h, 0)
						}
						o.note(c, inTurn, h, int64(c.Tick()))
					}
				}
			})
		},
		draw: func(d *drawer) *act {
			if d.coin() {
				return raise(d.someone(), asleep)
			}
			return on("nudge", d.someone(), func(o *objects, by world.Actor, h handle.Handle) error {
				return o.made["nudges"].(*world.Message[Nudge]).Send(by, h, Nudge{})
			}, func(m *model, e *entity) world.Outcome {
				switch {
				case e == nil:
					return world.Gone
				case m.atOnce:
					e.flags &^= asleep
				default:
					m.nudged = append(m.nudged, e)
				}
				return world.Applied
			})
		},
		check: func(s *scene) {
			for _, notes := range s.notes {
				for _, n := range notes {
					s.must(n.what != notAwake, "%v sleeps and has its turn", n.h)
					if n.what == inTurn {
						was, ok := s.model.turns[n.h]
						s.must(!ok || (n.v-was)%inTurns == 0 && n.v > was, "%v has its turn in tick %d and had it in %d", n.h, n.v, was)
						s.model.turns[n.h] = n.v
					}
				}
			}
		},
	}
}

// wake takes the flag from those who were nudged in this refresh, behind all that was requested in
// it, by hooks, too.
func (m *model) wake() {
	for _, e := range m.nudged {
		e.flags &^= asleep
	}
	m.nudged = m.nudged[:0]
}
