package store_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestDirectoryGrowth draws a million handles of one home beside few and many others: what
// that allocates goes by the home alone.
func TestDirectoryGrowth(t *testing.T) {
	n := iterations(1 << 20)
	for _, homes := range []int{5, min(2049, handle.ShardMax+1)} {
		space := store.NewSpace(homes, handle.IndexMax, handle.VersionMax)
		out := store.NewPortAllocator(space, homes-1)
		var got []handle.Handle
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for drawn := 0; drawn < n; {
			var err error
			got, err = out.Take(got[:0], 64, 64)
			require.NoError(t, err)
			drawn += len(got)
		}
		runtime.ReadMemStats(&after)
		slots := uint64(n * 8)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, 2*slots+1<<20, "%d homes", homes)
	}
}

// TestDirectoryIndexes gives the indexes of each home in ascending order from 0 to IndexMax,
// which none exceeds.
func TestDirectoryIndexes(t *testing.T) {
	for _, indexMax := range []uint32{27, 1023, 1024, 5000} {
		const shards = 13
		s := newStorage(t, shards, indexMax, handle.VersionMax)
		for _, sh := range s.shards {
			for i, h := range s.mustCreate(sh, int(indexMax)+1) {
				require.Equal(t, handle.New(uint32(sh.ID()), uint32(i), 1), h)
			}
		}
		for at := uint32(0); at <= indexMax; {
			some, err := s.outside.Take(nil, 1, 16)
			require.NoError(t, err)
			for k, h := range some { // the port takes the last first
				require.Equal(t, handle.New(shards, at+uint32(len(some)-1-k), 1), h)
			}
			at += uint32(len(some))
		}
		_, err := s.outside.Take(nil, 1, 16)
		require.ErrorIs(t, err, store.ErrIndexes)
	}
}

// TestDirectoryLastHome fills the home of the highest number, behind whose last handle
// there is no other.
func TestDirectoryLastHome(t *testing.T) {
	const home = handle.ShardMax
	find, slot := store.FullHome(home)
	for _, test := range []struct {
		h    handle.Handle
		want bool
	}{
		{handle.New(home, handle.IndexMax, handle.VersionMax-1), true},
		{handle.New(home, handle.IndexMax, 1), true},
		{handle.New(home, 0, 1), true},
		{handle.New(home-1, handle.IndexMax, handle.VersionMax), false},
		{handle.New(0, 0, 1), false},
		{handle.None, false},
	} {
		require.Equal(t, test.want, find(test.h), "%v", test.h)
		require.Equal(t, test.want, slot(test.h), "%v", test.h)
	}
}
