package names_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/world"
)

// TestEmbeddedWorld names an entity by a struct that embeds the idle World: it acts at once, as the
// World does.
func TestEmbeddedWorld(t *testing.T) {
	f := newFixture(t, 1, names.Options{})
	by, h := struct{ *world.World }{f.World}, f.make(1)[0]
	require.NoError(t, f.names.Bind(by, h, "one"))
	found, ok := f.names.Lookup("one")
	require.True(t, ok)
	require.Equal(t, h, found)
	require.NoError(t, f.names.Unbind(by, h))
	require.Zero(t, f.names.Len())
}
