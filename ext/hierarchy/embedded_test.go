package hierarchy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestEmbeddedWorld changes a relation by a struct that embeds the idle World: it acts at once, as the
// World does.
func TestEmbeddedWorld(t *testing.T) {
	f := newFixture(t, 2, hierarchy.Options{})
	by := struct{ *world.World }{f.World}
	hs := make([]handle.Handle, 5)
	for i := range hs {
		var err error
		hs[i], err = f.things.Create(by, Thing{ID{i}})
		require.NoError(t, err)
	}
	require.NoError(t, f.rel.Add(by, hs[0]))
	require.NoError(t, f.rel.AddChild(by, hs[0], hs[1]))
	require.NoError(t, f.rel.AddChildren(by, hs[0], hs[2], hs[3]))
	require.NoError(t, f.rel.Move(by, hs[4], hs[0]))
	require.NoError(t, f.rel.Sort(by, hs[0], func(a, b handle.Handle) int { return int(b.Index()) - int(a.Index()) }))
	require.NoError(t, f.rel.SetPlaces(by, hs[1], 2))
	require.Equal(t, 4, f.rel.Links())
	require.Same(t, f.read, f.rel.Read(by))
}
