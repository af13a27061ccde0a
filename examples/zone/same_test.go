package main

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
	"github.com/atoll-sim/atoll/worldtest"
)

// TestSame plays a zone again, on several workers and after restarts. Players come, fight and go; no
// database answers.
func TestSame(t *testing.T) {
	worldtest.Same(t, 300, func(o scheduler.Options) worldtest.Game {
		z, err := newZone(o)
		if err != nil {
			t.Fatal(err)
		}
		var players []handle.Handle
		return worldtest.Game{Scheduler: z.systems, Options: durable.Options{New: z.populate}, Script: func(tick uint64, port *world.Port) {
			if tick%5 == 0 {
				name := strconv.FormatUint(tick, 10)
				me, err := z.kinds["player"].Create(port, prefab.With(z.player, Player{Name: name}))
				if err != nil {
					t.Fatal(err)
				}
				_ = z.login.Call(port, me, name)
				players = append(players, me)
			}
			me := players[rand.IntN(len(players))]
			_ = z.goal.Set(port, me, Goal{rand.Float64() * side, rand.Float64() * side, true})
			if tick%20 == 19 {
				_ = port.Destroy(me)
			}
		}}
	})
}
