package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestEntityLife follows entities of several bundles from creation to death.
func TestEntityLife(t *testing.T) {
	for _, shards := range []int{1, 2, 8} {
		f := newFixture(t, world.Options{Shards: shards})
		position, health := world.Write[Position](f.World), world.Write[Health](f.World)
		name, velocity := world.Read[Name](f.World), world.Read[Velocity](f.World)

		c, err := f.creature.Create(f.World, Creature{Position{1, 2}, Health{3}, Name{"four"}})
		require.NoError(t, err)
		m, err := f.mover.Create(f.World, Mover{Position{5, 6}, Velocity{7, 8}})
		require.NoError(t, err)
		s, err := f.statue.Create(f.World, Statue{Position: Position{9, 10}})
		require.NoError(t, err)
		require.Equal(t, 3, f.Count())
		require.Equal(t, 3, len(map[handle.Handle]bool{c: true, m: true, s: true}))

		t.Run("get", func(t *testing.T) {
			require.Equal(t, Position{1, 2}, *position.Get(c))
			require.Equal(t, Health{3}, *health.Get(c))
			require.Equal(t, Name{"four"}, *name.Get(c))
			require.Nil(t, velocity.Get(c))
			require.Equal(t, Position{5, 6}, *position.Get(m))
			require.Equal(t, Velocity{7, 8}, *velocity.Get(m))
			require.Nil(t, health.Get(m))
			require.Equal(t, Position{9, 10}, *position.Get(s))
			require.NotNil(t, world.Read[Frozen](f.World).Get(s))
			require.Nil(t, world.Read[Frozen](f.World).Get(m))
			require.Same(t, position.Get(c), position.At(f.Locate(c)), "Get is Locate and At")
			require.Nil(t, position.At(f.Locate(handle.None)))
		})
		t.Run("has", func(t *testing.T) {
			for h, want := range map[handle.Handle][]bool{
				c: {true, false, true, true, false}, m: {true, true, false, false, false},
				s: {true, false, false, false, true}, handle.None: {false, false, false, false, false}, c + 1: {false, false, false, false, false},
			} {
				for i, x := range []world.ComponentSet{f.position, f.velocity, f.health, f.name, f.frozen} {
					require.Equal(t, want[i], f.Has(h, x), "%v %d", h, i)
				}
			}
		})
		t.Run("set", func(t *testing.T) {
			require.NoError(t, f.health.Set(f.World, c, Health{30}))
			require.NoError(t, f.name.Set(f.World, c, Name{"forty"}))
			require.Equal(t, Creature{Position{1, 2}, Health{30}, Name{"forty"}},
				Creature{*position.Get(c), *health.Get(c), *name.Get(c)})
			require.ErrorIs(t, f.health.Set(f.World, m, Health{1}), world.ErrMissing)
			require.ErrorIs(t, f.health.Set(f.World, c+1, Health{1}), world.ErrStale)
			health.Get(c).Points = 31
			require.Equal(t, int64(31), world.Read[Health](f.World).Get(c).Points, "a Writer writes through")
		})
		t.Run("destroy", func(t *testing.T) {
			require.True(t, f.Destroy(c))
			require.False(t, f.Destroy(c), "marked before")
			require.False(t, f.Destroy(c+1))
			require.False(t, f.Destroy(handle.None))
			require.True(t, f.Alive(c), "until the refresh")
			require.Equal(t, world.Dying, f.Status(c))
			require.Equal(t, 3, f.Count(), "marked ones included")
			require.Equal(t, Health{31}, *health.Get(c))
			require.NoError(t, f.health.Set(f.World, c, Health{32}))
			f.Refresh()
			require.False(t, f.Alive(c))
			require.Equal(t, world.Stale, f.Status(c))
			require.Equal(t, 2, f.Count())
			require.Nil(t, health.Get(c))
			require.Zero(t, f.Locate(c))
			require.False(t, f.Has(c, f.health))
			require.Equal(t, Position{5, 6}, *position.Get(m))
			require.Equal(t, Position{9, 10}, *position.Get(s))
		})
	}
}

// TestEntityRecycled takes a slot through several tenants: no old handle answers
// for a new one, and destroying through one leaves the tenant alone.
func TestEntityRecycled(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	health := world.Read[Health](f.World)
	var old []handle.Handle
	for i := range int64(20) {
		h := f.newUnit(i)
		for _, o := range old {
			require.Equal(t, h.Index(), o.Index(), "the slot is used again")
			require.False(t, f.Alive(o))
			require.Equal(t, world.Stale, f.Status(o))
			require.Nil(t, health.Get(o))
			require.False(t, f.Destroy(o), "a stale handle kills nobody")
			require.ErrorIs(t, f.health.Set(f.World, o, Health{-1}), world.ErrStale)
			require.ErrorIs(t, f.hit.Send(f.World, o, Hit{}), world.ErrStale)
		}
		f.Refresh()
		require.Equal(t, world.Alive, f.Status(h))
		require.Equal(t, Health{i}, *health.Get(h))
		require.True(t, f.Destroy(h))
		f.Refresh()
		old = append(old, h)
	}
}

// TestEntityClear clears a world with entities in every state.
func TestEntityClear(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 3})
	p := f.port()
	var all []handle.Handle
	for i := range 5000 {
		h, err := f.creature.Create(f.World, Creature{Health: Health{int64(i)}})
		require.NoError(t, err)
		all = append(all, h)
		if i%7 == 0 {
			f.Destroy(h)
		}
		if i%100 == 0 {
			h, err := f.mover.Create(p, Mover{})
			require.NoError(t, err)
			all = append(all, h)
		}
	}
	require.Equal(t, world.Pending, f.Status(all[1]))
	f.Clear()
	require.Zero(t, f.Count())
	require.Zero(t, f.Query().Count())
	for i := range 3 {
		for _, h := range all {
			require.False(t, f.Alive(h))
			require.Equal(t, world.Stale, f.Status(h))
		}
		// New tenants do not bring them back, as resetting the versions would.
		require.NoError(t, f.creature.CreateN(f.World, 6000, nil))
		require.Equal(t, 6000*(i+1), f.Count())
		f.Refresh()
	}
	f.Clear()
	require.Zero(t, f.Count())
	f.Clear()
	f.Refresh()
	require.Zero(t, f.Count(), "an empty world is cleared and refreshed without ado")
}

// TestEntityRefreshAlone refreshes worlds with none, all and no dead: the cases
// that the source document got wrong.
func TestEntityRefreshAlone(t *testing.T) {
	for _, n := range []int{0, 1, 2, 15, 16, 17, 63, 64, 65, 80, 81, 1000} {
		for _, shards := range []int{1, 2} {
			f := newFixture(t, world.Options{Shards: shards})
			f.Refresh()
			all := f.newUnits(n)
			f.Refresh()
			f.Refresh()
			require.Equal(t, n, f.Count(), "all alive")
			for i, h := range all {
				require.Equal(t, int64(i), world.Read[Health](f.World).Get(h).Points)
			}
			for _, h := range all {
				require.True(t, f.Destroy(h))
			}
			require.Equal(t, n, f.Count(), "marked ones count until the refresh")
			f.Refresh()
			require.Zero(t, f.Count(), "all dead")
			for _, h := range all {
				require.False(t, f.Alive(h))
			}
			f.Refresh()
			require.Zero(t, f.Count())
			require.Equal(t, uint64(5), f.Tick())
		}
	}
}

// TestEntityStatusSafeAnywhere asks from other goroutines while a tick runs.
func TestEntityStatusSafeAnywhere(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	h := f.newUnit(1)
	p := f.port()
	stop, asked := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for ; ; n++ {
			select {
			case <-stop:
				asked <- n
				return
			default:
				if !f.Alive(h) || f.Alive(h+1) || p.Status(h) != world.Alive || p.Alive(handle.None) {
					panic("wrong answer")
				}
				f.Tick()
			}
		}
	}()
	for range iterations(200) {
		f.tick(func(b *world.Build) func(*world.Context) {
			b.Creates(f.unit)
			return func(c *world.Context) {
				for range 100 {
					x, err := f.unit.Create(c, Unit{})
					if err != nil || c.Destroy(x) != nil {
						panic("refused")
					}
				}
			}
		})
	}
	close(stop)
	<-asked
	require.Equal(t, 1, f.Count())
}
