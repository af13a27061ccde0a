package guide_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

func Example_interest() {
	w := world.MustNew(world.Options{})
	position, hull := world.Register[Position](w, "position"), world.Register[Hull](w, "hull")
	world.Register[Velocity](w, "velocity")
	ships := world.NewBundle[Ship](w)
	index := near.New(w, func(p Position) near.Point { return near.Point{X: p.X, Y: p.Y} },
		near.Options{Max: near.Point{X: 1000, Y: 1000}, Cell: 50})
	var hs []handle.Handle
	for i := range 3 {
		h, _ := ships.Create(w, Ship{Position: Position{float64(10 * i), 0}, Hull: Hull{9}})
		hs = append(hs, h)
	}

	clients := interest.New(w, index, interest.Options{Hide: cloaks},
		interest.Encode(appendPosition), interest.Encode(appendHull))
	view, err := w.NewView(index, position, hull)
	if err != nil {
		fmt.Println(err)
	}
	anna := clients.Open(interest.ClientOptions{Entity: hs[0], Radius: 50, Margin: 5, User: "anna"})
	step := func() {
		if err := update(view, clients); err != nil {
			fmt.Println(err)
		}
	}
	step()
	_ = hull.Set(w, hs[1], Hull{8})
	_ = world.AddFlags(w, hs[2], cloaked)
	w.Refresh()
	step()
	anna.Close()
	// Output:
	// anna: 0 comes, columns 11, 9 bytes
	// anna: 1 comes, columns 11, 9 bytes
	// anna: 2 comes, columns 11, 9 bytes
	// anna: 2 goes, gone false
	// anna: 1 changes, columns 10, 1 bytes
}

func Example_interestRun() {
	w := world.MustNew(world.Options{})
	position, hull := world.Register[Position](w, "position"), world.Register[Hull](w, "hull")
	index := near.New(w, func(p Position) near.Point { return near.Point{X: p.X, Y: p.Y} },
		near.Options{Max: near.Point{X: 1000, Y: 1000}, Cell: 50})
	clients := interest.New(w, index, interest.Options{}, interest.Encode(appendPosition), interest.Encode(appendHull))
	view, _ := w.NewView(index, position, hull)
	h, _ := world.NewBundle[struct {
		Position
		Hull
	}](w).Create(w, struct {
		Position
		Hull
	}{Position{10, 0}, Hull{9}})
	read, written := net.Pipe()
	connect(clients, h, written)

	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = scheduler.New(w, scheduler.Options{}).Run(ctx) })
	all.Go(func() {
		if err := tell(ctx, view, clients); err != nil {
			fmt.Println(err)
		}
	})
	packet := make([]byte, 100)
	n, _ := read.Read(packet)
	fmt.Println(packet[:n])
	cancel()
	all.Wait()
	// Output:
	// [1 0 1 6 1 0 0 0 0 0 0 0 232 3 0 0 0 0 0 0 9]
}

func connect(clients *interest.Clients, ship handle.Handle, conn io.Writer) *interest.Client {
	return clients.Open(interest.ClientOptions{Entity: ship, Radius: 50, Write: func(packet []byte) {
		_, _ = conn.Write(packet)
	}})
}

func tell(ctx context.Context, view *world.View, clients *interest.Clients) error {
	return clients.Run(ctx, view, 0, 2, nil)
}

func appendPosition(dst []byte, p *Position) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(p.X*100))
	return binary.LittleEndian.AppendUint32(dst, uint32(p.Y*100))
}

func appendHull(dst []byte, h *Hull) []byte { return binary.AppendUvarint(dst, uint64(h.Points)) }

func update(view *world.View, clients *interest.Clients) error {
	frame, err := view.Now() // View.Capture, while the world ticks
	if err != nil {
		return err
	}
	defer frame.Release()
	clients.Update(frame, 2, send)
	return nil
}

func send(c *interest.Client, p *interest.Packet) {
	for _, l := range p.Leaves {
		fmt.Printf("%v: %d goes, gone %v\n", c.User(), l.Slot, l.Gone)
	}
	for _, r := range p.Rows {
		does := "changes"
		if r.Enter {
			does = "comes"
		}
		fmt.Printf("%v: %d %s, columns %b, %d bytes\n", c.User(), r.Slot, does, r.Columns, len(r.Bytes))
	}
}

const cloaked = world.Flags(1)

// cloaks hides ships with a cloak from all but themselves.
func cloaks(f *world.Frame) func(*interest.Client, handle.Handle) bool {
	return func(c *interest.Client, h handle.Handle) bool {
		return f.Flags(h)&cloaked != 0 && c.Options().Entity != h
	}
}
