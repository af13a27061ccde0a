package guide_test

import (
	"testing"

	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
	"github.com/atoll-sim/atoll/worldtest"
)

func TestSame(t *testing.T) {
	worldtest.Same(t, 300, func(o scheduler.Options) worldtest.Game {
		w, ships := newSea()
		s := scheduler.New(w, o).MustAdd("sail", Sail)
		return worldtest.Game{
			Scheduler: s,
			Options: durable.Options{New: func(w *world.World) error { // as for durable.Open
				return ships.CreateN(w, 100, nil)
			}},
			Script: func(tick uint64, port *world.Port) { // what clients send
				_, _ = ships.Create(port, Ship{Velocity: Velocity{X: float64(tick)}})
			},
		}
	})
}
