package world_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/driver"
	"github.com/atoll-sim/atoll/world"
)

// soul is an entity in a saved state.
type soul struct {
	shard  int
	handle handle.Handle
	health int64
}

// saved is a state: entities in the order of their rows, and what slots give next.
type saved struct {
	layout        world.Layout
	souls         []soul
	free, retired []handle.Handle
}

func save(f *fixture) (s saved) {
	health := world.Read[Health](f.World)
	v := driver.Of(f.World).Survey()
	for i := range f.Shards() {
		for _, t := range v.Shard(i).Tables() {
			for _, c := range t.Chunks() {
				for _, h := range c.Handles() {
					s.souls = append(s.souls, soul{i, h, health.Get(h).Points})
				}
			}
		}
	}
	s.layout = f.Layout()
	s.free, s.retired = f.Vacant()
	return s
}

func (s saved) restore(f *fixture) error {
	return f.Restore(s.layout, func(r *world.Restoration) error {
		for _, x := range s.souls {
			if err := f.unit.Recreate(r, x.shard, x.handle, Unit{Health{x.health}}); err != nil {
				return err
			}
		}
		for _, h := range s.free {
			if err := r.Free(h); err != nil {
				return err
			}
		}
		for _, h := range s.retired {
			if err := r.Retire(h); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestRestoreRandom saves worlds that have lived a while, restores them, and lets both
// go on: they give the same handles, and what is stale stays so.
func TestRestoreRandom(t *testing.T) {
	for round := range iterations(20) + 4 {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			o := world.Options{Shards: 1 + round%5, VersionMax: 1 + r.Uint32N(5), IndexMax: 1<<12 + r.Uint32N(1<<12)}
			f, g := newFixture(t, o), newFixture(t, o)
			for _, f := range []*fixture{f, g} {
				f.unit.PlaceBy(func(u Unit) int { return int(u.Points) % f.Shards() })
			}
			known := live(t, f, r)
			s := save(f)
			require.NoError(t, s.restore(g))
			require.Equal(t, s, save(g))
			require.Equal(t, f.Count(), g.Count())
			for _, h := range known {
				require.Equal(t, f.Alive(h), g.Alive(h))
				if f.Alive(h) {
					require.Equal(t, f.Status(h), g.Status(h))
				}
			}
			require.Equal(t, goOn(t, f), goOn(t, g))
			newcomers(t, g, known)
		})
	}
}

// live makes a world live for some ticks and returns every handle that was known.
func live(t *testing.T, f *fixture, r *rand.Rand) (known []handle.Handle) {
	p, err := f.OpenPort()
	require.NoError(t, err)
	for range 6 {
		n, size := len(known), r.IntN(500)
		known, err = f.unit.AppendN(known, f.World, size, func(i int, u *Unit) { u.Points = r.Int64N(100) })
		require.NoError(t, err)
		for range r.IntN(100) {
			h, err := f.unit.Create(p, Unit{Health{r.Int64N(100)}})
			require.NoError(t, err)
			known = append(known, h)
		}
		f.Refresh()
		for range r.IntN(3 * (len(known) - n + 1)) {
			h := known[r.IntN(len(known))]
			if r.IntN(4) == 0 && f.Status(h) == world.Alive {
				require.NoError(t, world.Move(f.World, h, r.IntN(f.Shards())))
			} else {
				f.Destroy(h)
			}
		}
		f.Refresh()
	}
	for range 5 { // of which the save knows nothing, but somebody does
		h, err := f.unit.Create(p, Unit{})
		require.NoError(t, err)
		known = append(known, h)
	}
	return known
}

// goOn creates by the idle world and returns what handles that gives.
func goOn(t *testing.T, f *fixture) []handle.Handle {
	hs, err := f.unit.AppendN(nil, f.World, 1500, func(i int, u *Unit) { u.Points = int64(i % 7) })
	if err != nil { // out of indexes, at the same place
		require.ErrorIs(t, err, world.ErrIndexes)
	}
	return hs
}

// newcomers creates by a port and checks that nobody has known the handles.
func newcomers(t *testing.T, f *fixture, known []handle.Handle) {
	p, err := f.OpenPort()
	require.NoError(t, err)
	seen := map[handle.Handle]bool{}
	for _, h := range known {
		seen[h] = true
	}
	f.Refresh() // used handles come with it
	for range 300 {
		h, err := f.unit.Create(p, Unit{})
		require.NoError(t, err)
		require.False(t, seen[h], "%v was given before", h)
		seen[h] = true
	}
	f.Refresh()
}

// TestRestoreGaps restores two entities alone: the slots between are free, in order.
func TestRestoreGaps(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	err := f.Restore(f.Layout(), func(r *world.Restoration) error {
		require.NoError(t, r.Free(handle.New(0, 4, 9)))
		require.NoError(t, r.Free(handle.New(0, 1, 7)))
		require.NoError(t, r.Retire(handle.New(0, 3, 5)))
		return errors.Join(
			f.unit.Recreate(r, 0, handle.New(0, 6, 3), Unit{Health{6}}),
			f.unit.Recreate(r, 0, handle.New(0, 2, 1), Unit{Health{2}}))
	})
	require.NoError(t, err)
	require.Equal(t, int64(6), world.Read[Health](f.World).Get(handle.New(0, 6, 3)).Points)
	var got []string
	for range 6 {
		h, err := f.unit.Create(f.World, Unit{})
		require.NoError(t, err)
		got = append(got, h.String())
	}
	require.Equal(t, []string{"0:1@7", "0:4@9", "0:0@1", "0:5@1", "0:7@1", "0:8@1"}, got)
	require.Equal(t, world.Stale, f.Status(handle.New(0, 6, 2)))
	f.Destroy(handle.New(0, 6, 3))
	f.Refresh()
	h, err := f.unit.Create(f.World, Unit{})
	require.NoError(t, err)
	require.Equal(t, "0:6@4", h.String())
}

// TestRestoreThenPort creates by a port where a restore has ended just before the end of a
// page of slots.
func TestRestoreThenPort(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	require.NoError(t, f.Restore(f.Layout(), func(r *world.Restoration) error {
		return f.unit.Recreate(r, 0, handle.New(1, 1<<10|1020, 1), Unit{Health{7}})
	}))
	p, given := f.port(), map[handle.Handle]bool{}
	for range 3000 {
		h, err := f.unit.Create(p, Unit{Health{1}})
		require.NoError(t, err)
		require.False(t, given[h], "%v is given twice", h)
		given[h] = true
	}
	f.Refresh()
	require.Equal(t, 3001, f.Count())
}

// TestRestoreRefuses names what is wrong.
func TestRestoreRefuses(t *testing.T) {
	o := world.Options{Shards: 2, IndexMax: 5000, VersionMax: 9}
	good := handle.New(1, 1<<10, 3) // the first of its home, whose index is spread
	for name, c := range map[string]struct {
		h  handle.Handle
		in int
		is error
	}{
		"none":             {handle.None, 0, world.ErrRestore},
		"version 0":        {handle.New(1, 2, 1) - 1, 0, world.ErrRestore},
		"version too high": {handle.New(1, 1<<10, 10), 0, world.ErrRestore},
		"home":             {handle.New(3, 0, 1), 0, world.ErrRestore},
		"index":            {handle.New(0, 5<<12, 1), 0, world.ErrRestore},
		"given":            {good, 0, world.ErrRestore},
		"other version":    {good + 1, 0, world.ErrRestore},
		"shard":            {handle.New(1, 1<<10+1, 1), 2, world.ErrRestore},
		"shard below":      {handle.New(1, 1<<10+1, 1), -1, world.ErrRestore},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, o)
			err := f.Restore(f.Layout(), func(r *world.Restoration) error {
				require.NoError(t, f.unit.Recreate(r, 1, good, Unit{}))
				err := f.unit.Recreate(r, c.in, c.h, Unit{})
				require.ErrorIs(t, err, c.is)
				if c.in == 0 {
					require.ErrorIs(t, r.Free(c.h), c.is)
					require.ErrorIs(t, r.Retire(c.h), c.is)
				}
				return err
			})
			require.ErrorIs(t, err, c.is)
			require.True(t, f.Alive(good))
			require.Equal(t, 1, f.Count())
			goOn(t, f)
		})
	}
	used := newFixture(t, o)
	_, err := used.unit.Create(used.World, Unit{})
	require.NoError(t, err)
	used.Clear()
	never := func(*world.Restoration) error { panic("called") }
	require.ErrorIs(t, used.Restore(used.Layout(), never), world.ErrRestore)
	other := newFixture(t, world.Options{Shards: 3})
	require.ErrorIs(t, other.Restore(used.Layout(), never), world.ErrRestore)
	var kept *world.Restoration
	fresh := newFixture(t, o)
	require.NoError(t, fresh.Restore(fresh.Layout(), func(r *world.Restoration) error {
		kept = r
		require.Panics(t, func() { fresh.Refresh() })
		return nil
	}))
	require.Panics(t, func() { _ = kept.Free(good) })
}

// TestRestorePorts has ports that were opened before create during a restore: they cannot,
// and what is restored stays whole.
func TestRestorePorts(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	p := f.port()
	h := handle.New(1, 0, 1)
	require.NoError(t, f.Restore(f.Layout(), func(r *world.Restoration) error {
		_, err := f.unit.Create(p, Unit{})
		require.ErrorIs(t, err, world.ErrIndexes)
		require.ErrorContains(t, err, "create when World.Restore has returned")
		return f.unit.Recreate(r, 0, h, Unit{})
	}))
	given := map[handle.Handle]bool{h: true}
	for range 100 {
		h, err := f.unit.Create(p, Unit{})
		require.NoError(t, err)
		require.False(t, given[h], "%v is given twice", h)
		given[h] = true
	}
	f.Refresh()
	require.Equal(t, len(given), f.Count())
	for h := range given {
		require.True(t, f.Alive(h))
	}
	require.Error(t, f.Restore(f.Layout(), nil))
	_, err := f.unit.Create(p, Unit{})
	require.NoError(t, err, "a restore that was refused hinders nobody")
}
