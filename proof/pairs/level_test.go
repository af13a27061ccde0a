package pairs_test

import (
	"math/rand/v2"

	"github.com/atoll-sim/atoll/scheduler"
)

// level has a Balancer move hundreds of entities in each tick.
func level() *feature { return &feature{name: "level"} }

// whim is a Balancer that decides by a seed and the tick.
type whim uint64

func (w whim) Balance(tick uint64, loads []scheduler.ShardCost, dst []scheduler.Shift) []scheduler.Shift {
	return w.shifts(tick, len(loads), dst)
}

func (w whim) shifts(tick uint64, shards int, dst []scheduler.Shift) []scheduler.Shift {
	dice := rand.New(rand.NewPCG(uint64(w), tick))
	for range 1 + dice.IntN(3) {
		from := dice.IntN(shards)
		dst = append(dst, scheduler.Shift{From: from, To: (from + 1 + dice.IntN(shards-1)) % shards, Entities: 100 + dice.IntN(500)})
	}
	return dst
}
