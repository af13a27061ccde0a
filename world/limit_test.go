package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestLimitIndexes fills a world, makes room by destroying, and fills it again.
// Each home has IndexMax+1 slots.
func TestLimitIndexes(t *testing.T) {
	const indexMax, shards = 9, 2
	f := newFixture(t, world.Options{Shards: shards, IndexMax: indexMax})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) })
	p := f.port()
	create := map[string]func() (handle.Handle, error){
		"shard 0": func() (handle.Handle, error) { return f.unit.Create(f.World, Unit{Health{0}}) },
		"shard 1": func() (handle.Handle, error) { return f.unit.Create(f.World, Unit{Health{1}}) },
		"port":    func() (handle.Handle, error) { return f.unit.Create(p, Unit{Health{1}}) },
		"system": func() (h handle.Handle, err error) {
			f.tick(on(0, func(b *world.Build) func(*world.Context) {
				b.Creates(f.unit)
				return func(c *world.Context) { h, err = f.unit.Create(c, Unit{}) }
			}))
			return h, err
		},
	}
	room := map[string]int{"shard 0": indexMax + 1, "shard 1": indexMax + 1, "port": indexMax + 1, "system": 0}
	homes := map[string]string{"shard 0": "home 0", "shard 1": "home 1", "port": "the home of ports, which all ports share,", "system": "home 0"}
	all := map[handle.Handle]bool{}
	for round := range 5 {
		for _, by := range []string{"shard 0", "shard 1", "port", "system"} {
			for range room[by] {
				h, err := create[by]()
				require.NoError(t, err, "round %d, by %s", round, by)
				require.False(t, all[h])
				all[h] = true
			}
			for range 3 {
				h, err := create[by]()
				require.ErrorIs(t, err, world.ErrIndexes)
				require.ErrorContains(t, err, homes[by]+" has given all of IndexMax = 9")
				require.Equal(t, handle.None, h)
				f.Refresh()
			}
		}
		require.Equal(t, (shards+1)*(indexMax+1), f.Count())
		for h := range all {
			f.Destroy(h)
		}
		f.Refresh()
		f.Refresh()
		require.Zero(t, f.Count())
	}
}

// TestLimitIndexesOfAll fills every shard there is, whoever's turn it is, before it is told
// that there is no index.
func TestLimitIndexesOfAll(t *testing.T) {
	const indexMax, shards, room = 99, 13, 13 * 100
	for name, create := range map[string]func(f *fixture) (int, error){
		"one by one": func(f *fixture) (n int, err error) {
			for err == nil {
				if _, err = f.unit.Create(f.World, Unit{}); err == nil {
					n++
				}
			}
			return n, err
		},
		"by a global system": func(f *fixture) (n int, err error) {
			f.global(nil, func(b *world.Build) func(*world.Context) {
				b.Creates(f.unit)
				return func(c *world.Context) {
					for err == nil {
						if _, err = f.unit.Create(c, Unit{}); err == nil {
							n++
						}
					}
				}
			}, nil)
			return n, err
		},
		"in numbers, after some": func(f *fixture) (int, error) {
			f.newUnits(70)
			require.NoError(f.t, f.unit.CreateN(f.World, room-70, func(int, *Unit) {}))
			return f.Count(), f.unit.CreateN(f.World, 1, nil)
		},
		"in numbers, too many": func(f *fixture) (int, error) {
			err := f.unit.CreateN(f.World, room+1, nil)
			require.ErrorContains(f.t, err, "all shards have 1300 left")
			require.Zero(f.t, f.Count(), "all or none")
			require.NoError(f.t, f.unit.CreateN(f.World, room, nil))
			return f.Count(), err
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, world.Options{Shards: shards, IndexMax: indexMax})
			n, err := create(f)
			require.ErrorIs(t, err, world.ErrIndexes)
			require.Equal(t, room, n)
			require.Equal(t, room, f.Count())
		})
	}
}

// TestLimitVersions uses slots until they retire: each gives VersionMax handles,
// and then none.
func TestLimitVersions(t *testing.T) {
	const indexMax = 3
	for _, versionMax := range []uint32{1, 7} {
		for _, kind := range []string{"World", "Context", "Port"} {
			f := newFixture(t, world.Options{Shards: 1, IndexMax: indexMax, VersionMax: versionMax})
			p := f.port()
			var all []handle.Handle
			for range (indexMax + 1) * versionMax {
				var h handle.Handle
				var err error
				switch kind {
				case "Port":
					h, err = f.unit.Create(p, Unit{})
					for err != nil { // the refresh gives the port used slots
						f.Refresh()
						h, err = f.unit.Create(p, Unit{})
					}
					f.Refresh()
				default:
					f.holder(kind, func(by world.Actor) { h, err = f.unit.Create(by, Unit{}) })
				}
				require.NoError(t, err)
				require.LessOrEqual(t, h.Version(), versionMax)
				require.NotContains(t, all, h)
				all = append(all, h)
				require.True(t, f.Destroy(h))
				f.Refresh()
			}
			require.Equal(t, indexMax+1, f.stats().Retired, kind)
			for range 3 {
				f.holder(kind, func(by world.Actor) {
					_, err := f.unit.Create(by, Unit{})
					require.ErrorIs(t, err, world.ErrIndexes)
				})
			}
			for _, h := range all {
				require.Equal(t, world.Stale, f.Status(h), "also in the last version")
				require.False(t, f.Alive(h))
			}
			require.Zero(t, f.Count())
		}
	}
}

// TestLimitOutbox fills a shard's outbox: the system is told, nothing of what
// was refused happens, and the refresh makes room.
func TestLimitOutbox(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2, OutboxRequests: 3})
	f.unit.PlaceBy(func(Unit) int { return 1 })
	all := f.newUnits(10)
	for round := range 3 {
		heard := 0
		f.tick(func(b *world.Build) func(*world.Context) {
			hits := world.Receive[Hit](b)
			return func(c *world.Context) {
				heard += len(hits.All())
				if c.Shard() != 0 {
					return
				}
				require.NoError(t, f.health.Set(c, all[round], Health{-1}))
				require.NoError(t, f.hit.Send(c, all[round], Hit{}))
				require.NoError(t, c.Destroy(all[round]))
				require.ErrorIs(t, c.Destroy(all[9]), world.ErrFull)
				require.ErrorIs(t, f.health.Set(c, all[9], Health{-1}), world.ErrFull)
				require.ErrorIs(t, f.hit.Send(c, all[9], Hit{}), world.ErrFull)
			}
		})
		require.Equal(t, min(round, 1), heard, "one message a tick, a tick later")
		require.Equal(t, uint64(3*(round+1)), f.stats().Rejected)
		require.False(t, f.Alive(all[round]))
		require.Equal(t, int64(9), world.Read[Health](f.World).Get(all[9]).Points)
	}
	require.Equal(t, 7, f.Count())
}

// TestLimitOutboxBytes fills it by the size of what is sent.
func TestLimitOutboxBytes(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2, OutboxBytes: 1 << 12})
	f.unit.PlaceBy(func(Unit) int { return 1 })
	h := f.newUnit(1)
	sent := make([]int, 2)
	for round := range sent {
		f.tick(on(0, func(*world.Build) func(*world.Context) {
			return func(c *world.Context) {
				for f.health.Set(c, h, Health{2}) == nil {
					sent[round]++
				}
			}
		}))
	}
	require.Equal(t, sent[0], sent[1], "the refresh gives all of the room back")
	require.Less(t, sent[0], 1<<12/8)
	require.Greater(t, sent[0], 10)
}
