package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestRecordWithoutHooks notes nothing more when hooks want to know no more.
func TestRecordWithoutHooks(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	s.space.SetWatch(store.Watch{Created: true}, s.shards)
	s.mustCreate(s.shards[0], 1)
	require.Equal(t, 1, s.shards[0].Noted())
	s.space.SetWatch(store.Watch{}, s.shards)
	s.mustCreate(s.shards[0], 1)
	require.Equal(t, 1, s.shards[0].Noted())
}
