package pairs_test

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// Hit is a message.
type Hit struct{ N int64 }

// messages sends messages. What a system of each shard hears is compared, of each entity
// in the order in which they were sent.
func messages() *feature {
	return &feature{
		name: "messages", rate: 900, by: byAny,
		prepare: func(o *objects) {
			o.made["hit"] = world.RegisterMessage[Hit](o.World, "hit")
			hear(o, "hear", "message", func(m Hit) int64 { return m.N })
		},
		draw: func(d *drawer) *act {
			n := d.next()
			return on("send", d.someone(), func(o *objects, by world.Actor, h handle.Handle) error {
				return o.made["hit"].(*world.Message[Hit]).Send(by, h, Hit{n})
			}, func(m *model, e *entity) world.Outcome { return m.send(e, n) })
		},
		check: func(s *scene) {
			heard := map[handle.Handle][]int64{}
			for _, notes := range s.notes {
				for _, n := range notes {
					s.must(n.what != "message in another shard", "a message to %v is in another shard", n.h)
					if n.what == "message" {
						heard[n.h] = append(heard[n.h], n.v)
					}
				}
			}
			s.must(len(heard) == len(s.model.heard), "%d entities got messages, by the model %d", len(heard), len(s.model.heard))
			for h, want := range s.model.heard {
				got := heard[h]
				if s.plan.has("move") { // messages follow whom an idle world moves, behind newer ones
					got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
				}
				s.must(slices.Equal(got, want), "%v got %d, by the model %d", h, got, want)
			}
		},
	}
}

// hear adds a system that notes the numbers of the messages of a type, and which are in another
// shard than their entity.
func hear[M any](o *objects, system, what string, number func(M) int64) {
	elsewhere := what + " in another shard"
	o.ticks.MustAdd(system, func(b *world.Build) func(*world.Context) {
		in := world.Receive[M](b)
		return func(c *world.Context) {
			for _, e := range in.All() {
				if c.Owns(e.To) != c.Alive(e.To) {
					o.note(c, elsewhere, e.To, number(e.Body))
				}
				o.note(c, what, e.To, number(e.Body))
			}
		}
	})
}
