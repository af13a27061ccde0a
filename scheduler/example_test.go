package scheduler_test

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// A whole tick: two systems run on every shard, the second reading what the
// first wrote on other shards; then the refresh frees the dead and applies what
// a port had asked for meanwhile.
func ExampleScheduler_Step() {
	type Health struct{ Points int }
	type Leader struct{ Health }
	type Morale struct{ Steps, Total int }
	type Soldier struct {
		Health
		Morale
	}

	w := world.MustNew(world.Options{Shards: 4})
	world.Register[Health](w, "health")
	world.Register[Morale](w, "morale")
	leaders, soldiers := world.NewBundle[Leader](w), world.NewBundle[Soldier](w)

	leader, _ := leaders.Create(w, Leader{Health{3}})
	_ = soldiers.CreateN(w, 100, func(i int, s *Soldier) { s.Points = 1 + i%5 })

	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("starve", func(b *world.Build) func(*world.Context) {
		health := world.Write[Health](b) // asking for it declares the access
		all := b.Query(health)
		return func(c *world.Context) {
			for ch := range all.Chunks() {
				points := health.Slice(ch)
				for i := range points {
					if points[i].Points--; points[i].Points == 0 {
						_ = c.Destroy(ch.Handle(i)) // alive until the refresh
					}
				}
			}
		}
	})
	s.MustAdd("look up to the leader", func(b *world.Build) func(*world.Context) {
		morale, health := world.Write[Morale](b), world.ReadForeign[Health](b)
		all := b.Query(morale)
		return func(*world.Context) {
			h, ok := health.Get(leader) // a copy, from whichever shard
			if !ok {
				return
			}
			for ch := range all.Chunks() {
				m := morale.Slice(ch)
				for i := range m {
					m[i] = Morale{m[i].Steps + 1, m[i].Total + h.Points}
				}
			}
		}
	})

	port, _ := w.OpenPort() // another goroutine's, as a rule
	defer port.Close()
	recruit, _ := soldiers.Create(port, Soldier{Health: Health{9}})

	for range 4 {
		if err := s.Step(context.Background()); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("tick %d: %d alive, leader %v, recruit %v with %v\n",
			w.Tick(), w.Count(), w.Status(leader), w.Status(recruit), *world.Read[Morale](w).Get(recruit))
	}
	// Output:
	// tick 1: 82 alive, leader alive, recruit alive with {0 0}
	// tick 2: 62 alive, leader alive, recruit alive with {1 1}
	// tick 3: 41 alive, leader stale, recruit alive with {2 1}
	// tick 4: 21 alive, leader stale, recruit alive with {2 1}
}
