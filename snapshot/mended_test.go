package snapshot_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// Small is a bundle of one component.
type Small struct{ Extra }

// bowl is a world with one component and one bundle.
func bowl(o world.Options) (*world.World, *world.Bundle[Small]) {
	if o.Shards == 0 {
		o.Shards = 1
	}
	w := world.MustNew(o)
	world.Register[Extra](w, "extra")
	return w, world.NewBundle[Small](w)
}

// saved returns a snapshot.
func saved(t testing.TB, w *world.World, o snapshot.Options) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, snapshot.Save(&b, w, o))
	return b.Bytes()
}

// TestTwoBundlesOfOneType has a request of the second of two kinds with one name under way.
func TestTwoBundlesOfOneType(t *testing.T) {
	mk := func() (*world.World, *world.Bundle[Small]) {
		w, first := bowl(world.Options{})
		second := world.NewBundle[Small](w)
		w.Observe("seen", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
			return func(c *world.Context, _ world.Event, hs []handle.Handle) { _ = second.Add(c, hs[0], Small{Extra{7}}) }
		})
		return w, first
	}
	w, first := mk()
	h, err := first.Create(w, Small{})
	require.NoError(t, err)
	w.Refresh()
	other, _ := mk()
	require.NoError(t, snapshot.Load(bytes.NewReader(saved(t, w, snapshot.Options{})), other, snapshot.Options{}))
	other.Refresh()
	require.Equal(t, Extra{7}, *world.Read[Extra](other).Get(h))
}
