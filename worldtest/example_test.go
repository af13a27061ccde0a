package worldtest_test

import (
	"fmt"
	"testing"

	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
	"github.com/atoll-sim/atoll/worldtest"
)

// A test of one system: poison takes a point of health each tick, and destroys
// who has none left.
func ExampleRun() {
	type Health struct{ Points int }
	type Poisoned struct{}
	type victim struct {
		Health
		Poisoned
	}

	poison := func(b *world.Build) func(*world.Context) { // the system
		health := world.Write[Health](b)
		all := b.Query(health, world.With[Poisoned](b))
		return func(c *world.Context) {
			for ch := range all.Chunks() {
				points := health.Slice(ch)
				for i := range points {
					if points[i].Points--; points[i].Points == 0 {
						_ = c.Destroy(ch.Handle(i))
					}
				}
			}
		}
	}

	t := new(testing.T) // in a test, its own

	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	world.Register[Poisoned](w, "poisoned")
	weak, _ := world.NewBundle[victim](w).Create(w, victim{Health: Health{2}})
	strong, _ := world.NewBundle[victim](w).Create(w, victim{Health: Health{10}})

	worldtest.Run(t, w, 3, poison)

	fmt.Println(w.Status(weak), w.Status(strong), world.Read[Health](w).Get(strong).Points)
	// Output: stale alive 7
}

// A test of a whole world: the same inputs make the same world again, on any number of workers, and
// after a restart.
func ExampleSame() {
	type Wealth struct{ Coins int }
	type miner struct{ Wealth }

	newMine := func(o scheduler.Options) worldtest.Game { // as the server makes it
		w := world.MustNew(world.Options{Shards: 4})
		world.Register[Wealth](w, "wealth")
		miners := world.NewBundle[miner](w)
		dig := func(b *world.Build) func(*world.Context) {
			wealth := world.Write[Wealth](b)
			all := b.Query(wealth)
			return func(c *world.Context) {
				for ch := range all.Chunks() {
					for i := range wealth.Slice(ch) {
						wealth.Slice(ch)[i].Coins += c.Rand().IntN(6) // math/rand would fail the test
					}
				}
			}
		}
		return worldtest.Game{
			Scheduler: scheduler.New(w, o).MustAdd("dig", dig),
			Options:   durable.Options{New: func(w *world.World) error { return miners.CreateN(w, 100, nil) }},
			Script:    func(tick uint64, port *world.Port) { _, _ = miners.Create(port, miner{}) },
		}
	}

	t := new(testing.T) // in a test, its own

	worldtest.Same(t, 30, newMine)

	fmt.Println(t.Failed())
	// Output: false
}
