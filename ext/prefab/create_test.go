package prefab_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestCreate makes an instance by each actor.
func TestCreate(t *testing.T) {
	t.Run("world", func(t *testing.T) {
		f := newFixture(t, world.Options{})
		orc := f.orc()
		h, err := orc.Create(f.w)
		require.NoError(t, err)
		f.mustBeOrc(h)
		require.Equal(t, 3, f.w.Count())
	})
	t.Run("port", func(t *testing.T) {
		f := newFixture(t, world.Options{})
		orc := f.orc()
		p, err := f.w.OpenPort()
		require.NoError(t, err)
		h, err := orc.Create(p)
		require.NoError(t, err)
		require.False(t, f.w.Alive(h))
		f.w.Refresh()
		f.mustBeOrc(h)
		require.Equal(t, 3, f.w.Count())
	})
	t.Run("systems", func(t *testing.T) {
		f := newFixture(t, world.Options{})
		orc := f.orc()
		made := make([]handle.Handle, f.w.Shards())
		f.sched.MustAdd("make", func(b *world.Build) func(*world.Context) {
			b.Creates(orc)
			return func(c *world.Context) {
				h, err := orc.Create(c)
				require.NoError(t, err)
				require.True(t, c.Owns(h))
				made[c.Shard()] = h
			}
		})
		f.tick()
		for _, h := range made {
			f.mustBeOrc(h)
		}
	})
	t.Run("global system", func(t *testing.T) {
		f := newFixture(t, world.Options{})
		orc, h := f.orc(), handle.None
		f.sched.MustAdd("make", func(b *world.Build) func(*world.Context) {
			b.Creates(orc)
			return func(c *world.Context) {
				var err error
				h, err = orc.Create(c, prefab.In(2))
				require.NoError(t, err)
			}
		}, scheduler.Global())
		f.tick()
		f.mustBeOrc(h)
		owner, _ := f.w.Owner(h)
		require.Equal(t, 2, owner)
	})
	t.Run("function", func(t *testing.T) {
		f := newFixture(t, world.Options{})
		orc, h := f.orc(), handle.None
		spawn := world.RegisterFunc(f.w, "spawn", func(s *world.EntityContext, _ struct{}) {
			var err error
			h, err = orc.Create(s)
			require.NoError(t, err)
		})
		first, err := orc.Create(f.w)
		require.NoError(t, err)
		p, err := f.w.OpenPort()
		require.NoError(t, err)
		require.NoError(t, spawn.Call(p, first, struct{}{}))
		f.w.Refresh()
		require.True(t, f.w.Alive(h))
		require.Zero(t, f.holds.Read(f.w).Count(h))
		f.w.Refresh()
		f.mustBeOrc(h)
	})
	t.Run("hook", func(t *testing.T) {
		f := newFixture(t, world.Options{})
		orc, h := f.orc(), handle.None
		f.w.Observe("spawn", world.OnDestroy, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
			b.Creates(orc)
			return func(c *world.Context, _ world.Event, _ []handle.Handle) {
				var err error
				h, err = orc.Create(c)
				require.NoError(t, err)
			}
		}, f.health)
		first, err := orc.Create(f.w)
		require.NoError(t, err)
		require.True(t, f.w.Destroy(first))
		f.w.Refresh()
		f.w.Refresh()
		f.mustBeOrc(h)
	})
}

// TestCreateWith gives the root other values.
func TestCreateWith(t *testing.T) {
	f := newFixture(t, world.Options{})
	orc := f.orc()
	p, err := f.w.OpenPort()
	require.NoError(t, err)
	for _, by := range []world.Actor{f.w, p} {
		all, err := orc.Append(nil, by, prefab.With(f.health, health{1, 2}), prefab.In(3),
			prefab.With(f.wields, wields{prefab.Local(2), prefab.Local(0)}))
		require.NoError(t, err)
		plain, err := orc.Create(by)
		require.NoError(t, err)
		f.w.Refresh()
		require.Len(t, all, orc.Len())
		require.Equal(t, health{1, 2}, get[health](f, all[0]))
		require.Equal(t, wields{all[2], all[0]}, get[wields](f, all[0]))
		for _, h := range all {
			owner, _ := f.w.Owner(h)
			require.Equal(t, 3, owner)
		}
		f.mustBeOrc(plain)
	}
}

// TestCreateN makes many, and tells how many.
func TestCreateN(t *testing.T) {
	f := newFixture(t, world.Options{})
	orc := f.orc()
	p, err := f.w.OpenPort()
	require.NoError(t, err)
	for _, by := range []world.Actor{f.w, p} {
		before := f.w.Count()
		made, err := orc.CreateN(by, 100, func(i int, x *prefab.Instance) {
			x.Set(0, prefab.With(f.health, health{i, 100}))
			x.Set(1, prefab.With(f.damage, damage{i}))
			x.Set(0, prefab.In(i%4))
		})
		require.NoError(t, err)
		require.Equal(t, 100, made)
		f.w.Refresh()
		require.Equal(t, 300, f.w.Count()-before)
		sum := 0
		q := f.w.Query(world.With[health](f.w))
		for rows := range q.Chunks() {
			for _, h := range rows.Handles() {
				hp := get[health](f, h)
				if hp.Max == 100 {
					require.Equal(t, damage{hp.Points}, get[damage](f, get[wields](f, h).Weapon))
					owner, _ := f.w.Owner(h)
					require.Equal(t, hp.Points%4, owner)
					sum++
				}
			}
		}
		require.NotZero(t, sum)
	}
}
