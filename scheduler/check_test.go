package scheduler_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestCheckErrors runs systems that do what the check build finds: the tick's
// error tells of system, shard and what was done, and the tick is completed.
func TestCheckErrors(t *testing.T) {
	if !check.Enabled {
		t.Skip("checked in the check build only")
	}
	const shards, guilty = 4, 2
	for _, workers := range []int{1, 3} {
		for name, test := range map[string]struct {
			system func(f *fixture) scheduler.System
			says   []string
		}{
			"writes what it asked to read": {
				func(f *fixture) scheduler.System {
					markers := f.mark()
					return func(b *world.Build) func(*world.Context) {
						values := world.Read[Value](b)
						return func(c *world.Context) {
							if c.Shard() == guilty {
								values.Get(markers[guilty]).N = 77
							}
						}
					}
				},
				[]string{`wrote component "value", which it asked to read`, "world.Write[scheduler_test.Value]"},
			},
			"uses the accessor of another system": {
				func(f *fixture) scheduler.System {
					markers := f.mark()
					stolen := make([]*world.Writer[Value], shards)
					f.MustAdd("owner", func(b *world.Build) func(*world.Context) {
						stolen[b.Shard()] = world.Write[Value](b)
						return func(*world.Context) {}
					})
					return func(b *world.Build) func(*world.Context) {
						return func(c *world.Context) {
							if c.Shard() == guilty {
								stolen[guilty].Get(markers[guilty]).N = 77
							}
						}
					}
				},
				[]string{`the accessor of component "value", made for system "owner" on shard 2`, `the turn of system "culprit" on shard 2`},
			},
		} {
			t.Run(fmt.Sprintf("%s, %d workers", name, workers), func(t *testing.T) {
				f := newFixture(t, shards, workers)
				f.MustAdd("culprit", test.system(f))
				err := f.Step(t.Context())
				var told *world.PanicError
				require.True(t, errors.As(err, &told), "%v", err)
				require.Equal(t, "culprit", told.Name)
				require.Equal(t, guilty, told.Shard)
				for _, part := range test.says {
					require.ErrorContains(t, err, part)
				}
				require.Equal(t, uint64(1), f.w.Tick(), "the tick is completed")
			})
		}
	}
}
