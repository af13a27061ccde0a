package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// perShard counts the atoms of each shard.
func (f *fixture) perShard() []int {
	n := make([]int, f.Shards())
	for i, s := range f.stats().Shards {
		n[i] = s.Entities
	}
	return n
}

// evenly checks that the shards hold the same number, up to a run.
func evenly(t *testing.T, perShard []int, run int) {
	t.Helper()
	least, most := perShard[0], perShard[0]
	for _, n := range perShard {
		least, most = min(least, n), max(most, n)
	}
	require.LessOrEqual(t, most-least, run, "%v", perShard)
}

func TestPlaceRoundRobin(t *testing.T) {
	const shards, n = 5, 5*160 + 3
	for name, create := range map[string]func(f *fixture){
		"World, one by one": func(f *fixture) { f.newUnits(n) },
		"World, in numbers": func(f *fixture) { require.NoError(t, f.unit.CreateN(f.World, n, nil)) },
		"Port, one by one": func(f *fixture) {
			p := f.port()
			for range n {
				_, err := f.unit.Create(p, Unit{})
				require.NoError(t, err)
			}
		},
		"Port, in numbers": func(f *fixture) { require.NoError(t, f.unit.CreateN(f.port(), n, nil)) },
		"many Ports": func(f *fixture) {
			for range n {
				_, err := f.unit.Create(f.port(), Unit{})
				require.NoError(t, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, world.Options{Shards: shards})
			create(f)
			f.Refresh()
			require.Equal(t, n, f.Count())
			evenly(t, f.perShard(), 64)

			again := newFixture(t, world.Options{Shards: shards})
			create(again)
			again.Refresh()
			require.Equal(t, f.perShard(), again.perShard(), "the same calls give the same world")
		})
	}
}

// TestPlaceSmallWorld fills a world with its default placement: the first 4,096 entities fill one
// shard after the other, by whatever calls they are created, and the shards are even from there on.
func TestPlaceSmallWorld(t *testing.T) {
	rows := func(world.Chunk) {}
	for name, create := range map[string]func(b *world.Bundle[Unit], w *world.World, n int) error{
		"Create": func(b *world.Bundle[Unit], w *world.World, n int) error {
			for range n {
				if _, err := b.Create(w, Unit{}); err != nil {
					return err
				}
			}
			return nil
		},
		"CreateN":    func(b *world.Bundle[Unit], w *world.World, n int) error { return b.CreateN(w, n, nil) },
		"CreateRows": func(b *world.Bundle[Unit], w *world.World, n int) error { return b.CreateRows(w, n, rows) },
		"AppendN of 1": func(b *world.Bundle[Unit], w *world.World, n int) error {
			for range n {
				if _, err := b.AppendN(nil, w, 1, nil); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := world.MustNew(world.Options{})
			world.Register[Health](w, "health")
			f := &fixture{World: w, t: t, unit: world.NewBundle[Unit](w)}
			made := 0
			to := func(n int) []int {
				require.NoError(t, create(f.unit, w, n-made))
				made = n
				return f.perShard()
			}
			require.Equal(t, []int{16, 0, 0, 0}, to(16))
			require.Equal(t, []int{500, 0, 0, 0}, to(500))
			require.Equal(t, []int{1024, 176, 0, 0}, to(1200))
			require.Equal(t, []int{1024, 1024, 1024, 928}, to(4000))
			evenly(t, to(8000), 1024)
			evenly(t, to(60_000), 1024)

			w.Query().Destroy()
			w.Refresh()
			made = 0
			in := 0 // how many shards have some
			for _, n := range to(100) {
				if n > 0 {
					in++
				}
			}
			require.LessOrEqual(t, in, 2, "the rest of a run, and the first shard")
			_ = to(2000)
			w.Query().Destroy()
			w.Refresh()
			require.NoError(t, f.unit.CreateN(w, 5000, nil))
			require.Equal(t, []int{1250, 1250, 1250, 1250}, f.perShard(), "many at once")
		})
	}
}

// TestPlaceReserved reserves room for a small world, which is created in one shard, and for one
// that has no more indexes than that takes.
func TestPlaceReserved(t *testing.T) {
	for _, n := range []int{16, 300, 1000, 2000} {
		w := world.MustNew(world.Options{})
		world.Register[Health](w, "health")
		f := &fixture{World: w, t: t, unit: world.NewBundle[Unit](w)}
		require.NoError(t, f.unit.Reserve(w, n))
		before := f.stats().Chunks
		f.newUnits(n / 2)
		require.NoError(t, f.unit.CreateN(w, n-n/2, nil))
		require.Equal(t, before, f.stats().Chunks, "there was room for %d", n)
	}
	w := world.MustNew(world.Options{IndexMax: 99})
	world.Register[Health](w, "health")
	b := world.NewBundle[Unit](w)
	require.NoError(t, b.Reserve(w, 400))
	require.NoError(t, b.CreateN(w, 400, nil))
	require.ErrorIs(t, b.CreateN(w, 1, nil), world.ErrIndexes)
}

// TestPlaceNested creates from a bundle within a CreateRows of another: each takes from the run
// what it needs.
func TestPlaceNested(t *testing.T) {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	world.Register[Frozen](w, "frozen")
	type ice struct{ Frozen }
	f := &fixture{World: w, t: t, unit: world.NewBundle[Unit](w)}
	ices := world.NewBundle[ice](w)
	made := 0
	for range 20 {
		require.NoError(t, f.unit.CreateRows(w, 100, func(rows world.Chunk) {
			made += 4 * rows.Len()
			for range 3 * rows.Len() {
				_, err := ices.Create(w, ice{})
				require.NoError(t, err)
			}
		}))
	}
	require.Equal(t, 20*400, made)
	require.Equal(t, made, w.Count())
	evenly(t, f.perShard(), 700)
}

// TestPlaceInLongRuns fills a world one by one: the runs grow with it, and the shards
// stay even.
func TestPlaceInLongRuns(t *testing.T) {
	const shards = 5
	f := newFixture(t, world.Options{Shards: shards})
	run, longest, before := 0, 0, -1
	for n := 1; n <= 60_000; n++ {
		if at, _ := f.Owner(f.newUnit(int64(n))); at != before {
			run, before = 0, at
		}
		run++
		require.LessOrEqual(t, run, max(64, n/shards/8))
		longest = max(longest, run)
		if n%10_000 == 0 {
			evenly(t, f.perShard(), longest)
		}
	}
	require.Equal(t, 1024, longest)
}

// TestPlaceBy places by the value, whoever creates; a system creates in its own
// shard regardless.
func TestPlaceBy(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 4})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) })
	p := f.port()
	for i := range int64(4) {
		for range i {
			h, err := f.unit.Create(f.World, Unit{Health{i}})
			require.NoError(t, err)
			require.Equal(t, uint32(i), h.Home(), "at home where it is")
		}
		_, err := f.unit.Create(p, Unit{Health{i}})
		require.NoError(t, err)
		require.NoError(t, f.unit.CreateN(f.World, 10, func(_ int, u *Unit) { u.Points = i }))
		require.NoError(t, f.unit.CreateN(p, 10, func(_ int, u *Unit) { u.Points = i }))
	}
	f.Refresh()
	require.Equal(t, []int{21, 22, 23, 24}, f.perShard())

	f.tick(func(b *world.Build) func(*world.Context) {
		b.Creates(f.unit)
		return func(c *world.Context) {
			h, err := f.unit.Create(c, Unit{Health{3}})
			require.NoError(t, err)
			require.Equal(t, uint32(c.Shard()), h.Home())
			require.True(t, c.Owns(h))
			require.NoError(t, f.unit.CreateN(c, 9, func(_ int, u *Unit) { u.Points = 2 }))
		}
	})
	require.Equal(t, []int{31, 32, 33, 34}, f.perShard())
}

// TestPlaceByFailureCostsNothing places out of range from a port: the port goes on
// as if nothing had been asked.
func TestPlaceByFailureCostsNothing(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2, IndexMax: 3})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) })
	p := f.port()
	var done world.Completion
	for range 10 {
		_, err := f.unit.Create(p.Notify(&done), Unit{Health{2}})
		require.ErrorContains(t, err, "PlaceBy chose shard 2, want 0 to 1")
	}
	var given []handle.Handle
	for range 4 {
		h, err := f.unit.Create(p.Notify(&done), Unit{Health{1}})
		require.NoError(t, err)
		given = append(given, h)
		f.Refresh()
		require.Equal(t, world.Applied, done.Outcome())
	}
	require.Equal(t, 4, f.Count())
	for _, h := range given {
		require.Equal(t, world.Alive, f.Status(h))
	}
}
