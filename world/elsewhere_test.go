package world_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestElsewhereInGlobal creates by a global system when the shard whose turn it is has no index left.
// What the system has created before is there for the next system, however many loops the idle world
// has run, and its own loops do not see what they create.
func TestElsewhereInGlobal(t *testing.T) {
	type first struct{ N int }
	type second struct{ N int }
	for _, loops := range []int{0, 3, 10} {
		w := world.MustNew(world.Options{Shards: 2, IndexMax: 7})
		world.Register[first](w, "first")
		world.Register[second](w, "second")
		ones := world.NewBundle[struct{ first }](w).PlaceBy(func(struct{ first }) int { return 1 })
		twos := world.NewBundle[struct{ second }](w)
		require.NoError(t, twos.CreateN(w, 3, nil))
		visited, seen := 0, 0
		s := scheduler.New(w, scheduler.Options{Workers: 1})
		s.MustAdd("global", func(b *world.Build) func(*world.Context) {
			all := b.Query()
			b.Creates(ones, twos)
			return func(c *world.Context) {
				for range 3 {
					for range all.Chunks() {
					}
				}
				_, err := ones.Create(c, struct{ first }{})
				require.NoError(t, err)
				for ch := range all.Chunks() {
					for range ch.Handles() {
						visited++
						for range 2 { // more than fit in one shard
							_, err := twos.Create(c, struct{ second }{})
							require.NoError(t, err)
						}
					}
				}
			}
		}, scheduler.Global())
		s.MustAdd("after", func(b *world.Build) func(*world.Context) {
			all := b.Query(world.Read[first](b))
			return func(c *world.Context) {
				for ch := range all.Chunks() {
					seen += ch.Len()
				}
			}
		})
		for range loops {
			for range w.Query().Chunks() {
			}
		}
		require.NoError(t, s.Step(context.Background()))
		require.Equal(t, []int{4, 1}, []int{visited, seen}, "%d loops", loops)
	}
}
