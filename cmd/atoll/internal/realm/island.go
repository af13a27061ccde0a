package realm

import (
	"math/rand/v2"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// island is what the systems of one shard share.
//
// Ownership: the worker that runs the shard, whose systems run one after
// another. It is read between ticks.
type island struct {
	share     int // creatures that should live here, without those that moved in and out
	corner    Position
	chance    rand.PCG // the source of dice
	dice      *rand.Rand
	ledger    Ledger
	graveyard graveyard
	people    grid // creatures and avatars
	litter    grid // items on the ground

	lying []entry  // what litter is made of
	looks []look   // requests for this tick's sight
	_     [64]byte // other islands are written by other workers
}

// look is a question about an entity anywhere.
type look struct {
	target handle.Handle
	client uint32
	seq    uint32
}

func (i *island) init(number int, corner Position, share int, seed uint64) {
	i.share, i.corner = share, corner
	i.chance.Seed(seed, uint64(number))
	i.dice = rand.New(&i.chance)
	i.graveyard = newGraveyard(seed, uint64(number))
	i.people, i.litter = newGrid(corner, share+share/4), newGrid(corner, share)
}

// created and destroyed record in the island's books what its systems did.
func (i *island) created(k Kind) { i.ledger.Created[k]++ }

func (i *island) destroyed(k Kind, h handle.Handle) {
	i.ledger.Destroyed[k]++
	i.graveyard.add(h)
}

// sent counts a message or an entity that met a limit. A dead receiver
// is no loss: it would not have got the message anyway.
func (i *island) sent(err error) bool {
	if err != nil && err != world.ErrStale {
		i.ledger.Dropped++
	}
	return err == nil
}

// place returns a random position on the island.
func (i *island) place() Position {
	return Position{i.corner.X + i.dice.Float32()*Side, i.corner.Y + i.dice.Float32()*Side}
}

// heading returns a random velocity of a creature.
func (i *island) heading() Velocity {
	return Velocity{(i.dice.Float32()*2 - 1) * creatureSpeed, (i.dice.Float32()*2 - 1) * creatureSpeed}
}

// must panics if an entity of the own shard that is known to be alive cannot be
// destroyed, which would be a bug in the world.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
