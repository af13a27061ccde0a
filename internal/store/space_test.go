package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestSpaceChunks runs out of chunk numbers: an error that names the limit, and
// whatever was asked did not happen.
func TestSpaceChunks(t *testing.T) {
	s := newStorage(t, 2, handle.IndexMax, handle.VersionMax)
	s.mustCreate(s.shards[0], 16)
	s.space.SetChunks(slots.ChunksMax - 1)
	s.mustCreate(s.shards[0], 64) // the last chunk
	free := s.shards[0].Free()
	for range 3 {
		h, err := s.create(s.shards[0], set(number), 1)
		require.ErrorIs(t, err, store.ErrChunks)
		require.ErrorContains(t, err, fmt.Sprint(slots.ChunksMax))
		require.Equal(t, handle.None, h)
		require.GreaterOrEqual(t, s.shards[0].Free(), free, "no slot was used")
		_, err = s.create(s.shards[1], set(number), 1)
		require.ErrorIs(t, err, store.ErrChunks)
		require.ErrorIs(t, s.shards[0].Reserve(s.shards[0].Table(set(number)), 1), store.ErrChunks)
	}
	require.Equal(t, 80, s.shards[0].Alive())
	require.Zero(t, s.shards[1].Alive())
	all := rows(s.shards[0].Table(set(number)))
	require.Len(t, all, 80)
	s.destroy(all...)
	s.refresh()
	s.mustCreate(s.shards[0], 80) // the chunks there are serve on
}
