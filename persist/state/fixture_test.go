package state_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// The components, messages and resources of the tests.
type (
	// Body has padding of every kind, numbers of every kind, and a field that
	// holds nothing.
	Body struct {
		Small   int8
		Large   float64
		Flags   [3]bool
		Count   uint32
		Inner   Inner
		_       [5]byte
		Wide    complex64
		Target  handle.Handle
		Last    int16
		Numbers [2]Inner
	}
	Inner struct {
		A uint8
		B uint16
		C uint8
	}
	Points struct{ N int64 } // without padding
	Tag    struct{}

	Hit   struct{ Damage int32 }
	Rules struct{ Pace float32 }
	Tally struct{ N uint64 }

	Unit struct {
		Body
		Points
	}
	Marker struct {
		Points
		Tag
	}
)

// fixture is a world with everything above registered.
type fixture struct {
	*world.World
	t      testing.TB
	body   *world.Component[Body]
	points *world.Component[Points]
	tag    *world.Component[Tag]
	hit    *world.Message[Hit]
	rules  *world.Resource[Rules]
	tally  *world.Resource[Tally]
	unit   *world.Bundle[Unit]
	marker *world.Bundle[Marker]
	kin    *hierarchy.Relation
	hasher *state.Hasher
	all    []handle.Handle
}

// options are those of the worlds that are compared.
func options() world.Options { return world.Options{Shards: 2, Seed: 7} }

func newFixture(t testing.TB, o world.Options) *fixture {
	t.Helper()
	w, err := world.New(o)
	require.NoError(t, err)
	return &fixture{
		World: w, t: t,
		body:   world.Register[Body](w, "body"),
		points: world.Register[Points](w, "points"),
		tag:    world.Register[Tag](w, "tag"),
		hit:    world.RegisterMessage[Hit](w, "hit"),
		rules:  world.RegisterResource(w, "rules", Rules{1}),
		tally:  world.RegisterAccumulator(w, "tally", func(total, part *Tally) { total.N += part.N }),
		unit:   world.NewBundle[Unit](w).PlaceBy(func(u Unit) int { return int(u.N) % w.Shards() }),
		marker: world.NewBundle[Marker](w).PlaceBy(func(m Marker) int { return int(m.N) % w.Shards() }),
		kin:    hierarchy.New(w, "kin", hierarchy.Options{}),
		hasher: state.NewHasher(w, nil),
	}
}

// populate makes n units and as many markers, some of them dead by now.
func (f *fixture) populate(n int) *fixture {
	f.t.Helper()
	for i := range n {
		f.create(Unit{Points: Points{int64(i)}})
		h, err := f.marker.Create(f.World, Marker{Points: Points{int64(i)}})
		require.NoError(f.t, err)
		f.all = append(f.all, h)
	}
	for i := 1; i < len(f.all); i += 5 {
		f.World.Destroy(f.all[i])
	}
	f.Refresh()
	return f
}

func (f *fixture) create(u Unit) handle.Handle {
	f.t.Helper()
	h, err := f.unit.Create(f.World, u)
	require.NoError(f.t, err)
	f.all = append(f.all, h)
	return h
}

func (f *fixture) hash() state.Hash {
	f.t.Helper()
	h, err := f.hasher.StateHash()
	require.NoError(f.t, err)
	return h
}

// differs returns the names of the sections in which another world differs.
func (f *fixture) differs(other *fixture) (names []string) {
	f.t.Helper()
	mine, err := f.hasher.Sections()
	require.NoError(f.t, err)
	theirs, err := other.hasher.Sections()
	require.NoError(f.t, err)
	for i := range min(len(mine), len(theirs)) {
		if mine[i] != theirs[i] {
			names = append(names, theirs[i].Name)
		}
	}
	return names
}

// port opens a port that is closed with the test.
func (f *fixture) port() *world.Port {
	f.t.Helper()
	p, err := f.OpenPort()
	require.NoError(f.t, err)
	return p
}
