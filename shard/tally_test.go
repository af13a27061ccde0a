package shard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
)

// TestRecordWithoutHooks notes nothing more when hooks want to know no more.
func TestRecordWithoutHooks(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	s.space.SetWatch(shard.Watch{Created: true}, s.shards, s.columns)
	s.mustCreate(s.shards[0], 1)
	require.Equal(t, 1, s.shards[0].Noted())
	s.space.SetWatch(shard.Watch{}, s.shards, s.columns)
	s.mustCreate(s.shards[0], 1)
	require.Equal(t, 1, s.shards[0].Noted())
}
