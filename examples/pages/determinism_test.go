package pages_test

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Motto is a component that needs a codec.
type Motto struct{ Text string }

// newSeas makes a world with something in it, and its hasher.
func newSeas(workers int) (*scheduler.Scheduler, *state.Hasher) {
	w := world.MustNew(world.Options{Seed: 7})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	world.Register[Motto](w, "motto")
	ship := world.NewBundle[Ship](w)
	s := scheduler.New(w, scheduler.Options{Workers: workers})
	s.MustAdd("move", Move)
	for i := range 1000 {
		_, _ = ship.Create(w, Ship{Velocity: Velocity{float64(i), 1}})
	}

	codecs := new(state.Codecs)
	state.Register(codecs, state.Codec[Motto]{
		Append: func(dst []byte, m *Motto) []byte { return append(dst, m.Text...) },
	})
	hasher := state.NewHasher(w, codecs)
	hasher.Add("systems", s.AppendState) // which are enabled, where the game changes that
	return s, hasher
}

// The guide of docs/determinism.md.
func Example_determinism() {
	a, hashA := newSeas(1)
	b, hashB := newSeas(8)
	for range 100 {
		_, _ = a.Step(context.Background()), b.Step(context.Background())
	}
	one, _ := hashA.StateHash()
	other, _ := hashB.StateHash()
	fmt.Println(one == other)

	_ = b.Disable("move")
	_, _ = a.Step(context.Background()), b.Step(context.Background())
	mine, _ := hashA.Sections()
	theirs, _ := hashB.Sections()
	for i := range mine {
		if mine[i] != theirs[i] {
			fmt.Println(mine[i].Name)
			break
		}
	}
	// Output:
	// true
	// shard 0: component "position"
}
