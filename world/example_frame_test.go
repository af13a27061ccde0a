package world_test

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/world"
)

// A view says what frames are to have.
func ExampleView() {
	w, mover, _, _ := zooExample()
	moving, err := w.NewView() // all that there is; or some of it
	fmt.Println(err)

	before, _ := moving.Now() // of the idle world
	world.Write[Position](w).Get(mover).X = 9
	w.Refresh()
	fmt.Println(*world.Read[Position](before).Get(mover), *world.Read[Position](w).Get(mover))
	// Output:
	// <nil>
	// {0 0} {9 0}
}

// A view may have some components, as Register returned them, and relations and names alike.
func ExampleViewable() {
	w, mover, _, _ := zooExample()
	type Luck struct{ N int }
	luck := world.Register[Luck](w, "luck")
	called := names.New[string](w, "animals", names.Options{})
	_, _ = luck.Add(w, mover, Luck{7}), called.Bind(w, mover, "Ann")

	view, err := w.NewView(luck, called)
	fmt.Println(err)
	f, _ := view.Now()
	_ = called.Unbind(w, mover)
	h, ok := called.Read(f).Lookup("Ann")
	fmt.Println(h == mover, ok, world.Read[Luck](f).Get(h).N)
	// Output:
	// <nil>
	// true true 7
}

// A frame is the world as it was behind a refresh. Any goroutine may ask for one and look at it,
// while the world ticks on.
func ExampleFrame() {
	w, _, creature, _ := zooExample()
	all, _ := w.NewView()
	seen := make(chan string)
	go func() {
		f, err := all.Capture(context.Background()) // waits for the refresh
		if err != nil {
			seen <- err.Error()
			return
		}
		defer f.Release()
		pos, health := world.Read[Position](f), world.Read[Health](f)
		seen <- fmt.Sprint(f.Query(pos).Count(), " of ", f.Count(), " have a place; ", *health.Get(creature))
	}()
	for {
		w.Refresh()
		select {
		case s := <-seen:
			fmt.Println(s)
			return
		default:
		}
	}
	// Output: 3 of 3 have a place; {10}
}

// Two frames tell what happened in between.
func ExampleDiff() {
	w, mover, creature, statue := zooExample()
	type Luck struct{ N int }
	luck := world.Register[Luck](w, "luck")
	_ = luck.Add(w, mover, Luck{1})
	all, _ := w.NewView()
	before, _ := all.Now()

	w.Destroy(statue)
	_ = luck.Set(w, mover, Luck{2})
	_ = luck.Add(w, creature, Luck{3})
	w.Refresh()

	after, _ := all.Now()
	d := after.Diff(before)
	fmt.Println(len(d.Created), d.Destroyed[0] == statue, d.Retyped[0] == creature, d.Changed(luck)[0] == mover)
	// Output: 0 true true true
}

// A component that holds a slice says how it is copied.
func ExampleComponent_CloneBy() {
	type Bag struct{ Items []string }
	type Porter struct{ Bag }
	w := world.MustNew(world.Options{})
	bags := world.Register[Bag](w, "bag").CloneBy(func(to, from *Bag) {
		to.Items = append(to.Items[:0], from.Items...)
	})
	ann, _ := world.NewBundle[Porter](w).Create(w, Porter{Bag{[]string{"rope"}}})
	all, _ := w.NewView(bags)
	f, _ := all.Now()
	world.Write[Bag](w).Get(ann).Items[0] = "lamp"
	fmt.Println(world.Read[Bag](f).Get(ann).Items)
	// Output: [rope]
}
