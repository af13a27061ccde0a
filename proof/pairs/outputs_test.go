package pairs_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// spoken is what was handled since the last refresh.
type spoken struct {
	at []world.Moment
	v  []note
}

// outputs has systems, hooks and transactions put values. They are handled after each refresh, in one
// order; what a transaction that failed has put is not, and a replay handles none.
func outputs() *feature {
	of := func(o *objects) *world.Transaction[deal, int64] {
		return o.made["say"].(*world.Transaction[deal, int64])
	}
	return &feature{
		name: "outputs", rate: 100, by: byAny &^ byGlobal,
		prepare: func(o *objects) {
			x := new(spoken)
			said, seen := world.RegisterOutput[note](o.World, "said"), world.RegisterOutput[note](o.World, "seen")
			told := func(at world.Moment, v note) { x.at, x.v = append(x.at, at), append(x.v, v) }
			said.Handle(told)
			seen.Handle(told)
			o.made["spoken"] = x
			o.ticks.MustAdd("say", func(b *world.Build) func(*world.Context) {
				all := b.Query()
				return func(c *world.Context) {
					for h := range all.Limit(5 + c.Shard()).Entities() {
						mustPut(said.Put(c, note{"a system", h, int64(c.Shard())}))
					}
				}
			})
			o.Observe("say", world.OnCreate|world.OnDestroy, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
				return func(c *world.Context, on world.Event, hs []handle.Handle) {
					for _, h := range hs {
						mustPut(seen.Put(c, note{"a hook", h, int64(on)}))
					}
				}
			})
			o.made["say"] = world.RegisterTransaction(o.World, "say", func(tx *world.Tx, d deal) (int64, error) {
				mustPut(said.Put(tx, note{"a transaction", d.H, d.N}))
				mustPut(seen.Put(tx, note{"a transaction", d.H, d.N}))
				switch {
				case tx.Status(d.H) != world.Alive:
					return 0, world.ErrStale
				case d.N%3 == 0:
					return 0, errRefused
				}
				return d.N, nil
			})
		},
		draw: func(d *drawer) *act {
			n := d.next()
			a := on("say", d.someone(), func(o *objects, by world.Actor, h handle.Handle) error {
				if c, ok := by.(*world.Context); ok && !c.Alive(h) { // as for other acts
					return world.ErrStale
				}
				return of(o).Call(by, deal{h, n})
			}, func(_ *model, e *entity) world.Outcome {
				if e == nil || n%3 == 0 {
					return world.Refused
				}
				return world.Applied
			})
			a.joint, a.moves = true, true
			return a
		},
		check: func(s *scene) {
			x := s.made["spoken"].(*spoken)
			s.must(len(x.at) > 0, "nothing was handled")
			for i, at := range x.at {
				s.must(at == world.Moment{Incarnation: s.Incarnation(), Tick: s.Tick() - 1, N: uint32(i)}, "value %d is of %v", i, at)
				v := x.v[i]
				s.must(v.what != "a transaction" || v.v%3 != 0, "a transaction that failed has put %d", v.v)
				s.see("said by "+v.what, v.h, uint64(v.v))
			}
			x.at, x.v = x.at[:0], x.v[:0]
		},
	}
}

func mustPut(err error) {
	if err != nil {
		panic(fmt.Sprintf("Put: %v", err))
	}
}
