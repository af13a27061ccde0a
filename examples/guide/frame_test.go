package guide_test

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/world"
)

func Example_frames() {
	w := world.MustNew(world.Options{})
	position, hull := world.Register[Position](w, "position"), world.Register[Hull](w, "hull")
	world.Register[Velocity](w, "velocity")
	ships := world.NewBundle[Ship](w)
	h, _ := ships.Create(w, Ship{Position: Position{3, 4}, Hull: Hull{9}})
	called := names.New[string](w, "ships", names.Options{})
	_ = called.Bind(w, h, "Nostromo")

	view, err := w.NewView(position, hull, called)
	if err != nil {
		fmt.Println(err)
	}
	seen := make(chan bool)
	go func() {
		if err := look(context.Background(), view, hull, called, seen); err != nil {
			fmt.Println(err)
		}
		close(seen)
	}()
	for done := false; !done; {
		w.Refresh()
		select {
		case _, more := <-seen:
			if done = !more; more {
				_, _ = ships.Create(w, Ship{})
				_ = hull.Set(w, h, Hull{8})
				w.Refresh()
				seen <- true
			}
		default:
		}
	}
	// Output:
	// ship at {3 4} with 9
	// true {3 4}
	// 1 created 0 destroyed 1 hulls changed
}

func look(ctx context.Context, view *world.View, hull *world.Component[Hull], called *names.Names[string], seen chan bool) error {
	frame, err := view.Capture(ctx) // on any goroutine
	if err != nil {
		return err
	}
	defer frame.Release()
	pos, hulls := world.Read[Position](frame), world.Read[Hull](frame)
	for ch := range frame.Query(pos, hulls).Chunks() {
		for i, p := range pos.Slice(ch) {
			fmt.Println("ship at", p, "with", hulls.Slice(ch)[i].Points)
		}
	}
	h, ok := called.Read(frame).Lookup("Nostromo")
	fmt.Println(ok, *pos.Get(h))
	seen <- true
	<-seen

	after, err := view.Capture(ctx)
	if err != nil {
		return err
	}
	defer after.Release()
	d := after.Diff(frame)
	fmt.Println(len(d.Created), "created", len(d.Destroyed), "destroyed", len(d.Changed(hull)), "hulls changed")
	return nil
}
