package interest_test

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/interest"
	"github.com/atoll-sim/atoll/near"
	"github.com/atoll-sim/atoll/world"
)

type (
	// Place is where somebody is, on a map.
	Place struct{ X, Y float64 }
	// Health is how well somebody is.
	Health struct{ Points int32 }
	player struct {
		Place
		Health
	}
)

func (p Place) point() near.Point { return near.Point{X: p.X, Y: p.Y} }

// appendPlace is what clients get of a Place.
func appendPlace(dst []byte, p *Place) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(p.X)))
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(p.Y)))
}

func appendHealth(dst []byte, h *Health) []byte { return binary.AppendVarint(dst, int64(h.Points)) }

// island is a world with three players, of whom the first two are near each other.
type island struct {
	*world.World
	players []handle.Handle
	set     *interest.Set
	view    *world.View
	index   *near.Index
}

func newIsland(o interest.Options) *island {
	x := newIslandOf(100, o)
	players := world.NewBundle[player](x.World)
	for i, p := range []Place{{10, 10}, {13, 14}, {50, 10}} {
		h, err := players.Create(x.World, player{p, Health{int32(i + 1)}})
		if err != nil {
			panic(err)
		}
		x.players = append(x.players, h)
	}
	return x
}

// newIslandOf is an island of that size with nobody on it.
func newIslandOf(side float64, o interest.Options) *island {
	w := world.MustNew(world.Options{Shards: 2})
	place, health := world.Register[Place](w, "place"), world.Register[Health](w, "health")
	index := near.New(w, Place.point, near.Options{Max: near.Point{X: side, Y: side}, Cell: 5})
	x := &island{World: w, index: index}
	x.set = interest.New(w, index, o, interest.Encode(appendPlace), interest.Encode(appendHealth))
	var err error
	if x.view, err = w.NewView(index, place, health); err != nil {
		panic(err)
	}
	return x
}

// update tells views what they see now.
func (x *island) update(sink func(v *interest.View, p *interest.Packet)) {
	frame, err := x.view.Now()
	if err != nil {
		panic(err)
	}
	defer frame.Release()
	x.set.Update(frame, 1, sink)
}

// show says what a client is told.
func show(v *interest.View, p *interest.Packet) {
	for _, l := range p.Leaves {
		fmt.Println(v.Client(), "leave", l.Slot, "gone", l.Gone)
	}
	for _, r := range p.Rows {
		fmt.Printf("%v slot %d enter %v columns %b: %d bytes\n", v.Client(), r.Slot, r.Enter, r.Columns, len(r.Bytes))
	}
}

// A client is told who comes, what changes, and who goes.
func Example() {
	x := newIsland(interest.Options{})
	anna := x.set.Open(interest.Viewer{Entity: x.players[0], Radius: 20, Client: "anna"})
	x.update(show)
	world.Write[Place](x.World).Get(x.players[1]).X = 12
	x.update(show)
	x.Destroy(x.players[1])
	x.Refresh()
	x.update(show)
	anna.Close()
	// Output:
	// anna slot 0 enter true columns 11: 9 bytes
	// anna slot 1 enter true columns 11: 9 bytes
	// anna slot 1 enter false columns 1: 8 bytes
	// anna leave 1 gone true
}
