package pairs_test

import (
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// Tock is what timers deliver.
type Tock struct{ N int64 }

// timed is a timer that the model has seen set.
type timed struct {
	h   handle.Handle
	due uint64
}

// timers sets timers. Each is due at its tick, once, wherever its entity is then, unless that is
// dead; what is due in what order is compared between worlds.
func timers() *feature {
	const most = 6
	return &feature{
		name: "timers", rate: 300, by: byAny,
		prepare: func(o *objects) {
			o.made["timers"] = timer.New(o.World, "tocks", world.RegisterMessage[Tock](o.World, "tock"), timer.Options{})
			hear(o, "tock", "timer", func(m Tock) int64 { return m.N })
		},
		draw: func(d *drawer) *act {
			n, ticks := d.next(), 1+d.n(most)
			due := d.now + uint64(ticks)
			a := on("timer", d.someone(), func(o *objects, by world.Actor, h handle.Handle) error {
				_, err := o.made["timers"].(*timer.Timers[Tock]).After(by, h, ticks, Tock{n})
				return err
			}, func(m *model, e *entity) world.Outcome {
				if e == nil {
					return world.Gone
				}
				m.timed[n] = timed{e.h, max(due, m.tick+1)} // what is sent during a refresh comes one later
				return world.Applied
			})
			a.own, a.away = true, true
			return a
		},
		check: func(s *scene) {
			tick, set := s.Tick()-1, s.model.timed // the tick that was made
			for _, notes := range s.notes {
				for _, n := range notes {
					s.must(n.what != "timer in another shard", "timer %d of %v is in another shard", n.v, n.h)
					if n.what == "timer" && !s.model.travel.loose[n.v] {
						x, ok := set[n.v]
						s.must(ok && x == timed{n.h, tick}, "timer %d of %v in tick %d, by the model of %v in %d (%v)", n.v, n.h, tick, x.h, x.due, ok)
						delete(set, n.v)
					}
				}
			}
			for n, x := range set {
				if x.due <= tick && s.model.travel.loose[n] {
					delete(set, n)
				} else if x.due <= tick {
					e := s.model.alive(x.h)
					s.must(e == nil, "timer %d of %v, which lives, was due in tick %d, and is not in %d", n, x.h, x.due, tick)
					delete(set, n)
				}
			}
			lives := 0
			for n, x := range set {
				if x.due > s.Tick() && s.model.alive(x.h) != nil && !s.model.travel.loose[n] { // or it is delivered already
					lives++
				}
			}
			all := s.made["timers"].(*timer.Timers[Tock]).Len()
			s.must(lives <= all, "%d timers are of the living, and %d are set", lives, all)
		},
	}
}
