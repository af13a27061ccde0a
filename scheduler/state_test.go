package scheduler_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestAppendState checks that the state tells which systems run where, and nothing
// else.
func TestAppendState(t *testing.T) {
	w := world.MustNew(world.Options{Shards: 3})
	s := scheduler.New(w, scheduler.Options{Workers: 2})
	panics := -1 // on this shard
	s.MustAdd("a", func(b *world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Shard() == panics {
				panic("on purpose")
			}
		}
	}, scheduler.IfPanics(scheduler.DisableOnShard))
	s.MustAdd("b", func(b *world.Build) func(*world.Context) { return func(*world.Context) {} })
	state := func() string { return string(s.AppendState([]byte("x"))) }
	step := func() { _ = s.Step(t.Context()) }

	seen := map[string]string{}
	fresh := func(name string) {
		t.Helper()
		require.NotContains(t, seen, state(), name)
		seen[state()] = name
	}
	all := state()
	fresh("all")
	step()
	require.Equal(t, all, state(), "a tick changes nothing")
	require.NoError(t, s.Disable("a"))
	fresh("a disabled")
	require.NoError(t, s.Disable("b"))
	fresh("both disabled")
	require.NoError(t, s.Enable("a"))
	fresh("b disabled")
	require.NoError(t, s.Enable("b"))
	require.Equal(t, all, state())
	step()
	panics = 1
	step()
	fresh("a panicked on shard 1")
	panics = 2
	step()
	fresh("and on shard 2")
	require.NoError(t, s.Enable("a"))
	require.Equal(t, all, state(), "before the tick that it is pardoned by")
	panics = -1
	step()
	require.Equal(t, all, state(), "and behind")
}
