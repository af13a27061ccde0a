package inputlog_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// A port creates two units; a new world is given the same.
func Example() {
	type Units struct {
		w    *world.World
		make *world.Bundle[Plain]
	}
	units := func() Units {
		w := world.MustNew(world.Options{})
		world.Register[Body](w, "body")
		return Units{w, world.NewBundle[Plain](w)}
	}
	var file bytes.Buffer
	first := units()
	recorder, _ := inputlog.NewRecorder(first.w, &file, inputlog.Options{Note: []byte("two units")})
	port, _ := first.w.OpenPort()
	for range 2 {
		_, _ = first.make.Create(port, Plain{})
		first.w.Refresh()
	}
	fmt.Println(recorder.Close())

	log, _ := inputlog.Open(&file)
	fmt.Printf("%s\n", log.Note())
	second := units()
	player, _ := log.Play(second.w, nil)
	for player.Next() {
		second.w.Refresh()
	}
	fmt.Println(second.w.Count(), player.Err())
	// Output:
	// <nil>
	// two units
	// 2 <nil>
}

func ExamplePlayer_Make() {
	w := world.MustNew(world.Options{})
	var file bytes.Buffer
	recorder, _ := inputlog.NewRecorder(w, &file, inputlog.Options{})
	s := scheduler.New(w, scheduler.Options{})
	_ = s.Step(context.Background())
	w.Refresh() // a tick without systems
	_ = recorder.Close()

	log, _ := inputlog.Open(&file)
	again := world.MustNew(world.Options{})
	s = scheduler.New(again, scheduler.Options{})
	player, _ := log.Play(again, nil)
	for player.Next() {
		err := player.Make(func() error {
			fmt.Println("the systems run in tick", again.Tick())
			return s.Step(context.Background())
		})
		fmt.Println(err)
	}
	fmt.Println(again.Tick(), player.Err())
	// Output:
	// the systems run in tick 0
	// <nil>
	// <nil>
	// 2 <nil>
}
