package realm

import (
	"math/rand/v2"

	"github.com/atoll-sim/atoll/handle"
)

// gravesMax is how many dead handles an island keeps.
const gravesMax = 1024

// graveyard is a random sample of the handles of all that died on an island.
// All are equally likely to be in it.
//
// Ownership: the island's.
type graveyard struct {
	graves []handle.Handle
	dead   uint64 // how many there were
	dice   *rand.Rand
}

func newGraveyard(seed, island uint64) graveyard {
	return graveyard{graves: make([]handle.Handle, 0, gravesMax), dice: rand.New(rand.NewPCG(seed, ^island))}
}

// add adds a handle whose entity is destroyed by this tick's refresh.
func (g *graveyard) add(h handle.Handle) {
	g.dead++
	if len(g.graves) < gravesMax {
		g.graves = append(g.graves, h)
		return
	}
	if i := g.dice.Uint64N(g.dead); i < gravesMax {
		g.graves[i] = h
	}
}

// AppendDead appends the sample of dead handles to dst: up to most of each
// island, beginning anywhere. No tick may be running.
func (r *Realm) AppendDead(dst []handle.Handle, most int) []handle.Handle {
	for i := range r.islands {
		g := &r.islands[i].graveyard
		n := len(g.graves)
		if n <= most {
			dst = append(dst, g.graves...)
			continue
		}
		for k, at := 0, int(r.inspector.Uint64N(uint64(n))); k < most; k++ {
			dst = append(dst, g.graves[(at+k)%n])
		}
	}
	return dst
}

// GravesMax returns how many dead handles the realm keeps at most.
func (r *Realm) GravesMax() int { return gravesMax * len(r.islands) }
