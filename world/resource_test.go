package world_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// The resources of the tests.
type (
	Weather struct{ Rain int }
	Tally   struct {
		N   int
		Who []int
	}
)

func mergeTallies(total, part *Tally) {
	total.N += part.N
	total.Who = append(total.Who, part.Who...)
}

// TestResource writes a resource in a global system, and reads it in shards.
func TestResource(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 3})
	weather := world.RegisterResource(f.World, "weather", Weather{3})
	require.Equal(t, Weather{3}, weather.Get())
	weather.Set(Weather{4})
	read := func(want int) construct {
		return func(b *world.Build) func(*world.Context) {
			w := world.ReadResource[Weather](b)
			return func(*world.Context) { require.Equal(t, want, w.Get().Rain) }
		}
	}
	f.global(read(4), func(b *world.Build) func(*world.Context) {
		w := world.WriteResource[Weather](b)
		return func(c *world.Context) {
			require.Equal(t, 4, w.Rain)
			w.Rain = 9
		}
	}, read(9))
	require.Equal(t, 9, weather.Get().Rain)
}

// TestAccumulator merges what shards add, in their order, anew each time.
func TestAccumulator(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 4})
	tally := world.RegisterAccumulator(f.World, "tally", mergeTallies)
	b := (*world.Build)(engine.Of(f.World).NewBuild(0, "look"))
	world.Accumulate[Tally](b)
	id := -1
	for i := range (*engine.Build)(b).Finish().ResourceParts.All {
		id = i
	}
	require.Equal(t, "tally", engine.Of(f.World).ResourceName(id))
	add := func(b *world.Build) func(*world.Context) {
		mine := world.Accumulate[Tally](b)
		return func(c *world.Context) {
			require.Equal(t, Tally{}, *mine, "it is zero when the tick begins")
			mine.N += 10 + c.Shard()
			mine.Who = append(mine.Who, c.Shard())
		}
	}
	for range 2 {
		f.tick(add)
		engine.Of(f.World).MergeResource(id)
		require.Equal(t, Tally{46, []int{0, 1, 2, 3}}, tally.Get())
	}
	engine.Of(f.World).MergeResource(id)
	require.Equal(t, Tally{}, tally.Get(), "nobody added")
}

// TestResourceMisuse names the culprit and the remedy.
func TestResourceMisuse(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	world.RegisterResource(f.World, "weather", Weather{})
	world.RegisterAccumulator(f.World, "tally", mergeTallies)
	type other struct{}
	shard, global := (*world.Build)(engine.Of(f.World).NewBuild(0, "serf")), (*world.Build)(engine.Of(f.World).NewBuild(world.AllShards, "lord"))
	for _, test := range []struct {
		name string
		run  func()
		says []string
	}{
		{"no name", func() { world.RegisterResource(f.World, "", other{}) }, []string{"needs a name"}},
		{"type twice", func() { world.RegisterResource(f.World, "x", Weather{}) }, []string{"Weather is registered already", `"weather"`}},
		{"name twice", func() { world.RegisterResource(f.World, "weather", other{}) }, []string{`name "weather" is taken`}},
		{"no merge", func() { world.RegisterAccumulator[other](f.World, "x", nil) }, []string{`RegisterAccumulator of "x"`, "merges"}},
		{"read unknown", func() { world.ReadResource[other](shard) }, []string{`system "serf", world.ReadResource`, "call world.RegisterResource[world_test.other]"}},
		{"write unknown", func() { world.WriteResource[other](global) }, []string{`system "lord", world.WriteResource`}},
		{"write in a shard", func() { world.WriteResource[Weather](shard) }, []string{`"serf"`, `"weather" is written by global systems alone`, "make the system global"}},
		{"write in a hook", func() {
			f.Observe("toll", world.OnDestroy, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
				world.WriteResource[Weather](b)
				return nil
			})
		}, []string{`"hook toll"`, "let the hook send a message to a global system"}},
		{"write an accumulator", func() { world.WriteResource[Tally](global) }, []string{`"lord"`, `"tally" is an accumulator`}},
		{"add to a resource", func() { world.Accumulate[Weather](shard) }, []string{`"serf"`, `"weather" is no accumulator`}},
		{"add in a global system", func() { world.Accumulate[Tally](global) }, []string{`global system "lord" calls world.Accumulate`}},
	} {
		t.Run(test.name, func(t *testing.T) { mustPanic(t, test.says, test.run) })
	}
	tick := engine.Of(f.World).BeginTick()
	defer tick.End(serial)
	mustPanic(t, []string{"RegisterResource while a tick runs"}, func() { world.RegisterResource(f.World, "late", other{}) })
}

// TestResourceTimes drops the reading of the monotonic clock from the first value as from others.
func TestResourceTimes(t *testing.T) {
	type Opened struct{ At [2]time.Time }
	now := time.Now()
	w := world.MustNew(world.Options{})
	r := world.RegisterResource(w, "opened", Opened{[2]time.Time{now, now}})
	want := Opened{[2]time.Time{now.Round(0), now.Round(0)}}
	require.Equal(t, want, r.Get())
	r.Set(Opened{[2]time.Time{now, now}})
	require.Equal(t, want, r.Get())
}
