package prefab_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/world"
)

// TestEmbeddedActor makes and copies instances by structs that embed a World or a Port: each does what
// the actor does that it embeds.
func TestEmbeddedActor(t *testing.T) {
	c := newCamp()
	orc := c.orc()
	by := struct{ *world.World }{c.w}
	h, err := orc.Create(by)
	require.NoError(t, err)
	require.Equal(t, 1, c.holds.Links())
	_, err = prefab.Copy(by, h, c.holds)
	require.NoError(t, err)
	require.Equal(t, 4, c.w.Count())
	require.Equal(t, 2, c.holds.Links())

	p, err := c.w.OpenPort()
	require.NoError(t, err)
	p.Within(context.Background())
	made, err := orc.CreateN(struct{ *world.Port }{p}, 3, nil)
	require.NoError(t, err)
	require.Equal(t, 3, made)
	c.w.Refresh()
	require.Equal(t, 10, c.w.Count())
	require.Equal(t, 5, c.holds.Links())
}
