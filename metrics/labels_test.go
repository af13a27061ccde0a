package metrics_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestSameLabels scrapes a world with systems whose names become the same label.
func TestSameLabels(t *testing.T) {
	w := world.MustNew(world.Options{Shards: 2})
	t.Cleanup(func() { w.Close() })
	s := scheduler.New(w, scheduler.Options{})
	for _, name := range []string{"\xff", "\xfe", "\uFFFD (2)"} {
		s.MustAdd(name, func(*world.Build) func(*world.Context) { return func(*world.Context) {} })
	}
	run(t, s)
	text := scrape(t, s)
	require.Contains(t, text, "atoll_up 1")
	for _, name := range []string{"\uFFFD", "\uFFFD (2)", "\uFFFD (2) (2)"} {
		require.Contains(t, text, `atoll_system_enabled{system="`+name+`"} 1`)
	}
}
