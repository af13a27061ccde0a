package durable_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/async"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/hierarchy"
	"github.com/atoll-sim/atoll/names"
	"github.com/atoll-sim/atoll/near"
	"github.com/atoll-sim/atoll/prefab"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/snapshot"
	"github.com/atoll-sim/atoll/state"
	"github.com/atoll-sim/atoll/timer"
	"github.com/atoll-sim/atoll/world"
)

// What a program may have more than another.
type (
	Mast  struct{ N uint32 }
	Knot  struct{}
	Bell  struct{ N int }
	Chart struct{ N int }
	Log   struct{ N int }

	sailor struct {
		Ship
		Account
	}
	again struct{ Ship }
)

// another is a kind of thing that a program may have one more of.
type another struct {
	name string
	// listed says that PlanLoad tells it, because the state hash depends on it.
	listed bool
	// alone says that a program without it refuses a snapshot that has it.
	alone bool
	add   func(x *bank)
}

var programs = []another{
	{"component", true, true, func(x *bank) { world.Register[Mast](x.World, "mast") }},
	{"tag", true, true, func(x *bank) { world.Register[Knot](x.World, "knot") }},
	{"message", true, true, func(x *bank) { world.RegisterMessage[Bell](x.World, "bell") }},
	{"resource", true, true, func(x *bank) { world.RegisterResource(x.World, "chart", Chart{7}) }},
	{"accumulator", true, true, func(x *bank) { world.RegisterAccumulator(x.World, "log", func(total, part *Log) { total.N += part.N }) }},
	{"hook", true, true, func(x *bank) {
		x.Observe("more", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
			return func(*world.Context, world.Event, []handle.Handle) {}
		})
	}},
	{"relation", true, true, func(x *bank) { hierarchy.New(x.World, "crew", hierarchy.Options{}) }},
	{"names", true, true, func(x *bank) { names.New[string](x.World, "names", names.Options{}) }},
	{"timers", true, true, func(x *bank) {
		timer.New(x.World, "timers", world.RegisterMessage[Bell](x.World, "bell"), timer.Options{})
	}},
	{"call", true, true, func(x *bank) {
		async.New(x.World, "ask", world.RegisterMessage[async.Result[int]](x.World, "answer"), func(context.Context, int) (int, error) { return 0, nil }, async.Options{})
	}},
	{"bundle of a new set", false, false, func(x *bank) { world.NewBundle[sailor](x.World) }},
	{"bundle of a known set", false, false, func(x *bank) { world.NewBundle[again](x.World) }},
	{"function", false, false, func(x *bank) { world.RegisterFunc(x.World, "row", func(*world.EntityContext, int) {}) }},
	{"query", false, false, func(x *bank) { x.Query(world.With[Ship](x.World)) }},
	{"prefab", false, false, func(x *bank) { prefab.New(x.World, "boat", prefab.With(x.shipOf, Ship{1})) }},
	{"index", false, false, func(x *bank) {
		near.New(x.World, func(s Ship) near.Point { return near.Point{X: float64(s.N % 7)} }, near.Options{Max: near.Point{X: 10, Y: 10}, Cell: 1})
	}},
	{"system", true, true, func(x *bank) {
		x.s.MustAdd("more", func(*world.Build) func(*world.Context) { return func(*world.Context) {} })
	}},
	{"global system", true, true, func(x *bank) {
		x.s.MustAdd("more", func(*world.Build) func(*world.Context) { return func(*world.Context) {} }, scheduler.Global())
	}},
	{"also", true, true, func(x *bank) {
		x.options.Snapshot.Also = append(x.options.Snapshot.Also, snapshot.Also{Name: "more", Save: func(dst []byte) []byte { return dst }, Load: func([]byte) error { return nil }})
	}},
}

// TestPrograms lets a program load what another has saved, which has one more or one fewer of each
// kind of thing: by Load, as a fork, from a Dir and by Open after Close. PlanLoad tells each
// difference on which the hash depends. Where it tells none, the hash is the same.
func TestPrograms(t *testing.T) {
	base := another{name: "nothing", add: func(*bank) {}}
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			t.Run("more", func(t *testing.T) { mustChange(t, base, p, p.listed, false) })
			t.Run("fewer", func(t *testing.T) { mustChange(t, p, base, p.listed, p.alone) })
		})
	}
}

// mustChange saves by one program and loads by another.
func mustChange(t *testing.T, from, to another, listed, refused bool) {
	mk := func(a another) *bank {
		x := newBank(1)
		a.add(x)
		x.options.Snapshot.Scheduler = x.s
		return x
	}
	hashOf := func(x *bank) state.Hash {
		hash, err := state.StateHash(x.World, nil)
		require.NoError(t, err)
		return hash
	}
	path := t.TempDir()
	x := mk(from)
	x.options.Snapshot.Scheduler = nil // that of Open
	st, err := x.open(path)
	require.NoError(t, err)
	for range 40 {
		x.step(t)
	}
	_, err = x.ships.Create(x.World, fleet{Ship{5}})
	require.NoError(t, err)
	o := x.options.Snapshot
	o.Scheduler = x.s
	var file bytes.Buffer
	require.NoError(t, snapshot.Save(&file, x.World, o))
	c, err := snapshot.Capture(x.World, o)
	require.NoError(t, err)
	defer c.Release()
	dir := &snapshot.Dir{Path: t.TempDir()}
	_, err = dir.Save(x.World, o)
	require.NoError(t, err)
	want := hashOf(x)

	y := mk(to)
	plan, err := snapshot.PlanLoad(bytes.NewReader(file.Bytes()), y.World, y.options.Snapshot)
	require.NoError(t, err)
	require.Equal(t, listed, len(plan.Differences) > 0, "%v", plan)
	require.Equal(t, refused, len(plan.Refused()) > 0, "%v", plan)
	loads := map[string]func(y *bank) error{
		"file": func(y *bank) error {
			return snapshot.Load(bytes.NewReader(file.Bytes()), y.World, y.options.Snapshot)
		},
		"fork": func(y *bank) error { return c.Load(y.World, y.options.Snapshot) },
		"dir": func(y *bank) error {
			_, err := dir.Load(y.World, y.options.Snapshot)
			return err
		},
	}
	for how, load := range loads {
		y := mk(to)
		if err := load(y); refused {
			require.ErrorIs(t, err, snapshot.ErrOtherWorld, how)
			require.NoError(t, y.Err(), how)
			continue
		} else {
			require.NoError(t, err, how)
		}
		require.Equal(t, x.observe(), y.observe(), how)
		if !listed {
			require.Equal(t, want, hashOf(y), how)
		}
		z := mk(from)
		require.NoError(t, load(z), how)
		for range 80 { // tables come and go
			y.step(t)
			z.step(t)
			require.Equal(t, z.observe(), y.observe(), how)
			if !listed {
				require.Equal(t, hashOf(z), hashOf(y), how)
			}
		}
	}
	now := x.observe()
	require.NoError(t, st.Close())
	y = mk(to)
	y.options.Snapshot.Scheduler = nil
	st, err = y.open(path)
	if refused {
		require.ErrorIs(t, err, snapshot.ErrOtherWorld)
		return
	}
	require.NoError(t, err)
	require.Equal(t, now, y.observe())
	require.NoError(t, st.Close())
}
