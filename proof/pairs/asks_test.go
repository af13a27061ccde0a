package pairs_test

import (
	"context"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// Row is what nobody loads.
type Row struct{ N int64 }

const askTicks = 2

// asks asks a world without a Pool. Each ask times out at its tick, once, wherever its entity is
// then, unless that is dead. In what order, and with which IDs, is compared between worlds.
func asks() *feature {
	return &feature{
		name: "asks", rate: 300, by: byIdle | bySystem | byOther | byGlobal,
		prepare: func(o *objects) {
			m := world.RegisterMessage[async.Result[Row]](o.World, "row")
			o.made["asks"] = async.New(o.World, "asks", m, func(context.Context, int64) (r Row, _ error) { return r, nil }, async.Options{Ticks: askTicks})
			hear(o, "row", "ask", func(r async.Result[Row]) int64 { return int64(r.ID)<<3 | int64(r.Status) })
		},
		draw: func(d *drawer) *act {
			n, due := d.next(), d.now+askTicks
			a := on("ask", d.someone(), func(o *objects, by world.Actor, h handle.Handle) error {
				_, err := o.made["asks"].(*async.Call[int64, Row]).Go(by, h, n)
				return err
			}, func(m *model, e *entity) world.Outcome {
				if e == nil {
					return world.Gone
				}
				m.asked[timed{e.h, due}]++
				return world.Applied
			})
			a.own, a.away = true, true
			return a
		},
		check: func(s *scene) {
			tick, asked := s.Tick()-1, s.model.asked // the tick that was made
			for _, notes := range s.notes {
				for _, n := range notes {
					s.must(n.what != "ask in another shard", "the result %x of %v is in another shard", n.v, n.h)
					if n.what == "ask" {
						x := timed{n.h, tick}
						s.must(asked[x] > 0, "a result of %v in tick %d, of an ask that has none then", n.h, tick)
						s.must(async.Status(n.v&7) == async.TimedOut, "status %d", n.v&7)
						asked[x]--
					}
				}
			}
			lives := 0
			for x, n := range asked {
				switch e := s.model.alive(x.h); {
				case x.due <= tick:
					s.must(n == 0 || e == nil, "%d asks of %v, which lives, were due in tick %d, and have no result", n, x.h, x.due)
					delete(asked, x)
				case x.due > s.Tick() && e != nil: // or it is delivered already
					lives += n
				}
			}
			all := s.made["asks"].(*async.Call[int64, Row]).Len()
			s.must(lives <= all, "%d asks are of the living, and %d are under way", lives, all)
		},
	}
}
