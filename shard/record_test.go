package shard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
)

// TestRecordOneTick remembers the tick in progress alone.
func TestRecordOneTick(t *testing.T) {
	space := shard.NewSpace(2, handle.IndexMax, handle.VersionMax)
	var columns []shard.AnyColumn
	sh := shard.New(space, 0, &columns, 1)
	for range 3 {
		a, err := sh.Create(sh.Table(set()))
		require.NoError(t, err)
		a.Publish()
		require.Equal(t, []handle.Handle{a.Handle}, sh.CreatedIn(0))
		sh.Settle()
		require.Empty(t, sh.CreatedIn(0))
	}
}

// TestRecordWithoutHooks goes on remembering who was created when hooks want to know no
// more.
func TestRecordWithoutHooks(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	s.space.SetWatch(shard.Watch{Created: true}, s.shards, s.columns)
	all := s.mustCreate(s.shards[0], 1)
	require.Equal(t, 1, s.shards[0].Noted())
	s.space.SetWatch(shard.Watch{}, s.shards, s.columns)
	all = append(all, s.mustCreate(s.shards[0], 1)...)
	require.Equal(t, all, s.shards[0].CreatedIn(0))
	require.Equal(t, 1, s.shards[0].Noted())
}
