package shard_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
)

// TestNewKindLimit makes as many kinds of requests as a request can name.
func TestNewKindLimit(t *testing.T) {
	space := shard.NewSpace(2, handle.IndexMax, handle.VersionMax)
	for space.Kinds().Len() < math.MaxUint16 {
		shard.NewKind[struct{}](space, nil)
	}
	require.Panics(t, func() { shard.NewKind[struct{}](space, nil) })
	require.Equal(t, math.MaxUint16, space.Kinds().Len())
}
