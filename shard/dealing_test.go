package shard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
)

// TestDealing notes what one home deals out and deals the same in another: the slots of
// both are then alike.
func TestDealing(t *testing.T) {
	const versionMax = 3
	a, b := newStorage(t, 1, 5000, versionMax), newStorage(t, 1, 5000, versionMax)
	first, err := a.outside.Take(nil, 16)
	require.NoError(t, err)
	a.outside.Untake(first[:2])
	a.outside.Note(true)
	deal := func() []shard.Dealing {
		t.Helper()
		dealt, drawn := a.outside.TakeDealings(nil)
		require.NoError(t, b.outside.Deal(drawn, dealt))
		version := func(s *storage, h handle.Handle) []any {
			version, state, ok := s.space.Look(h)
			return []any{version, state, ok}
		}
		for i := range first {
			require.Equal(t, version(a, first[i]), version(b, first[i]), "%v", first[i])
			require.Equal(t, a.outside.InHand(first[i]), b.outside.InHand(first[i]))
		}
		return dealt
	}
	require.Len(t, deal(), 16, "the first say which are in hand")
	require.Empty(t, deal())
	require.True(t, b.outside.InHand(first[5]))
	require.False(t, b.outside.InHand(first[0]), "it went back")
	require.False(t, b.outside.InHand(first[5]+1))
	require.False(t, b.outside.InHand(handle.New(0, 0, 1)))

	again, err := a.outside.Take(nil, 1)
	require.NoError(t, err)
	a.outside.Untake(again)
	more, err := a.outside.Take(nil, 4) // two that are ready
	require.NoError(t, err)
	require.Len(t, more, 2)
	a.outside.Return(more[0])
	given := a.outside.Give(nil, 1)
	require.Equal(t, more[:1], given)
	require.Equal(t, []shard.Dealing{{again[0], false}, {again[0], true}, {more[0], false}, {more[1], false}, {more[0], true}, {more[0], false}}, deal())

	// What was told of and comes back is not noted as dealt, but by itself.
	a.outside.Recall(first[3])
	a.outside.Cut()
	a.outside.Restock()
	require.Equal(t, []handle.Handle{first[3]}, a.outside.TakeRecalls(nil))
	require.Empty(t, a.outside.TakeRecalls(nil))

	// The stock of used ones is dealt when it is made.
	a.outside.Want(1)
	a.outside.Recycle([]handle.Handle{first[6]})
	dealt, drawn := a.outside.TakeDealings(nil)
	require.Equal(t, []shard.Dealing{{first[6] + 1, false}}, dealt)
	require.Equal(t, uint32(16), drawn)

	require.ErrorContains(t, b.outside.Deal(15, nil), "16 handles were drawn, of 5001 at most; now it would be 15")
	require.ErrorContains(t, b.outside.Deal(5002, nil), "now it would be 5002")
	require.ErrorContains(t, b.outside.Deal(16, []shard.Dealing{{first[6] + 1, false}}), "is not one that a port could be given")
	require.NoError(t, b.outside.Deal(5001, nil), "all there are")

	b.outside.Reopen() // what is in hand is stale, what went back is not
	_, state := b.state(first[5])
	require.Equal(t, shard.StateUnused, state)
	require.False(t, b.outside.InHand(first[5]))
	got, err := b.outside.Take(nil, 1)
	require.NoError(t, err)
	require.Len(t, got, 1)
	a.outside.Note(false)
	dealt, _ = a.outside.TakeDealings(nil)
	require.Empty(t, dealt)
	_, err = a.outside.Take(nil, 1)
	require.NoError(t, err)
	dealt, _ = a.outside.TakeDealings(nil)
	require.Empty(t, dealt, "nobody notes any more")
}

// TestDealRefuses deals what no port could be given: a handle of a shard, and one whose slot
// was never made.
func TestDealRefuses(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	s.mustCreate(s.shards[0], 1)
	for _, h := range []handle.Handle{handle.New(0, s.shards[0].FreeList()[0], 1), handle.New(1, handle.IndexMax, 1)} {
		require.ErrorContains(t, s.outside.Deal(16, []shard.Dealing{{Handle: h}}), "is not one that a port could be given")
		require.False(t, s.outside.InHand(h))
	}
	require.True(t, s.outside.InHand(handle.New(1, 15, 1)), "the last that was drawn")
	require.False(t, s.outside.InHand(handle.New(1, 16, 1)))
}

// TestReopen deals some handles, and reopens the home: each slot is then given once, those
// of handles that were in hand under the next version.
func TestReopen(t *testing.T) {
	const versionMax = 2
	s := newStorage(t, 1, 4999, versionMax)
	all, err := s.outside.Take(nil, 16)
	require.NoError(t, err)
	s.outside.Recycle(all[:3])
	s.outside.Restock() // these are ready
	s.outside.Want(2)
	s.outside.Recycle(all[3:6]) // two are in stock, one is free
	require.NoError(t, s.outside.Deal(5000, []shard.Dealing{{all[7], true}, {all[0] + 1, false}}))
	require.Equal(t, []handle.Handle{all[3] + 1, all[4] + 1}, s.outside.Give(nil, 16), "what is free waits until it is open")
	require.Zero(t, s.outside.Retired())

	s.outside.Reopen()
	versions := map[uint32]uint32{} // by index
	given, err := s.outside.Take(nil, 5000)
	require.NoError(t, err)
	for _, h := range s.outside.Give(given, 5000) {
		require.Zero(t, versions[h.Index()], "%v is given twice", h)
		versions[h.Index()] = h.Version()
	}
	require.Equal(t, 5000, len(versions)+s.outside.Retired())
	for i, h := range all {
		version := uint32(2)
		switch {
		case i == 7: // went back
			version = 1
		case i == 0 || i == 3 || i == 4: // its last was in hand
			version = 0
		}
		require.Equal(t, version, versions[h.Index()], "%d", i)
	}
}
