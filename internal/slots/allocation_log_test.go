package slots_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
)

// TestFollow has one home follow another: what was drawn there is pending here.
func TestFollow(t *testing.T) {
	a, b := newHomes(t, 1, 5000, 3), newHomes(t, 1, 5000, 3)
	a.outside.Note(true)
	first, err := a.outside.Take(nil, 16, 0)
	require.NoError(t, err)
	require.False(t, b.outside.Pending(first[0]))
	require.Equal(t, uint32(16), a.outside.Drawn())
	require.NoError(t, b.outside.Follow(a.outside.Drawn()))
	for _, s := range []*homes{a, b} {
		require.True(t, s.outside.Pending(first[0]))
		require.False(t, s.outside.Pending(first[0]+1))
		require.False(t, s.outside.Pending(handle.New(0, 0, 1)), "of a shard")
	}

	// What was told of and comes back is noted.
	a.outside.Recall(first[3], first[2])
	a.outside.Cut()
	a.outside.Restock()
	require.ElementsMatch(t, []handle.Handle{first[2], first[3]}, a.outside.TakeRecalls(nil))
	require.Empty(t, a.outside.TakeRecalls(nil))

	require.ErrorContains(t, b.outside.Follow(15), "16 handles were drawn, of 5001 at most; now it would be 15")
	require.ErrorContains(t, b.outside.Follow(5002), "now it would be 5002")
	require.NoError(t, b.outside.Follow(5001), "all there are")

	a.outside.Note(false)
	a.outside.Recall(first[4])
	a.outside.Cut()
	a.outside.Restock()
	require.Empty(t, a.outside.TakeRecalls(nil), "nobody notes any more")
}

// TestReopen reopens a home that followed another: each free slot is then given once, under the
// next version, for of the last one somebody may have been told.
func TestReopen(t *testing.T) {
	const versionMax = 2
	s := newHomes(t, 1, 4999, versionMax)
	all, err := s.outside.Take(nil, 16, 0)
	require.NoError(t, err)
	s.outside.Recycle(all[:3])
	s.shards[0].store(all[5])
	require.NoError(t, s.outside.Follow(5000))

	s.outside.Reopen()
	require.Equal(t, 3, s.outside.Retired())
	given, err := s.outside.Take(nil, 4996, 0)
	require.NoError(t, err)
	versions := map[uint32]uint32{} // by index
	for _, h := range given {
		require.Zero(t, versions[h.Index()], "%v is given twice", h)
		versions[h.Index()] = h.Version()
		require.Equal(t, uint32(2), h.Version())
		_, state := s.state(h)
		require.Equal(t, slots.StateUnused, state)
	}
	require.Zero(t, versions[all[5].Index()], "alive")
	require.Zero(t, versions[all[0].Index()], "retired")
	_, err = s.outside.Take(nil, 1, 0)
	require.ErrorIs(t, err, slots.ErrIndexes)
}
