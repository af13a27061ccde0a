package scheduler_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestGoexitBeforeRefresh ends every goroutine before a refresh in parallel, the
// caller's too, whose place another one takes.
func TestGoexitBeforeRefresh(t *testing.T) {
	f := newFixture(t, 6, 3)
	require.NoError(t, f.movers.CreateN(f.w, 30_000, nil))
	f.MustAdd("destroys and exits", func(b *world.Build) func(*world.Context) {
		all := b.Query(world.Read[Position](b))
		return func(c *world.Context) {
			for ch := range all.Chunks() {
				for i, h := range ch.Handles() {
					if i%2 == 0 && c.Destroy(h) != nil {
						panic("refused")
					}
				}
			}
			runtime.Goexit()
		}
	})
	for _, want := range []int{15_000, 7_500} {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = f.Step(t.Context())
		}()
		<-ended
		require.InDelta(t, want, f.w.Count(), 20)
	}
}

// TestGoexit has systems end the goroutines they run on, as a failing test does:
// every tick is completed, by the caller's goroutine too, and the world goes on.
func TestGoexit(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		w := world.MustNew(world.Options{Shards: 6})
		s := scheduler.New(w, scheduler.Options{Workers: workers})
		passed := make([]int, 6)
		exit := true
		s.MustAdd("exits", func(*world.Build) func(*world.Context) {
			return func(c *world.Context) {
				if exit && c.Shard() != 3 {
					runtime.Goexit()
				}
			}
		})
		s.MustAdd("goes on", func(*world.Build) func(*world.Context) {
			return func(c *world.Context) { passed[c.Shard()]++ }
		})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = s.Step(t.Context())
		}()
		<-ended
		require.Equal(t, uint64(1), w.Tick(), "the refresh was made")
		exit = false
		_ = s.Step(t.Context())
		require.Equal(t, []int{2, 2, 2, 2, 2, 2}, passed)
	}
}
