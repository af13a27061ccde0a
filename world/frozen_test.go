package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

// frozenText is a component with a pointer in it, and frozenNumber one without.
type (
	frozenText   struct{ Text string }
	frozenNumber struct{ N int }
)

// TestFreezeSome copies some components, and reads them without their types.
func TestFreezeSome(t *testing.T) {
	w := world.MustNew(world.Options{Shards: 2})
	world.Register[frozenText](w, "text")
	world.Register[frozenNumber](w, "number")
	all := world.NewBundle[struct {
		frozenText
		frozenNumber
	}](w)
	h, err := all.Create(w, struct {
		frozenText
		frozenNumber
	}{frozenText{"a"}, frozenNumber{7}})
	require.NoError(t, err)
	var only store.Set
	only.Add(1)
	f, err := engine.Of(w).Freeze(&only)
	require.NoError(t, err)
	require.False(t, f.Has(0))
	require.True(t, f.Has(1))
	owner, _ := w.Owner(h)
	c := f.Shard(owner).Tables()[0].Chunks()[0]
	require.Equal(t, h, c.Handles()[0])
	require.Equal(t, []frozenNumber{{7}}, c.Cells(1).Values)
	f.Release()
}

// TestSetBy sets components by their numbers.
func TestSetBy(t *testing.T) {
	w := world.MustNew(world.Options{})
	world.Register[frozenText](w, "text")
	world.Register[frozenNumber](w, "number")
	h, err := world.NewBundle[struct{ frozenText }](w).Create(w, struct{ frozenText }{frozenText{"a"}})
	require.NoError(t, err)
	p, err := w.OpenPort()
	require.NoError(t, err)
	defer p.Close()
	var set, missing world.Completion
	require.NoError(t, engine.Of(w).SetBy(p.Notify(&set), 0, h, frozenText{"b"}))
	require.NoError(t, engine.Of(w).SetBy(p.Notify(&missing), 1, h, frozenNumber{7}))
	w.Refresh()
	require.Equal(t, world.Applied, set.Outcome())
	require.Equal(t, world.Missing, missing.Outcome())
	require.Equal(t, "b", world.Read[frozenText](w).Get(h).Text)
}
