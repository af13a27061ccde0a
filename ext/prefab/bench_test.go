package prefab_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// The entities of the benchmarks: a body with seven items.
type (
	benchBody struct {
		Health health
		Place  place
		Wields wields
	}
	benchItem struct {
		Damage damage
		Place  place
	}
)

const benchItems = 7

// benches is what the benchmarks make, by a prefab and by hand.
type benches struct {
	*fixture
	body   *prefab.Prefab
	bodies *world.Bundle[benchBody]
	items  *world.Bundle[benchItem]
}

func newBenches(t testing.TB) *benches {
	f := newFixture(t, world.Options{Shards: 1})
	item := prefab.New(f.w, "item", prefab.With(f.damage, damage{3}), prefab.With(f.place, place{}))
	parts := []prefab.Part{prefab.With(f.health, health{10, 10}), prefab.With(f.place, place{}), prefab.With(f.wields, wields{Weapon: prefab.Local(1)})}
	for range benchItems {
		parts = append(parts, prefab.Child(f.holds, -1, prefab.Extends(item)))
	}
	return &benches{f, prefab.New(f.w, "body", parts...), world.NewBundle[benchBody](f.w), world.NewBundle[benchItem](f.w)}
}

// make makes one by the prefab.
func (f *benches) make(by world.Actor, at place) handle.Handle {
	h, _ := f.body.Create(by, prefab.With(f.place, at))
	return h
}

// makeFor makes one with values for two of its items, and returns all its handles.
func (f *benches) makeFor(hs []handle.Handle, by world.Actor, at place) []handle.Handle {
	hs, _ = f.body.Append(hs[:0], by, prefab.With(f.place, at), prefab.For(2, prefab.With(f.damage, damage{5})), prefab.For(7, prefab.With(f.place, at)))
	return hs
}

// makeByHand makes the same with what there is without prefabs. Who wields is told behind that.
func (f *benches) makeByHand(by world.Actor, at place) handle.Handle {
	h, _ := f.bodies.Create(by, benchBody{Health: health{10, 10}, Place: at})
	first := handle.None
	for i := range benchItems {
		item, _ := f.items.Create(by, benchItem{Damage: damage{3}})
		if i == 0 {
			first = item
		}
		_ = f.holds.AddChild(by, h, item)
	}
	_ = f.wields.Set(by, h, wields{Weapon: first})
	return h
}

// BenchmarkCreate makes an instance of 8 entities on the idle world, and by a port in a batch.
func BenchmarkCreate(b *testing.B) {
	for _, how := range []string{"prefab", "for", "hand"} {
		for _, actor := range []string{"world", "port"} {
			b.Run(how+"/"+actor, func(b *testing.B) {
				f := newBenches(b)
				create, hs := f.make, make([]handle.Handle, 0, 1+benchItems)
				if how == "hand" {
					create = f.makeByHand
				} else if how == "for" {
					create = func(by world.Actor, at place) handle.Handle { return f.makeFor(hs, by, at)[0] }
				}
				p, err := f.w.OpenPort()
				require.NoError(b, err)
				made := 0
				b.ReportAllocs()
				for b.Loop() {
					if actor == "world" {
						create(f.w, place{1, 2})
					} else if how != "hand" {
						create(p, place{1, 2})
					} else {
						_ = p.Batch(func() error { create(p, place{1, 2}); return nil })
					}
					if made++; made%200 == 0 {
						b.StopTimer()
						f.w.Clear()
						b.StartTimer()
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(1+benchItems), "ns/entity")
			})
		}
	}
}

// BenchmarkTick makes ticks in which a system makes 500 instances of 8 entities, and those of the
// tick before are destroyed.
func BenchmarkTick(b *testing.B) {
	for _, how := range []string{"prefab", "hand"} {
		b.Run(how, func(b *testing.B) {
			f := newBenches(b)
			create := f.make
			if how == "hand" {
				create = f.makeByHand
			}
			var made []handle.Handle
			f.sched.MustAdd("spawn", func(b *world.Build) func(*world.Context) {
				b.Creates(f.body)
				return func(c *world.Context) {
					for _, h := range made {
						_ = c.Destroy(h)
					}
					made = made[:0]
					for i := range 500 {
						made = append(made, create(c, place{int32(i), 0}))
					}
				}
			})
			f.tick()
			b.ReportAllocs()
			for b.Loop() {
				f.tick()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/500/(1+benchItems), "ns/entity")
		})
	}
}

// BenchmarkCopy copies 8 entities in a system, and those of the tick before are destroyed.
func BenchmarkCopy(b *testing.B) {
	f := newBenches(b)
	h := f.make(f.w, place{})
	var made []handle.Handle
	f.sched.MustAdd("copy", func(b *world.Build) func(*world.Context) {
		b.Creates(f.body)
		return func(c *world.Context) {
			for _, h := range made {
				_ = c.Destroy(h)
			}
			made = made[:0]
			for range 500 {
				copied, _ := prefab.Copy(c, h, f.holds)
				made = append(made, copied)
			}
		}
	})
	f.tick()
	b.ReportAllocs()
	for b.Loop() {
		f.tick()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/500/(1+benchItems), "ns/entity")
}
