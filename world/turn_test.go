package world_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestTurnsIdle divides the entities of an idle world and of frames among ticks.
func TestTurnsIdle(t *testing.T) {
	const n = 4
	f := newFixture(t, world.Options{Shards: 3, TickInterval: time.Second})
	all := f.newUnits(500)
	for i := range all {
		if i%5 == 0 {
			require.NoError(t, world.AddFlags(f.World, all[i], hidden))
		}
	}
	q := f.Query(world.Turns(f.World, n), world.WithoutFlags(f.World, hidden), world.Read[Health](f.World))
	var met []handle.Handle
	for range n {
		have := f.flagged(world.Turns(f.World, n), world.WithoutFlags(f.World, hidden), world.Read[Health](f.World))
		require.Equal(t, len(have), q.Count(), "a query that is kept goes with the tick")
		require.InDelta(t, 100, len(have), 12, "turns are spread")
		require.InDelta(t, n, q.Delta(), 0)
		for i, h := range have {
			ch, ok := q.At(i)
			require.True(t, ok)
			require.Equal(t, h, ch.Handle(0))
		}
		_, ok := q.At(len(have))
		require.False(t, ok)
		require.Equal(t, 7, q.Limit(7).Count())
		require.Equal(t, have, f.inFrame(t, n), "a frame has the turns of its tick")
		met = append(met, have...)
		f.Refresh()
	}
	slices.Sort(met)
	require.Len(t, slices.Compact(met), 400)

	require.NoError(t, f.frozen.AddTo(q, nil))
	some := q.Count()
	require.Equal(t, some, f.Query(world.With[Frozen](f.World)).Count())
	require.Equal(t, some, q.Destroy())
	f.Refresh()
	require.Equal(t, 500-some, f.Count())
	rest := f.Query(world.TurnsFor(f.World, 100), world.WithoutFlags(f.World, hidden))
	require.InDelta(t, 4, rest.Delta(), 0, "300 by 100 are 3, and so 4")
}

// inFrame returns what a query of a frame yields.
func (f *fixture) inFrame(t *testing.T, n int) (all []handle.Handle) {
	view, err := f.NewView()
	require.NoError(t, err)
	frame, err := view.Now()
	require.NoError(t, err)
	defer frame.Release()
	q := frame.Query(world.Turns(frame, n), world.WithoutFlags(frame, hidden), world.Read[Health](frame))
	for range 2 {
		all = all[:0]
		for ch := range q.Chunks() {
			all = append(all, ch.Handles()...)
		}
	}
	require.InDelta(t, n, q.Delta(), 0)
	return all
}

// TestTurnsMisuse panics with what is wrong.
func TestTurnsMisuse(t *testing.T) {
	f := newFixture(t, world.Options{})
	for what, do := range map[string]func(){
		"world: world.Turns of 3; want a power of two, from 1 to 65536":                                                                    func() { world.Turns(f.World, 3) },
		"world: world.Turns of 0; want a power of two, from 1 to 65536":                                                                    func() { world.Turns(f.World, 0) },
		"world: world.Turns of -4; want a power of two, from 1 to 65536":                                                                   func() { world.Turns(f.World, -4) },
		"world: world.Turns of 131072; want a power of two, from 1 to 65536":                                                               func() { world.Turns(f.World, 1<<17) },
		"world: world.TurnsFor of 0 rows; want 1 or more":                                                                                  func() { world.TurnsFor(f.World, 0) },
		"world: World.Query: there are two of Turns and TurnsFor; pass one":                                                                func() { f.Query(world.Turns(f.World, 2), world.TurnsFor(f.World, 1)) },
		"world: Message.Wakes of no flags; name one or more":                                                                               func() { f.hit.Wakes(0) },
		"world: Message.Wakes of a nil *world.Message[github.com/atoll-sim/atoll/world_test.Hit]; use what world.RegisterMessage returned": func() { (*world.Message[Hit])(nil).Wakes(1) },
	} {
		require.PanicsWithValue(t, what, do)
	}
}

// TestTurnsWithinLoop creates entities in a loop on the idle world, and asks the query for more:
// the loop goes on as it began.
func TestTurnsWithinLoop(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	f.newUnits(96)
	q := f.Query(world.Read[Health](f.World), world.TurnsFor(f.World, 96))
	met := 0
	for ch := range q.Chunks() {
		met += ch.Len()
		f.newUnits(100)
		require.Greater(t, q.Delta(), 0.0)
		require.LessOrEqual(t, q.Count(), 196)
	}
	require.Equal(t, 96, met)
}
