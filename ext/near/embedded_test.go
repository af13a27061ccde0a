package near_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/world"
)

// TestEmbeddedWorld reads an index by a struct that embeds the idle World: Read updates the index, as
// it does for the World.
func TestEmbeddedWorld(t *testing.T) {
	w, index := newMap()
	by := struct{ *world.World }{w}
	place := world.Write[Place](by)
	require.Len(t, index.Read(by).AppendWithin(nil, near.Point{X: 90, Y: 90}, 1), 0)
	for ch := range w.Query(place).Chunks() {
		for i := range ch.Len() {
			place.Slice(ch)[i] = Place{90, 90}
		}
	}
	require.Len(t, index.Read(by).AppendWithin(nil, near.Point{X: 90, Y: 90}, 1), 3)
}
