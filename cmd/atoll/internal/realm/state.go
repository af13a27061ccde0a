package realm

import (
	"encoding/binary"
	"errors"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// AppendState appends the islands' state outside of the world that decides
// what their systems do, for a hash of the state. No tick may be running.
func (r *Realm) AppendState(dst []byte) []byte {
	for i := range r.islands {
		isle := &r.islands[i]
		dst, _ = isle.chance.AppendBinary(dst) // which never fails
		dst, _ = binary.Append(dst, binary.LittleEndian, &isle.ledger)
	}
	return dst
}

// chanceBytes is what rand.PCG appends.
const chanceBytes = 20

var errState = errors.New("realm: that is not the state of so many islands")

// Saved is what a snapshot needs besides the realm's world: what AppendState appends, and the
// sample of dead handles.
func (r *Realm) Saved() snapshot.Also {
	return snapshot.Also{Name: "islands", Save: r.save, Load: r.load}
}

func (r *Realm) save(dst []byte) []byte {
	dst = r.AppendState(dst)
	for i := range r.islands {
		g := &r.islands[i].graveyard
		dst = binary.LittleEndian.AppendUint64(dst, g.dead)
		for _, h := range g.graves {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(h))
		}
	}
	return dst
}

func (r *Realm) load(src []byte) error {
	for i := range r.islands {
		isle := &r.islands[i]
		size := chanceBytes + binary.Size(&isle.ledger)
		if len(src) < size || isle.chance.UnmarshalBinary(src[:chanceBytes]) != nil {
			return errState
		}
		_, _ = binary.Decode(src[chanceBytes:size], binary.LittleEndian, &isle.ledger) // it has the size
		src = src[size:]
	}
	for i := range r.islands {
		g := &r.islands[i].graveyard
		if len(src) < 8 {
			return errState
		}
		g.dead, src = binary.LittleEndian.Uint64(src), src[8:]
		n := min(g.dead, gravesMax)
		if uint64(len(src)) < 8*n {
			return errState
		}
		g.graves = g.graves[:0]
		for range n {
			g.graves, src = append(g.graves, handle.Handle(binary.LittleEndian.Uint64(src))), src[8:]
		}
	}
	if len(src) > 0 {
		return errState
	}
	return nil
}

// denOf returns the den of an island, the one entity of it that every other island knows: Fill
// creates it first, and it is never destroyed.
func denOf(island int) handle.Handle { return handle.New(uint32(island), 0, 1) }

// Avatars returns the avatars. No tick may be running.
func (r *Realm) Avatars() (all []handle.Handle) {
	for h := range r.World.Query(world.With[Avatar](r.World)).Entities() {
		all = append(all, h)
	}
	return all
}
