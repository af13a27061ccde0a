package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
)

// TestCreateRowsAgain creates rows with slots that were used before: their atoms have the
// next versions, and zeroes.
func TestCreateRowsAgain(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	s.destroy(s.mustCreate(sh, 64)...)
	s.refresh()
	r, err := sh.CreateRows(sh.Table(set(number)), 10, true)
	require.NoError(t, err)
	require.Equal(t, 10, r.Len())
	for i, h := range r.Handles() {
		require.Equal(t, uint32(2), h.Version())
		require.Equal(t, r.Loc(i), s.space.Locate(h))
		require.Zero(t, *s.numbers.At(r.Loc(i)))
	}
}
