package snapshot_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// bay is a world with a relation and names.
type bay struct {
	*world.World
	plain *world.Bundle[struct{ Extra }]
	in    *hierarchy.Relation
	names *names.Names[string]
}

func newBay(r hierarchy.Options, n names.Options) *bay {
	x := &bay{World: world.MustNew(world.Options{})}
	world.Register[Extra](x.World, "extra")
	x.plain = world.NewBundle[struct{ Extra }](x.World)
	x.in = hierarchy.New(x.World, "in", r)
	x.names = names.New[string](x.World, "called", n)
	return x
}

// savedBay saves a bay with a list of 20 places, a long name, and requests that were refused.
func savedBay(t *testing.T) (image []byte, hs []handle.Handle) {
	x := newBay(hierarchy.Options{}, names.Options{})
	hs, err := x.plain.AppendN(nil, x.World, 3, nil)
	require.NoError(t, err)
	require.NoError(t, x.in.SetPlaces(x.World, hs[0], 20))
	require.NoError(t, x.in.Put(x.World, hs[1], hs[0], 19))
	require.NoError(t, x.names.Bind(x.World, hs[2], "a long name"))
	p, err := x.OpenPort()
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, x.in.AddChild(p, hs[2], hs[1]))
		require.NoError(t, x.names.Bind(p, hs[0], "a long name"))
	}
	x.Refresh()
	var saved bytes.Buffer
	require.NoError(t, snapshot.Write(&saved, x.World, snapshot.Options{}))
	return saved.Bytes(), hs
}

// TestExtensionOptions refuses an extension of another kind, before the world is touched.
func TestExtensionOptions(t *testing.T) {
	image, hs := savedBay(t)
	for want, w := range map[string]*world.World{
		`extension "called" (names of string, LengthMax 256, ConflictsMax 1024 → names of int64, LengthMax 256, ConflictsMax 1024)`: func() *world.World {
			w := world.MustNew(world.Options{})
			world.Register[Extra](w, "extra")
			hierarchy.New(w, "in", hierarchy.Options{})
			names.New[int64](w, "called", names.Options{})
			return w
		}(),
		`is of another kind: give the new one another name, and keep the old one beside it until it is empty; Dropped("in") LOSES 1 CHILD`: func() *world.World {
			w := world.MustNew(world.Options{})
			world.Register[Extra](w, "extra")
			names.New[string](w, "in", names.Options{})
			names.New[string](w, "called", names.Options{})
			return w
		}(),
	} {
		plan, err := snapshot.PlanLoad(bytes.NewReader(image), w, snapshot.Options{})
		require.NoError(t, err)
		require.Len(t, plan.Blocking(), 1)
		require.Contains(t, plan.String(), want)
		err = snapshot.Load(bytes.NewReader(image), w, snapshot.Options{})
		require.ErrorIs(t, err, snapshot.ErrOtherWorld)
		require.ErrorContains(t, err, want)
		require.NoError(t, w.Err(), "the world is as it was")
		require.False(t, w.Alive(hs[0]))
		var now bytes.Buffer
		require.NoError(t, snapshot.Write(&now, w, snapshot.Options{}))
		plan, err = snapshot.PlanFiles(bytes.NewReader(image), &now, snapshot.Options{})
		require.NoError(t, err)
		require.Contains(t, plan.String(), want)
	}
}

// TestExtensionLimits loads into worlds with other limits: what is beyond them stays, and they
// count from then on.
func TestExtensionLimits(t *testing.T) {
	image, hs := savedBay(t)
	for _, change := range []func(r *hierarchy.Options, n *names.Options){
		func(*hierarchy.Options, *names.Options) {},
		func(r *hierarchy.Options, _ *names.Options) { r.ConflictsMax = 2 },
		func(r *hierarchy.Options, _ *names.Options) { r.PlacesMax = 9 },
		func(r *hierarchy.Options, _ *names.Options) {
			r.OnParentDeath, r.OnChildDeath = hierarchy.Orphan, hierarchy.Swap
		},
		func(r *hierarchy.Options, _ *names.Options) { r.Places = 4 }, // for lists that are made from now on
		func(_ *hierarchy.Options, n *names.Options) { n.LengthMax = 4 },
		func(_ *hierarchy.Options, n *names.Options) { n.ConflictsMax = 1 },
		func(r *hierarchy.Options, n *names.Options) {
			*r, *n = hierarchy.Options{PlacesMax: 1 << 20, ConflictsMax: 5000}, names.Options{LengthMax: 1000, ConflictsMax: 5000}
		},
	} {
		var r hierarchy.Options
		var n names.Options
		change(&r, &n)
		x := newBay(r, n)
		plan, err := snapshot.PlanLoad(bytes.NewReader(image), x.World, snapshot.Options{})
		require.NoError(t, err)
		require.Empty(t, plan.Blocking())
		require.Equal(t, !reflect.DeepEqual(r, hierarchy.Options{}) || n != names.Options{}, strings.Contains(plan.String(), "has other options, which count from now on: what is beyond its limits stays"))
		require.NoError(t, snapshot.Load(bytes.NewReader(image), x.World, snapshot.Options{}))

		read := x.in.Read(x.World)
		require.Equal(t, 20, len(read.Children(hs[0])))
		require.Equal(t, hs[1], read.At(hs[0], 19))
		named, ok := x.names.Lookup("a long name")
		require.Equal(t, []any{hs[2], true}, []any{named, ok})
		require.Len(t, read.Conflicts(), min(3, x.in.Options().ConflictsMax))
		require.Len(t, x.names.Conflicts(), min(3, x.names.Options().ConflictsMax))

		if n.LengthMax == 4 {
			require.ErrorIs(t, x.names.Bind(x.World, hs[0], "as long a one"), names.ErrLength)
		}
		if r.PlacesMax == 9 {
			require.ErrorIs(t, x.in.SetPlaces(x.World, hs[2], 10), hierarchy.ErrPlace)
		}
		var again bytes.Buffer
		require.NoError(t, snapshot.Write(&again, x.World, snapshot.Options{}))
		y := newBay(r, n)
		require.NoError(t, snapshot.Load(&again, y.World, snapshot.Options{}))
		was, err := state.StateHash(x.World, nil)
		require.NoError(t, err)
		is, err := state.StateHash(y.World, nil)
		require.NoError(t, err)
		require.Equal(t, was, is)
	}
}
