package reference_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// TestOwnWhatNobodyWasGiven owns handles of ports that no port has given to a caller: those in the
// pool, in the hand of a port, taken back, and not drawn yet. Nobody owns them, and whoever gets
// them later keeps its entity.
func TestOwnWhatNobodyWasGiven(t *testing.T) {
	f := newFixture(t)
	p, err := f.OpenPort()
	require.NoError(t, err)
	var dead []handle.Handle
	for range 40 {
		h, err := f.units.Create(p, Unit{})
		require.NoError(t, err)
		dead = append(dead, h)
	}
	f.Refresh()
	require.NoError(t, p.DestroyN(dead))
	f.Refresh()
	home := uint32(f.Shards())
	owners := map[string]func(h handle.Handle) bool{
		"World": func(h handle.Handle) bool {
			o := reference.Own(f.World, h, nil)
			o.Release()
			return o.Shares() > 0 || o.Alive()
		},
		"Port": func(h handle.Handle) bool {
			o := reference.Own(p, h, nil)
			defer o.Release()
			return o.Handle() != handle.None
		},
		"Weak": func(h handle.Handle) bool { r := reference.To(p, h); return r.Destroy() },
	}
	for i := range uint32(3000) {
		for version := uint32(1); version <= 3; version++ {
			h := handle.New(home, i, version)
			for name, own := range owners {
				require.False(t, own(h), "%s, %v, %v", name, h, p.Status(h))
			}
			require.NotEqual(t, world.Pending, p.Status(h))
			require.NotEqual(t, world.Pending, f.Status(h))
		}
	}
	f.Refresh()
	for range 3000 {
		h, err := f.units.Create(p, Unit{})
		require.NoError(t, err)
		require.Equal(t, world.Pending, p.Status(h))
	}
	f.Refresh()
	f.Refresh()
	require.Equal(t, 3000, f.Count(), "nothing was destroyed")
}

// TestReleasesLeaveTheList releases pending entities: what is created or taken back is on the list
// of no later refresh, and what was given and is to come is.
func TestReleasesLeaveTheList(t *testing.T) {
	f := newFixture(t)
	p, err := f.OpenPort()
	require.NoError(t, err)
	liveness := engine.Of(f.World).Liveness()
	takenBack := errors.New("taken back")
	for _, result := range []error{takenBack, nil} {
		var all []handle.Handle
		require.ErrorIs(t, p.Batch(func() error {
			for range 100 {
				h, err := f.units.Create(p, Unit{})
				require.NoError(t, err)
				o := reference.Own(f.World, h, nil)
				require.Equal(t, h, o.Handle())
				o.Release()
				all = append(all, h)
			}
			f.Refresh()
			return result
		}), result)
		f.Refresh() // creates them, or makes them stale
		for range 2 {
			for _, h := range all {
				_, ok := liveness.State(h)
				require.False(t, ok, "%v", p.Status(h))
			}
			f.Refresh()
			require.Zero(t, f.Count())
		}
	}
}

// TestSystemRefersToWhatIsAlive has a system and a function refer to what a port has given: what is
// pending depends on time, so they do not find it.
func TestSystemRefersToWhatIsAlive(t *testing.T) {
	f := newFixture(t)
	p, err := f.OpenPort()
	require.NoError(t, err)
	alive := f.unit()
	var pending handle.Handle
	look := func(by world.Actor) {
		weak, found := reference.To(by, pending), reference.To(by, alive)
		o, a := reference.Own(by, pending, nil), reference.Own(by, alive, nil)
		require.Equal(t, reference.Weak{}, weak)
		require.True(t, found.Alive())
		require.Zero(t, o.Shares())
		require.Equal(t, 1, a.Shares())
		o.Release()
	}
	function := world.RegisterFunc(f.World, "look", func(self *world.EntityContext, _ int) { look(self) })
	pending, err = f.units.Create(p, Unit{})
	require.NoError(t, err)
	require.NoError(t, function.Call(f.World, alive, 0))
	require.NoError(t, f.Failure())
	r := reference.To(p, pending)
	f.Refresh()
	require.True(t, r.Alive())
	require.True(t, f.Alive(pending))
}
