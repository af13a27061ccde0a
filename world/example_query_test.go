package world_test

import (
	"fmt"
	"time"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// zooExample is a world with three kinds of entities.
func zooExample() (w *world.World, mover, creature, statue handle.Handle) {
	w = world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	world.Register[Health](w, "health")
	world.Register[Name](w, "name")
	world.Register[Frozen](w, "frozen")
	mover, _ = world.NewBundle[Mover](w).Create(w, Mover{Velocity: Velocity{1, 0}})
	creature, _ = world.NewBundle[Creature](w).Create(w, Creature{Health: Health{10}, Name: Name{"Ann"}})
	statue, _ = world.NewBundle[Statue](w).Create(w, Statue{})
	return w, mover, creature, statue
}

// An accessor for reading: of one entity by handle, of many by slices. What it
// hands out must not be written.
func ExampleRead() {
	w, mover, creature, _ := zooExample()
	health := world.Read[Health](w)
	fmt.Println(*health.Get(creature), health.Get(mover))
	// Output: {10} <nil>
}

// The slice of a chunk is the component's memory: one element for each row.
func ExampleReader() {
	w, mover, _, _ := zooExample()
	pos := world.Read[Position](w)
	for ch := range w.Query(pos).Chunks() {
		fmt.Println(len(pos.Slice(ch)), "with a position")
	}
	fmt.Println(*pos.At(w.Locate(mover)))
	// Output:
	// 1 with a position
	// 1 with a position
	// 1 with a position
	// {0 0}
}

// An accessor for reading and writing.
func ExampleWrite() {
	w, _, creature, _ := zooExample()
	health := world.Write[Health](w)
	health.Get(creature).Points--
	fmt.Println(health.Get(creature).Points)
	// Output: 9
}

// What a Writer hands out counts as written, by chunk: ChunksSince finds it.
func ExampleWriter() {
	w, mover, creature, _ := zooExample()
	pos := world.Write[Position](w)
	w.Refresh()
	all, now := w.Query(world.Read[Position](w)), w.Tick()

	pos.Get(mover).X = 5
	_ = world.Read[Position](w).Get(creature).X // to look is not to write
	for ch := range all.ChunksSince(now) {
		fmt.Println(ch.Handles())
	}
	// Output: [0:0@1]
}

// The conditions of a query: accessors, and these.
func ExampleTerm() {
	w, _, _, _ := zooExample()
	pos, health := world.Read[Position](w), world.Read[Health](w)
	for _, terms := range [][]world.Term{
		{pos},
		{pos, health},
		{pos, world.With[Frozen](w)},
		{pos, world.Without[Frozen](w)},
		{pos, world.Optional(health)},
		{world.AnyOf(health, world.With[Velocity](w))},
		{},
	} {
		fmt.Print(w.Query(terms...).Count(), " ")
	}
	// Output: 3 1 1 2 3 2 3
}

// With asks for a component that the loop does not look at.
func ExampleWith() {
	w, _, creature, _ := zooExample()
	for ch := range w.Query(world.Write[Health](w), world.With[Name](w)).Chunks() {
		fmt.Println(ch.Len(), ch.Handle(0) == creature)
	}
	// Output: 1 true
}

// Without leaves out those that have a component.
func ExampleWithout() {
	w, mover, creature, _ := zooExample()
	for ch := range w.Query(world.Write[Position](w), world.Without[Frozen](w)).Chunks() {
		for _, h := range ch.Handles() {
			fmt.Println(h == mover, h == creature)
		}
	}
	// Output:
	// true false
	// false true
}

// Optional asks for a component where there is one. Its slice is nil elsewhere.
func ExampleOptional() {
	w, _, _, _ := zooExample()
	pos, vel := world.Read[Position](w), world.Read[Velocity](w)
	for ch := range w.Query(pos, world.Optional(vel)).Chunks() {
		fmt.Println(len(pos.Slice(ch)), len(vel.Slice(ch)))
	}
	// Output:
	// 1 1
	// 1 0
	// 1 0
}

// AnyOf asks for at least one of several components.
func ExampleAnyOf() {
	w, _, _, _ := zooExample()
	alive := w.Query(world.AnyOf(world.With[Velocity](w), world.With[Health](w)))
	fmt.Println(alive.Count())
	// Output: 2
}

// A chunk is a run of rows: so many, each with its handle and its components.
func ExampleChunk() {
	w, _, _, _ := zooExample()
	name := world.Read[Name](w)
	for ch := range w.Query(name).Chunks() {
		for i := range ch.Len() {
			fmt.Println(ch.Handle(i), name.Slice(ch)[i].Text)
		}
	}
	// Output: 0:1@1 Ann
}

// A query is made once and used again; it finds what is created later.
func ExampleQuery() {
	w, _, _, _ := zooExample()
	named := w.Query(world.With[Name](w))
	creatures := world.NewBundle[Creature](w)

	fmt.Println(named.Count())
	_ = creatures.CreateN(w, 9, nil)
	fmt.Println(named.Count())
	// Output:
	// 1
	// 10
}

// All that match are marked at once, or the first few.
func ExampleQuery_Destroy() {
	w, _, _, _ := zooExample()
	_ = world.NewBundle[Creature](w).CreateN(w, 9, nil)
	creatures := w.Query(world.With[Health](w))

	fmt.Println(creatures.Limit(4).Destroy(), w.Count())
	w.Refresh()
	fmt.Println(creatures.Count(), w.Count())
	// Output:
	// 4 12
	// 6 8
}

// Entities by position, and one by one with their locations.
func ExampleQuery_At() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	_ = units.CreateN(w, 3, func(i int, u *Unit) { u.Points = int64(10 * i) })

	health := world.Read[Health](w)
	q := w.Query(health)
	for i := range q.Count() {
		at, _ := q.At(i)
		fmt.Println(i, at.Handle(0), health.Slice(at)[0].Points)
	}
	sum := int64(0)
	for _, loc := range q.Entities() {
		sum += health.At(loc).Points
	}
	fmt.Println("sum", sum)
	// Output:
	// 0 0:0@1 0
	// 1 0:1@1 10
	// 2 0:2@1 20
	// sum 30
}

// Minds think in turns: each once in four ticks, a quarter of them in each.
func ExampleTurns() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	all, _ := world.NewBundle[Unit](w).AppendN(nil, w, 100, nil)
	turns := map[handle.Handle]int{}
	q := w.Query(world.Read[Health](w), world.Turns(w, 4))
	for range 8 {
		for ch := range q.Chunks() {
			for _, h := range ch.Handles() {
				turns[h]++
			}
		}
		if n := q.Count(); n < 20 || n > 30 {
			fmt.Println("not a quarter:", n)
		}
		w.Refresh()
	}
	fmt.Println(turns[all[0]], turns[all[99]])
	// Output: 2 2
}

// However many there are, about 100 of them have their turn in a tick.
func ExampleTurnsFor() {
	w := world.MustNew(world.Options{TickInterval: time.Second})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	q := w.Query(world.Read[Health](w), world.TurnsFor(w, 100))
	for range 3 {
		_, _ = units.AppendN(nil, w, 100, nil)
		fmt.Println("each of", w.Count(), "has a turn every", q.Delta(), "seconds")
	}
	// Output:
	// each of 100 has a turn every 1 seconds
	// each of 200 has a turn every 2 seconds
	// each of 300 has a turn every 4 seconds
}

// The time between two turns is that of four ticks.
func ExampleQuery_Delta() {
	w := world.MustNew(world.Options{TickInterval: time.Second})
	world.Register[Health](w, "health")
	fmt.Println(w.Query(world.Read[Health](w)).Delta(), w.Query(world.Turns(w, 4)).Delta())
	// Output: 1 4
}
