package pages_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Named is a ship with a motto.
type Named struct {
	Position
	Velocity
	Motto
}

// newHarbour makes a world that ports create ships in.
func newHarbour(workers int) (*world.World, *scheduler.Scheduler, *world.Bundle[Named]) {
	w := world.MustNew(world.Options{Seed: 7})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	world.Register[Motto](w, "motto")
	ship := world.NewBundle[Named](w)
	s := scheduler.New(w, scheduler.Options{Workers: workers})
	s.MustAdd("move", Move)
	return w, s, ship
}

// The log of inputs in docs/determinism.md.
func Example_inputLog() {
	var file bytes.Buffer
	w, s, ship := newHarbour(1)
	codecs := new(state.Codecs)
	state.Register(codecs, state.Codec[Motto]{
		Append: func(dst []byte, m *Motto) []byte { return append(dst, m.Text...) },
		Read:   func(src []byte, m *Motto) error { m.Text = string(src); return nil },
	})
	recorder, _ := inputlog.NewRecorder(w, &file, inputlog.Options{Codecs: codecs})
	port, _ := w.OpenPort()
	for i := range 2 {
		_, _ = ship.Create(port, Named{Velocity: Velocity{float64(i), 1}, Motto: Motto{"sail on"}})
		_ = s.Step(context.Background())
		_ = recorder.Hash(state.NewHasher(w, codecs))
	}
	_ = recorder.Close()

	again, s, _ := newHarbour(8)
	hasher := state.NewHasher(again, codecs)
	log, _ := inputlog.Open(&file)
	player, _ := log.Play(again, codecs)
	for player.Next() {
		_ = s.Step(context.Background())
		_, err := player.Verify(hasher)
		fmt.Println(err)
	}
	fmt.Println(player.Err())
	// Output:
	// <nil>
	// <nil>
	// <nil>
}
