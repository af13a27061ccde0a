package slots_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
)

// TestDumpSlots looks at slots of several pages, the last of which nobody has come to.
func TestDumpSlots(t *testing.T) {
	s := newHomes(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	require.NoError(t, sh.ReserveSlots(5000))
	all := s.mustCreate(sh, 64+1024)
	words := sh.AppendSlots([]uint32{7}, 0)
	require.Len(t, words, 1+len(all)+sh.Free())
	require.Equal(t, uint32(7), words[0])
	for i, h := range all {
		require.Equal(t, uint32(h), words[1+i], "%d", i)
	}
	for _, word := range words[1+len(all):] {
		require.NotZero(t, word)
	}
}

// TestDumpDrawn looks at the home of ports: which handles are in the pool and which with ports does
// not show.
func TestDumpDrawn(t *testing.T) {
	s := newHomes(t, 1, handle.IndexMax, 2)
	drawn, err := s.outside.Take(nil, 8, 0)
	require.NoError(t, err)
	s.outside.Recycle(drawn[:1])
	s.shards[0].store(drawn[1])
	uses := make([]uint32, 8)
	uses[drawn[0].Index()&7], uses[drawn[1].Index()&7] = 1, 1
	require.Equal(t, uses, append(s.outside.AppendUses(nil), uses...)[:8], "without the zeroes behind")
	require.Equal(t, append([]uint32{5}, uses...)[:len(s.outside.AppendUses(nil))+1], s.outside.AppendUses([]uint32{5}))

	before := s.outside.AppendUses(nil)
	s.outside.Put(drawn[2:3], 0)
	require.Equal(t, before, s.outside.AppendUses(nil))
}

// TestLookStale asks for the slots of handles that are stale, and of none.
func TestLookStale(t *testing.T) {
	s := newHomes(t, 1, handle.IndexMax, handle.VersionMax)
	h := s.mustCreate(s.shards[0], 1)[0]
	require.Equal(t, s.dir.Locate(h), s.dir.LocateStaged(h))
	require.Zero(t, s.dir.LocateStaged(h+1))
	require.Zero(t, s.dir.LocateStaged(handle.New(1, 77, 1)))
}
