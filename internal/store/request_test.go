package store_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestNewKindLimit makes as many kinds of requests as a request can name.
func TestNewKindLimit(t *testing.T) {
	space := store.NewSpace(2, handle.IndexMax, handle.VersionMax)
	made := 0
	for ; space.Kinds().Len() < math.MaxUint16; made++ {
		store.NewKind[struct{}](space, nil)
	}
	text := fmt.Sprintf("world: a kind of request is one more than the %d a world can have beside its own", made)
	require.PanicsWithValue(t, text, func() { store.NewKind[struct{}](space, nil) })
	require.Equal(t, math.MaxUint16, space.Kinds().Len())
}
