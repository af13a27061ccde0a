package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// holder runs f as each kind of actor that can create; afterwards what it
// created is alive.
func (f *fixture) holder(kind string, do func(by world.Actor)) {
	switch kind {
	case "World":
		do(f.World)
	case "Port":
		do(f.port())
		f.Refresh()
	case "Context":
		f.tick(on(0, func(b *world.Build) func(*world.Context) {
			b.Creates(f.unit, f.creature)
			return func(c *world.Context) { do(c) }
		}))
	}
}

func TestBundleCreateN(t *testing.T) {
	for _, kind := range []string{"World", "Context", "Port"} {
		t.Run(kind, func(t *testing.T) {
			f := newFixture(t, world.Options{Shards: 3})
			other := f.newUnit(-1)
			var all []handle.Handle
			f.holder(kind, func(by world.Actor) {
				var err error
				all, err = f.creature.AppendN([]handle.Handle{other}, by, 100, func(i int, c *Creature) {
					require.Zero(t, *c, "each starts from the zero value")
					c.Health.Points = int64(i)
					if i%2 == 0 {
						c.Name.Text = "even"
					}
				})
				require.NoError(t, err)
				require.NoError(t, f.creature.CreateN(by, 50, nil))
				require.NoError(t, f.creature.CreateN(by, 0, func(int, *Creature) { panic("none to make") }))
				same, err := f.creature.AppendN(all, by, 0, nil)
				require.NoError(t, err)
				require.Equal(t, all, same)
			})
			require.Len(t, all, 101)
			require.Equal(t, other, all[0], "appended")
			require.Equal(t, 151, f.Count())
			for i, h := range all[1:] {
				require.Equal(t, Health{int64(i)}, *world.Read[Health](f.World).Get(h))
				require.Equal(t, i%2 == 0, world.Read[Name](f.World).Get(h).Text == "even")
			}
			n := 0
			for ch := range f.Query(world.With[Name](f.World)).Chunks() {
				for i, h := range ch.Handles() {
					if h.IsNone() || !f.Alive(ch.Handle(i)) {
						t.Fatalf("row %d holds %v", i, h)
					}
					n++
				}
			}
			require.Equal(t, 150, n)
		})
	}
}

// TestBundleCreateNError makes more than a limit allows: nothing is made.
func TestBundleCreateNError(t *testing.T) {
	for _, test := range []struct {
		kind    string
		options world.Options
		want    error
		says    string
	}{
		{"World", world.Options{Shards: 1, IndexMax: 9}, world.ErrIndexes, "IndexMax = 9"},
		{"Context", world.Options{Shards: 1, IndexMax: 9}, world.ErrIndexes, "IndexMax = 9"},
		{"Port", world.Options{Shards: 1, IndexMax: 9}, world.ErrIndexes, "IndexMax = 9"},
		{"World", world.Options{Shards: 1, IndexMax: 1023}, world.ErrIndexes, "IndexMax = 1023"},
		{"Context", world.Options{Shards: 1, IndexMax: 1023}, world.ErrIndexes, "IndexMax = 1023"},
		{"Port", world.Options{Shards: 1, IndexMax: 1023}, world.ErrIndexes, "IndexMax = 1023"},
		{"Port", world.Options{Shards: 1, QueueRequests: 7}, world.ErrTooLarge, "raise QueueRequests"},
	} {
		t.Run(test.kind+" "+test.says, func(t *testing.T) {
			f := newFixture(t, test.options)
			f.holder(test.kind, func(by world.Actor) {
				made, err := f.unit.AppendN(nil, by, 2000, func(i int, u *Unit) { u.Points = int64(i) })
				require.ErrorIs(t, err, test.want)
				require.ErrorContains(t, err, test.says)
				require.Empty(t, made)
			})
			require.Zero(t, f.Count())
		})
	}
}

// TestBundleReserve creates as much as was reserved without allocating.
func TestBundleReserve(t *testing.T) {
	const n = 10_000
	for name, create := range map[string]func(f *fixture, b *world.Bundle[Creature]){
		"one by one": func(f *fixture, b *world.Bundle[Creature]) {
			for i := range n {
				if _, err := b.Create(f.World, Creature{Health: Health{int64(i)}}); err != nil {
					panic(err)
				}
			}
		},
		"in numbers": func(f *fixture, b *world.Bundle[Creature]) {
			if err := b.CreateN(f.World, n, nil); err != nil {
				panic(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, world.Options{Shards: 4})
			require.NoError(t, f.creature.Reserve(f.World, 5*n))
			require.Zero(t, f.Count(), "room is not entities")
			// AllocsPerRun calls once more before it counts. One allocation is for
			// the first loop's mark; n would be thousands.
			allocs := testing.AllocsPerRun(3, func() { create(f, f.creature) })
			require.Less(t, allocs, 8.0)
			require.Equal(t, 4*n, f.Count())
			require.NoError(t, f.creature.Reserve(f.World, 0))
		})
	}
}

// TestBundleReserveBeyond reserves more than there are indexes.
func TestBundleReserveBeyond(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1, IndexMax: 2047})
	require.NoError(t, f.unit.Reserve(f.World, 2048))
	require.ErrorIs(t, f.unit.Reserve(f.World, 2049), world.ErrIndexes)
	require.NoError(t, f.unit.CreateN(f.World, 2048, nil))
	require.ErrorIs(t, f.unit.CreateN(f.World, 1, nil), world.ErrIndexes)
}

// TestBundleShapes makes entities of odd bundles: no component, one of no size,
// a big one, unexported and embedded fields.
func TestBundleShapes(t *testing.T) {
	type Big struct{ Bytes [1000]byte }
	type small int8
	type Nothing struct{}
	type Tag struct{ Frozen }
	type mixed struct {
		small
		big Big
		F   Frozen
		s   Name
	}
	f := newFixture(t, world.Options{Shards: 2})
	world.Register[Big](f.World, "big")
	world.Register[small](f.World, "small")
	nothing, tag, mix := world.NewBundle[Nothing](f.World), world.NewBundle[Tag](f.World), world.NewBundle[mixed](f.World)
	var all []handle.Handle
	for i := range 100 {
		for _, create := range []func() (handle.Handle, error){
			func() (handle.Handle, error) { return nothing.Create(f.World, Nothing{}) },
			func() (handle.Handle, error) { return tag.Create(f.World, Tag{}) },
			func() (handle.Handle, error) {
				m := mixed{small: small(i), s: Name{"mixed"}}
				m.big.Bytes[999] = byte(i)
				return mix.Create(f.World, m)
			},
		} {
			h, err := create()
			require.NoError(t, err)
			all = append(all, h)
		}
	}
	for i, h := range all {
		if i%9 < 3 {
			f.Destroy(h)
		}
	}
	f.Refresh()
	for i, h := range all {
		require.Equal(t, i%9 >= 3, f.Alive(h))
		if i%9 < 3 {
			continue
		}
		switch i % 3 {
		case 0:
			require.Nil(t, world.Read[Frozen](f.World).Get(h))
		case 1:
			require.NotNil(t, world.Read[Frozen](f.World).Get(h))
			require.Nil(t, world.Read[Big](f.World).Get(h))
		case 2:
			require.Equal(t, small(i/3), *world.Read[small](f.World).Get(h))
			require.Equal(t, byte(i/3), world.Read[Big](f.World).Get(h).Bytes[999])
			require.Equal(t, "mixed", world.Read[Name](f.World).Get(h).Text)
			require.NotNil(t, world.Read[Frozen](f.World).Get(h))
		}
	}
	require.Equal(t, f.Count(), f.Query().Count())
}
