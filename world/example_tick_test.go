package world_test

import (
	"fmt"
	"sync"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// A whole tick by hand, as a scheduler does it: systems on every shard, a port
// that acts meanwhile, and the refresh. (Package scheduler does it for you.)
func ExampleTick() {
	w := world.MustNew(world.Options{Shards: 2})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w).PlaceBy(func(u Unit) int { return int(u.Points % 2) })
	squad, _ := units.AppendN(nil, w, 4, func(i int, u *Unit) { u.Points = int64(i) })
	port, _ := w.OpenPort()

	// A system, built for each shard.
	starve := func(b *world.Build) func(*world.Context) {
		health := world.Write[Health](b)
		all := b.Query(health)
		return func(c *world.Context) {
			for ch := range all.Chunks() {
				for i := range health.Slice(ch) {
					if health.Slice(ch)[i].Points--; health.Slice(ch)[i].Points < 0 {
						_ = c.Destroy(ch.Handle(i)) // marked; it goes at the refresh
					}
				}
			}
		}
	}
	var runs [2]func(*world.Context)
	var access [2]*world.Access
	for shard := range runs {
		b := world.NewBuild(w, shard, "starve")
		runs[shard], access[shard] = starve(b), b.Finish()
	}

	tick := w.BeginTick()
	fmt.Println("tick", tick.Number())
	var group sync.WaitGroup
	for shard := range runs {
		group.Go(func() { // one worker for each shard
			c := tick.Context(shard)
			c.Start("starve", access[shard])
			defer c.Stop()
			runs[shard](c)
			c.Returned()
		})
	}
	recruit, _ := units.Create(port, Unit{Health{9}}) // from any goroutine
	group.Wait()
	fmt.Println(port.Status(squad[0]), port.Status(squad[1]), port.Status(recruit))
	tick.End(func(n int, f func(int)) { // the refresh, its steps on as many goroutines
		var group sync.WaitGroup
		for i := range n {
			group.Go(func() { f(i) })
		}
		group.Wait()
	})
	fmt.Println(port.Status(squad[0]), port.Status(squad[1]), port.Status(recruit))
	fmt.Println("tick", w.Tick(), "with", w.Count())
	// Output:
	// tick 0
	// alive alive pending
	// stale alive alive
	// tick 1 with 4
}

// A Build declares what a system does with what.
func ExampleNewBuild() {
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")

	b := world.NewBuild(w, 0, "move")
	world.Write[Position](b)
	world.Read[Velocity](b)
	access := b.Finish()
	fmt.Println("reads", w.ComponentNames(access.Reads), "writes", w.ComponentNames(access.Writes))
	// Output: reads "velocity" writes "position"
}

// Systems that are built for several shards must declare the same for each.
func ExampleAccess() {
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	declare := func(shard int, ask func(b *world.Build)) *world.Access {
		b := world.NewBuild(w, shard, "system")
		ask(b)
		return b.Finish()
	}
	reads := func(b *world.Build) { world.Read[Position](b) }
	writes := func(b *world.Build) { world.Write[Position](b) }
	fmt.Println(declare(0, reads).Same(declare(1, reads)), declare(0, reads).Same(declare(1, writes)))
	// Output: true false
}

// The steps of a refresh are run by whatever the scheduler has: here by the
// caller alone.
func ExampleParallel() {
	var alone world.Parallel = func(n int, f func(i int)) {
		for i := range n {
			f(i)
		}
	}
	w := world.MustNew(world.Options{})
	w.BeginTick().End(alone)
	fmt.Println(w.Tick())
	// Output: 1
}

// A liveness handle has entities destroyed from anywhere, refused by nobody, and does not
// keep the world: what package reference is made of.
func ExampleLiveness() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	unit, _ := world.NewBundle[Unit](w).Create(w, Unit{})
	liveness := world.LivenessOf(w)

	liveness.Release(unit)
	fmt.Println(liveness.Alive(unit), liveness.Alive(handle.None))
	w.Refresh()
	_, ok := liveness.State(unit)
	fmt.Println(liveness.Alive(unit), ok)
	w.Close()
	fmt.Println(liveness.Gone())
	// Output:
	// true false
	// false false
	// true
}

// There is one liveness handle for each world, whoever is asked.
func ExampleLivenessOf() {
	w, other := world.MustNew(world.Options{}), world.MustNew(world.Options{})
	port, _ := w.OpenPort()
	fmt.Println(world.LivenessOf(w) == world.LivenessOf(port), world.LivenessOf(w) == world.LivenessOf(other))
	// Output: true false
}

// Between the systems that add and those that read, a scheduler has an accumulator
// merged.
func ExampleWorld_MergeResource() {
	w := world.MustNew(world.Options{Shards: 2})
	total := world.RegisterAccumulator(w, "census", func(total, part *census) { total.Units += part.Units })
	tick := w.BeginTick()
	for shard := range w.Shards() {
		c := tick.Context(shard)
		fmt.Println(c.Shard(), "of", c.Shards())
	}
	w.MergeResource(0)
	tick.End(func(n int, f func(int)) {
		for i := range n {
			f(i)
		}
	})
	fmt.Println(total.Get().Units)
	// Output:
	// 0 of 2
	// 1 of 2
	// 0
}
