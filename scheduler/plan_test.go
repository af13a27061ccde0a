package scheduler_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// nothing is a system's work.
func nothing(*world.Context) {}

// TestPlanRejects adds what cannot be granted: the error says what and why, and
// nothing is added.
func TestPlanRejects(t *testing.T) {
	f := newFixture(t, 3, 1)
	f.MustAdd("there", func(*world.Build) func(*world.Context) { return nothing })
	for _, test := range []struct {
		name, system string
		construct    construct
		says         []string
	}{
		{"foreign read and write", "greedy", func(b *world.Build) func(*world.Context) {
			world.ReadForeign[Position](b)
			world.Write[Position](b)
			return nothing
		}, []string{`system "greedy"`, `writes or creates "position" and reads it in other shards`, "split it into two"}},
		{"foreign read and create", "greedy", func(b *world.Build) func(*world.Context) {
			world.ReadForeign[Velocity](b)
			b.Creates(f.movers)
			return nothing
		}, []string{`system "greedy"`, `writes or creates "velocity" and reads`}},
		{"both components named", "greedy", func(b *world.Build) func(*world.Context) {
			world.ReadForeign[Velocity](b)
			world.ReadForeign[Position](b)
			b.Creates(f.movers)
			return nothing
		}, []string{`"position", "velocity"`}},
		{"other access on a shard", "moody", func(b *world.Build) func(*world.Context) {
			if b.Shard() == 2 {
				world.Read[Position](b)
			}
			return nothing
		}, []string{`system "moody"`, "other access on shard 2 than on shard 0", "ask for the same on every shard"}},
		{"other writes on a shard", "moody", func(b *world.Build) func(*world.Context) {
			world.Read[Position](b)
			if b.Shard() == 1 {
				world.Write[Position](b)
			}
			return nothing
		}, []string{"other access on shard 1"}},
		{"name twice", "there", func(*world.Build) func(*world.Context) { return nothing }, []string{`system name "there" is taken`}},
		{"no name", "", func(*world.Build) func(*world.Context) { return nothing }, []string{`system ""`, "needs a name"}},
		{"no constructor", "none", nil, []string{`system "none"`, "needs a name and a constructor"}},
		{"nothing to run", "idle", func(b *world.Build) func(*world.Context) {
			if b.Shard() == 1 {
				return nil
			}
			return nothing
		}, []string{`system "idle" returned nil for shard 1`, "return a function"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := f.Add(test.system, test.construct)
			require.Error(t, err)
			for _, part := range append(test.says, "scheduler: ") {
				require.ErrorContains(t, err, part)
			}
			require.PanicsWithError(t, err.Error(), func() { f.MustAdd(test.system, test.construct) })
			require.Equal(t, []string{"there"}, f.Systems())
			f.step(1)
		})
	}
	// What was refused can be added when it is put right.
	for _, name := range []string{"greedy", "moody", "idle", "none"} {
		require.NoError(t, f.Add(name, func(b *world.Build) func(*world.Context) {
			world.ReadForeign[Velocity](b)
			world.Write[Position](b)
			world.Read[Velocity](b) // reading at home, too, is fine
			return nothing
		}))
	}
	f.step(1)
}

// TestPlanOptions checks the scheduler's own options.
func TestPlanOptions(t *testing.T) {
	w := world.MustNew(world.Options{Shards: 4})
	require.PanicsWithValue(t, "scheduler: Workers is -1, want 1 or more, or 0 for GOMAXPROCS", func() {
		scheduler.New(w, scheduler.Options{Workers: -1})
	})
	require.Equal(t, 4, scheduler.New(w, scheduler.Options{Workers: 100}).Workers())
	require.Equal(t, 3, scheduler.New(w, scheduler.Options{Workers: 3}).Workers())
	require.LessOrEqual(t, scheduler.New(w, scheduler.Options{}).Workers(), 4)
	require.Positive(t, scheduler.New(w, scheduler.Options{}).Workers())
}
