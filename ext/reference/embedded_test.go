package reference_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestEmbeddedContext refers to a pending entity by a struct that embeds a system's Context. A replay
// does not know when a port was given a handle, so a system must not see that it was.
func TestEmbeddedContext(t *testing.T) {
	f := newFixture(t)
	p, err := f.OpenPort()
	require.NoError(t, err)
	h, err := f.units.Create(p, Unit{})
	require.NoError(t, err)
	s, got := scheduler.New(f.World, scheduler.Options{}), reference.To(f.World, h)
	s.MustAdd("refer", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Shard() == 0 {
				got = reference.To(struct{ *world.Context }{c}, h)
			}
		}
	})
	require.NoError(t, s.Step(context.Background()))
	require.Equal(t, reference.Weak{}, got)
}
