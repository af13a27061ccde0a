package snapshot_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/persist/snapshot"
	snaptext "github.com/atoll-sim/atoll/persist/snapshot/text"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

const asleep world.Flags = 1

// dormitory is a world whose entities sleep until a message comes. It counts those that are awake
// in a tick.
type dormitory struct {
	*world.World
	s     *scheduler.Scheduler
	small *world.Bundle[Small]
	hits  *world.Message[Hit]
	bells *timer.Timers[Hit]
	awake *world.Resource[Tally]
}

func newDormitory(workers int) *dormitory {
	w := world.MustNew(world.Options{Shards: 2})
	world.Register[Extra](w, "extra")
	x := &dormitory{World: w, small: world.NewBundle[Small](w), hits: world.RegisterMessage[Hit](w, "hit")}
	x.hits.Wakes(asleep)
	x.bells = timer.New(w, "bells", x.hits, timer.Options{})
	x.awake = world.RegisterAccumulator(w, "awake", func(total, part *Tally) { total.N += part.N })
	x.s = scheduler.New(w, scheduler.Options{Workers: workers})
	x.s.MustAdd("count", func(b *world.Build) func(*world.Context) {
		awake, n := b.Query(world.WithoutFlags(b, asleep)), world.Accumulate[Tally](b)
		return func(*world.Context) { n.N += uint64(awake.Count()) }
	})
	return x
}

// TestLoadAsleep loads a world in which an entity has mail and sleeps nevertheless, because the
// idle world sent the message first and set the flag then: a load wakes nobody.
func TestLoadAsleep(t *testing.T) {
	x := newDormitory(1)
	for i := range 4 {
		h, err := x.small.Create(x.World, Small{})
		require.NoError(t, err)
		require.NoError(t, x.hits.Send(x.World, h, Hit{1}))
		if i%2 == 0 {
			require.NoError(t, world.AddFlags(x.World, h, asleep))
		}
		_, err = x.bells.After(x.World, h, 2, Hit{2})
		require.NoError(t, err)
	}
	hashOf := func(w *world.World) state.Hash {
		hash, err := state.StateHash(w, nil)
		require.NoError(t, err)
		return hash
	}
	file := saved(t, x.World, snapshot.Options{})
	c, err := snapshot.Capture(x.World, snapshot.Options{})
	require.NoError(t, err)
	defer c.Release()
	var text, imported bytes.Buffer
	_, err = snaptext.Export(bytes.NewReader(file), &text, snapshot.Options{})
	require.NoError(t, err)
	_, err = snaptext.Import(&text, &imported, snapshot.Options{})
	require.NoError(t, err)
	loads := map[string]func(w *world.World) error{
		"a file":  func(w *world.World) error { return snapshot.Load(bytes.NewReader(file), w, snapshot.Options{}) },
		"a text":  func(w *world.World) error { return snapshot.Load(&imported, w, snapshot.Options{}) },
		"a fork":  func(w *world.World) error { return c.Load(w, snapshot.Options{}) },
		"a chain": func(w *world.World) error { return snapshot.Load(chainOf(t, x.World), w, snapshot.Options{}) },
	}
	var others []*dormitory
	for name, load := range loads {
		y := newDormitory(3)
		require.NoError(t, load(y.World), name)
		require.Equal(t, hashOf(x.World), hashOf(y.World), name)
		others = append(others, y)
	}
	for tick, awake := range []uint64{2, 2, 4, 4} { // the timers wake the rest
		require.NoError(t, x.s.Step(context.Background()))
		require.Equal(t, awake, x.awake.Get().N, tick)
		for _, y := range others {
			require.NoError(t, y.s.Step(context.Background()))
			require.Equal(t, hashOf(x.World), hashOf(y.World), tick)
		}
	}
}

// chainOf saves a world as a whole and an increment, and merges them.
func chainOf(t *testing.T, w *world.World) *bytes.Buffer {
	t.Helper()
	var chain snapshot.Chain
	links := make([]link, 2)
	for i := range links {
		links[i].save(t, &chain, w, snapshot.Options{})
	}
	return bytes.NewBuffer(merged(t, links))
}
