package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// BenchmarkHooksNone does everything that hooks could be told of, with none there.
func BenchmarkHooksNone(b *testing.B) { benchmarkHooks(b, func(*fixture) {}) }

// benchmarkHooks reports what each kind of change costs, the refreshes included.
func benchmarkHooks(b *testing.B, observe func(f *fixture)) {
	const n = 10_000
	setup := func(b *testing.B) (*fixture, []handle.Handle) {
		f := newFixture(b, world.Options{})
		observe(f)
		hs, err := f.unit.AppendN(nil, f.World, n, nil)
		require.NoError(b, err)
		f.Refresh()
		return f, hs
	}
	each := func(name string, f func(b *testing.B, f *fixture, hs []handle.Handle)) {
		b.Run(name, func(b *testing.B) {
			x, hs := setup(b)
			f(b, x, hs)
			for b.Loop() {
				f(b, x, hs)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entity")
		})
	}
	each("create+destroy", func(_ *testing.B, f *fixture, _ []handle.Handle) {
		for range n {
			h, _ := f.unit.Create(f.World, Unit{})
			f.Destroy(h)
		}
		f.Refresh()
	})
	each("set", func(_ *testing.B, f *fixture, hs []handle.Handle) {
		for _, h := range hs {
			_ = f.health.Set(f.World, h, Health{1})
		}
		f.Refresh()
	})
	each("add+remove", func(_ *testing.B, f *fixture, hs []handle.Handle) {
		for _, h := range hs {
			_ = f.position.Add(f.World, h, Position{})
		}
		f.Refresh()
		for _, h := range hs {
			_ = f.position.Remove(f.World, h)
		}
		f.Refresh()
	})
	each("batch", func(b *testing.B, f *fixture, _ []handle.Handle) {
		if err := f.mover.CreateN(f.World, n, nil); err != nil {
			b.Fatal(err)
		}
		f.Query(world.Read[Velocity](f.World)).Destroy()
		f.Refresh()
	})
	each("requests", func(_ *testing.B, f *fixture, hs []handle.Handle) {
		p := f.requester()
		for _, h := range hs {
			if f.health.Set(p, h, Health{2}) != nil {
				f.Refresh()
			}
		}
		f.Refresh()
		p.Close()
	})
}

func (f *fixture) requester() *world.Port {
	p, err := f.OpenPort()
	require.NoError(f.t, err)
	return p
}
