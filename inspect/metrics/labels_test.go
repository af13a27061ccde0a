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

// TestCommaInName scrapes a world in which a component has a name that looks like two: its entities
// are not added to those of the two.
func TestCommaInName(t *testing.T) {
	type (
		a    struct{ A int }
		b    struct{ B int }
		both struct{ C int }
	)
	w := world.MustNew(world.Options{Shards: 1})
	t.Cleanup(func() { w.Close() })
	world.Register[a](w, "a")
	world.Register[b](w, "b")
	world.Register[both](w, "a,b")
	require.NoError(t, world.NewBundle[struct {
		a
		b
	}](w).CreateN(w, 5, nil))
	require.NoError(t, world.NewBundle[struct{ both }](w).CreateN(w, 3, nil))
	s := scheduler.New(w, scheduler.Options{})
	run(t, s)
	text := scrape(t, s)
	require.Contains(t, text, `"a,b"} 5`)
	require.Contains(t, text, `"a,b (2)"} 3`)
}
