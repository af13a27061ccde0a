package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// BenchmarkHooksBatch reports what batches cost without a hook, with one for another component, and
// with one that is told of all, the refreshes included.
func BenchmarkHooksBatch(b *testing.B) {
	const n = 16_384
	for _, hook := range []string{"none", "other", "all"} {
		b.Run(hook, func(b *testing.B) {
			f := newFixture(b, world.Options{})
			other := world.Register[struct{ N int }](f.World, "other")
			parts := map[string][]world.ComponentSet{"other": {other}, "all": {f.position}}[hook]
			if parts != nil {
				f.Observe(hook, anything&^world.OnDestroy, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
					return func(*world.Context, world.Event, []handle.Handle) {}
				}, parts...)
			}
			all, hs := f.Query(), make([]handle.Handle, 0, n)
			measure := func(name string, do, undo func() error) {
				b.Run(name, func(b *testing.B) {
					for b.Loop() {
						err := do()
						f.Refresh()
						require.NoError(b, err)
						require.NoError(b, undo())
						f.Refresh()
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entity")
				})
			}
			destroy := func() error { all.Destroy(); return nil }
			measure("AppendN", func() (err error) { hs, err = f.mover.AppendN(hs[:0], f.World, n, nil); return err }, destroy)
			measure("CreateN", func() error { return f.mover.CreateN(f.World, n, nil) }, destroy)
			require.NoError(b, f.mover.CreateN(f.World, n, nil))
			require.NoError(b, all.Remove(f.position))
			f.Refresh()
			measure("AddTo", func() error { return f.position.AddTo(all, nil) }, func() error { return all.Remove(f.position) })
		})
	}
}
