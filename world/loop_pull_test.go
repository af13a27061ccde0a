package world_test

import (
	"iter"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// pulls begin a loop that nobody ends until stop is called.
var pulls = map[string]func(q *world.Query) (stop func()){
	"Chunks": func(q *world.Query) func() {
		next, stop := iter.Pull(q.Chunks())
		next()
		return stop
	},
	"ChunksSince": func(q *world.Query) func() {
		next, stop := iter.Pull(q.ChunksSince(0))
		next()
		return stop
	},
	"Entities": func(q *world.Query) func() {
		next, stop := iter.Pull2(q.Entities())
		next()
		return stop
	},
	"Chunks of a Limit": func(q *world.Query) func() {
		next, stop := iter.Pull(q.Limit(3).Chunks())
		next()
		return stop
	},
}

// TestForgottenPull has an iterator of iter.Pull that is not stopped. The panics of later calls
// name it, and after stop there are none.
func TestForgottenPull(t *testing.T) {
	for name, pull := range pulls {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, world.Options{})
			f.newUnits(10)
			says := []string{"inside a query loop", `the loop, which is over entities with "health"`, "an iterator of iter.Pull is still open: call its stop"}
			if check.Enabled {
				says = append(says, "world/loop_pull_test.go:")
			}
			stop := pull(f.Query(world.Read[Health](f.World)))
			for range f.Query().Chunks() { // ends, and is not the one to name
				break
			}
			for range 2 {
				mustPanic(t, append([]string{"World.Refresh"}, says...), func() { f.Refresh() })
				mustPanic(t, append([]string{"World.Close"}, says...), f.Close)
				mustPanic(t, says, func() { f.tick() })
			}
			stop()
			f.Refresh()
			f.tick()
		})
	}
}

// TestPullsEndInAnyOrder stops iterators other than the last: those that are left are named.
func TestPullsEndInAnyOrder(t *testing.T) {
	f := newFixture(t, world.Options{})
	require.NoError(t, f.creature.CreateN(f.World, 3, nil))
	pull := func(terms ...world.Term) func() { return pulls["Chunks"](f.Query(terms...)) }
	all, health, name := pull(), pull(world.Read[Health](f.World)), pull(world.Read[Name](f.World))
	mustPanic(t, []string{`over entities with "name"`}, func() { f.Refresh() })
	health()
	mustPanic(t, []string{`over entities with "name"`}, func() { f.Refresh() })
	name()
	mustPanic(t, []string{"over all entities"}, func() { f.Refresh() })
	all()
	f.Refresh()
}

// TestLoopsEnd ends loops by a panic, by Goexit and by break: the world is free afterwards.
func TestLoopsEnd(t *testing.T) {
	f := newFixture(t, world.Options{})
	f.newUnits(10)
	q := f.Query(world.Read[Health](f.World))
	loops := map[string]func(do func()){
		"Chunks": func(do func()) {
			for range q.Chunks() {
				do()
				break
			}
		},
		"ChunksSince": func(do func()) {
			for range q.ChunksSince(0) {
				do()
				return
			}
		},
		"Entities": func(do func()) {
			for range q.Entities() {
				do()
				break
			}
		},
		"Limit": func(do func()) {
			for range q.Limit(1).Chunks() {
				do()
			}
		},
		"AddTo":      func(do func()) { _ = f.name.AddTo(q, func(world.Chunk) { do() }) },
		"CreateN":    func(do func()) { _ = f.unit.CreateN(f.World, 1, func(int, *Unit) { do() }) },
		"CreateRows": func(do func()) { _ = f.unit.CreateRows(f.World, 1, func(world.Chunk) { do() }) },
		"pulled": func(do func()) {
			next, stop := iter.Pull(q.Chunks())
			defer stop()
			next()
			do()
		},
	}
	for name, loop := range loops {
		for how, do := range map[string]func(){"panic": func() { panic(errCause) }, "Goexit": runtime.Goexit, "nothing": func() {}} {
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = recover() }()
				loop(do)
			}()
			<-done
			require.NotPanics(t, func() { f.Refresh() }, "%s, %s", name, how)
			_ = q.Remove(f.name)
		}
	}
}
