package interest_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"golang.org/x/sync/errgroup"

	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
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
	set     *interest.Clients
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
	index := near.New(w, Place.point, near.Options{Max: near.Point{X: side, Y: side}, Cell: 10})
	x := &island{World: w, index: index}
	x.set = interest.New(w, index, o, interest.Encode(appendPlace), interest.Encode(appendHealth))
	var err error
	if x.view, err = w.NewView(index, place, health); err != nil {
		panic(err)
	}
	return x
}

// update tells clients what they see now.
func (x *island) update(sink func(v *interest.Client, p *interest.Packet)) {
	frame, err := x.view.Now()
	if err != nil {
		panic(err)
	}
	defer frame.Release()
	x.set.Update(frame, 1, sink)
}

// show says what a client is told.
func show(v *interest.Client, p *interest.Packet) {
	for _, l := range p.Leaves {
		fmt.Println(v.User(), "leave", l.Slot, "gone", l.Gone)
	}
	for _, r := range p.Rows {
		fmt.Printf("%v slot %d enter %v columns %b: %d bytes\n", v.User(), r.Slot, r.Enter, r.Columns, len(r.Bytes))
	}
}

// A client is told who comes, what changes, and who goes.
func Example() {
	x := newIsland(interest.Options{})
	anna := x.set.Open(interest.ClientOptions{Entity: x.players[0], Radius: 20, User: "anna"})
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

// What is encoded alike is no change: here lengths are rounded.
func ExampleEncode() {
	w := world.MustNew(world.Options{})
	place := world.Register[Place](w, "place")
	index := near.New(w, Place.point, near.Options{Max: near.Point{X: 100, Y: 100}, Cell: 10})
	set := interest.New(w, index, interest.Options{}, interest.Encode(func(dst []byte, p *Place) []byte {
		return append(dst, byte(p.X), byte(p.Y))
	}))
	view, _ := w.NewView(index, place)
	h, _ := world.NewBundle[struct{ Place }](w).Create(w, struct{ Place }{Place{3, 4}})
	set.Open(interest.ClientOptions{Entity: h, Radius: 10})
	for _, x := range []float64{3, 3.5, 4} {
		world.Write[Place](w).Get(h).X = x
		frame, _ := view.Now()
		set.Update(frame, 1, func(_ *interest.Client, p *interest.Packet) { fmt.Println(x, p.Rows[0].Bytes) })
		frame.Release()
	}
	// Output:
	// 3 [3 4]
	// 4 [4 4]
}

// Who has a cloak is hidden from others.
func ExampleNew() {
	const cloaked = world.Flags(1)
	x := newIsland(interest.Options{
		Hide: func(f *world.Frame) func(*interest.Client, handle.Handle) bool {
			return func(v *interest.Client, h handle.Handle) bool {
				return f.Flags(h)&cloaked != 0 && v.Options().Entity != h
			}
		},
	})
	x.set.Open(interest.ClientOptions{Entity: x.players[0], Radius: 20, User: "anna"})
	x.set.Open(interest.ClientOptions{Entity: x.players[1], Radius: 20, User: "bob"})
	x.update(func(*interest.Client, *interest.Packet) {})
	_ = world.AddFlags(x.World, x.players[1], cloaked)
	x.Refresh()
	x.update(show)
	// Output:
	// anna leave 1 gone false
}

// A budget has some wait, and the nearest come first.
func ExampleClients() {
	x := newIsland(interest.Options{})
	x.set.Open(interest.ClientOptions{Entity: x.players[0], Radius: 100, Bytes: 30, User: "anna"})
	for range 2 {
		x.update(func(v *interest.Client, p *interest.Packet) {
			show(v, p)
			fmt.Println(p.Waiting, "wait")
		})
	}
	// Output:
	// anna slot 0 enter true columns 11: 9 bytes
	// anna slot 1 enter true columns 11: 9 bytes
	// 1 wait
	// anna slot 2 enter true columns 11: 9 bytes
	// 0 wait
}

// A client reads what AppendTo has written: here who comes, with 2 columns of 8 and 1 bytes.
func ExamplePacket_AppendTo() {
	x := newIsland(interest.Options{})
	x.set.Open(interest.ClientOptions{Entity: x.players[2], Radius: 20})
	var wire []byte
	x.update(func(_ *interest.Client, p *interest.Packet) { wire = p.AppendTo(nil) })

	number := func() uint64 {
		n, size := binary.Uvarint(wire)
		wire = wire[size:]
		return n
	}
	fmt.Println("packet", number(), "leaves", number())
	slot, columns := number(), number()
	fmt.Println("slot", slot/2, "enter", slot%2, "columns", columns/2, "removed", columns%2)
	fmt.Println("handle", handle.Handle(binary.LittleEndian.Uint64(wire)), "values", len(wire[8:]))
	// Output:
	// packet 1 leaves 0
	// slot 0 enter 1 columns 3 removed 0
	// handle 0:2@1 values 9
}

// Run takes frames while the world ticks, and tells clients beside the ticks.
func ExampleClients_Run() {
	x := newIsland(interest.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	x.set.Open(interest.ClientOptions{Entity: x.players[0], Radius: 20, Write: func(packet []byte) {
		fmt.Println(len(packet), "bytes") // or conn.Write(packet)
		cancel()
	}})
	var all errgroup.Group
	all.Go(func() error { return scheduler.New(x.World, scheduler.Options{}).Run(ctx) })
	all.Go(func() error { return x.set.Run(ctx, x.view, 0, 1, nil) })
	fmt.Println(all.Wait())
	// Output:
	// 40 bytes
	// <nil>
}

// What was in a packet that got lost is told again, as it is by then.
func ExampleClient() {
	x := newIsland(interest.Options{})
	anna := x.set.Open(interest.ClientOptions{Entity: x.players[2], Radius: 20, Unacked: 4, User: "anna"})
	x.update(show)
	anna.Ack(1)
	health := world.Write[Health](x.World)
	health.Get(x.players[2]).Points = 200
	x.update(show)
	x.update(show) // nothing is new
	anna.Lost(2)
	x.update(show)
	anna.Ack(3)
	anna.Change(interest.ClientOptions{Entity: x.players[2], Radius: 1000})
	x.update(show)
	// Output:
	// anna slot 0 enter true columns 11: 9 bytes
	// anna slot 0 enter false columns 10: 2 bytes
	// anna slot 0 enter false columns 10: 2 bytes
	// anna slot 1 enter true columns 11: 9 bytes
	// anna slot 2 enter true columns 11: 9 bytes
}
