package idle_test

import (
	"errors"
	"math/rand/v2"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// Deal is the argument of the transaction: a script that a seed draws, over two entities and what it
// creates.
type Deal struct {
	A, B handle.Handle
	Seed uint64
	Ends uint8
}

// How a deal ends: any other well.
const (
	fails = iota
	panics
)

var errNoDeal = errors.New("no deal")

// deals is a transaction that does a few things. What its calls return is a part of what it returns.
func (h *house) deals(tx *world.Tx, d Deal) (sum uint64, err error) {
	dice := rand.New(rand.NewPCG(d.Seed, 1))
	who := []handle.Handle{d.A, d.B}
	note := func(err error) {
		if sum *= 3; err != nil {
			sum++
		}
	}
	for range 1 + dice.IntN(5) {
		a, b := who[dice.IntN(len(who))], who[dice.IntN(len(who))]
		switch dice.IntN(16) {
		case 0, 1:
			from, to := h.hulls.Edit(tx, a), h.hulls.Edit(tx, b)
			if from != nil && to != nil {
				from.Points--
				to.Points++
			}
		case 2:
			if x := h.bags.Edit(tx, a); x != nil && x.Items != nil {
				x.Items["rope"]++ // a copy: the bag has a CloneBy
			}
		case 3:
			made, err := h.boats.Create(tx, Boat{Hull: Hull{int32(dice.IntN(9))}})
			if note(err); err == nil {
				who = append(who, made)
			}
		case 4:
			note(tx.Destroy(a))
		case 5:
			note(h.tags.Add(tx, a, Anchored{}))
		case 6:
			note(h.bags.Remove(tx, a))
		case 7:
			note(world.Move(tx, a, dice.IntN(h.Shards())))
		case 8:
			note(world.AddFlags(tx, a, flagsAll))
		case 9:
			note(h.hits.Send(tx, a, Hit{1}))
		case 10:
			*h.era.Edit(tx) += Era(dice.IntN(2))
		case 11:
			note(h.labels.Bind(tx, a, string(rune('a'+dice.IntN(26)))))
		case 12:
			note(h.crews.Move(tx, a, b))
			note(h.holds.Put(tx, a, b, hierarchy.Free))
		case 13:
			_, err := h.fuses.After(tx, a, 1+dice.IntN(5), Hit{4})
			note(err)
		case 14:
			made, err := h.camp.Append(nil, tx)
			note(err)
			who = append(who, made...)
		case 15:
			sum += tx.Rand().Uint64()
		}
	}
	switch d.Ends {
	case fails:
		return sum, errNoDeal
	case panics:
		panic(errNoDeal)
	}
	return sum, nil
}
