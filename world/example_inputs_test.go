package world_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
	"github.com/atoll-sim/atoll/world"
)

// echo is a Listener that keeps what it hears of one tick, and feeds it to a world.
type echo struct {
	kinds    shard.Kinds
	requests []echoed
	in       world.Inputs
}

type echoed struct {
	kind  int
	flags shard.How
	on    handle.Handle
	bytes string
}

func (e *echo) Begin() { e.requests = e.requests[:0] }

func (e *echo) Request(_, _ int, r shard.Routed) {
	v := e.kinds.Payload(r)
	e.requests = append(e.requests, echoed{r.Kind(), r.Flags(), r.Handle, string(v.PartBytes(0, v.Type.Size()))})
}

func (e *echo) End(in *world.Inputs) { e.in = *in }

func (e *echo) feed(w *world.World) error {
	f, err := w.Feed()
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Deal(e.in.Drawn, e.in.Dealt); err != nil {
		return err
	}
	if err := f.Shift(e.in.Shifts); err != nil {
		return err
	}
	for _, h := range e.in.Recalled {
		if err := f.Recall(h); err != nil {
			return err
		}
	}
	for _, r := range e.requests {
		v, err := f.Request(r.kind, r.flags, r.on)
		if err != nil {
			return err
		}
		copy(v.PartBytes(0, v.Type.Size()), r.bytes)
	}
	for _, h := range e.in.Released {
		f.Release(h)
	}
	f.Publish()
	w.Refresh()
	return nil
}

// What a port asks of one world is asked of another one again. Package inputlog does
// this, for all types and to a file.
func ExampleListener() {
	type coin struct{ Worth int32 }
	type purse struct{ coin }
	newWorld := func() (*world.World, *world.Bundle[purse], *world.Component[coin]) {
		w := world.MustNew(world.Options{})
		c := world.Register[coin](w, "coin")
		return w, world.NewBundle[purse](w), c
	}
	first, purses, _ := newWorld()
	e := &echo{kinds: first.Survey().Kinds()}
	first.Listen(e)
	port, _ := first.OpenPort()
	h, _ := purses.Create(port, purse{coin{5}})
	first.Refresh()
	first.Listen(nil)

	second, _, coins := newWorld()
	fmt.Println(e.feed(second))
	fmt.Println(second.Alive(h), world.Read[coin](second).Get(h).Worth, coins.Name())

	held := 0
	second.Survey().Requests(world.Everywhere, func(shard.Routed) { held++ })
	fmt.Println(held)
	// Output:
	// <nil>
	// true 5 coin
	// 0
}

// While a world is fed there are no ports.
func ExampleFeed() {
	w := world.MustNew(world.Options{})
	f, _ := w.Feed()
	_, err := w.OpenPort()
	fmt.Println(err)
	f.Close()
	_, err = w.OpenPort()
	fmt.Println(err)
	// Output:
	// world: ports and a Feed at the same time: a log is replayed; open ports when it is over
	// <nil>
}

// Inputs has what a refresh was given beside requests.
func ExampleInputs() {
	w := world.MustNew(world.Options{})
	e := &echo{kinds: w.Survey().Kinds()}
	w.Listen(e)
	port, _ := w.OpenPort()
	_, _ = port.Reserve(2)
	w.Refresh()
	fmt.Println(e.in.Tick, e.in.Drawn, len(e.in.Recalled))
	// Output:
	// 0 8 0
}
