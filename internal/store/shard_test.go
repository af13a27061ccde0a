package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
)

// TestAllocatorReserve makes room for slots and rows at once.
func TestAllocatorReserve(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	table := sh.Table(set(number))
	require.NoError(t, sh.Reserve(table, 50_000))
	require.Zero(t, sh.Alive())
	s.mustCreate(sh, 10) // the first marks the loop
	require.Less(t, testing.AllocsPerRun(3, func() {
		for range 10_000 {
			a, err := sh.Create(table)
			if err != nil {
				panic(err)
			}
			a.Publish()
		}
	}), 10.0, "of 10,000 creates")
	require.Equal(t, 40_010, sh.Alive())
}

// TestAllocatorFreesRemote frees atoms at home elsewhere: their slots are their homes' to
// recycle, not their owner's.
func TestAllocatorFreesRemote(t *testing.T) {
	s := newStorage(t, 2, handle.IndexMax, handle.VersionMax)
	taken, err := s.outside.Take(nil, 4, 0)
	require.NoError(t, err)
	h := taken[3]
	_, state := s.state(h)
	require.Equal(t, slots.StateUnused, state)
	require.False(t, s.space.Alive(h))
	a, err := s.shards[1].Adopt(s.shards[1].Table(set(number)), h)
	require.NoError(t, err)
	require.Equal(t, h, a.Handle)
	s.fill(a, set(number), 5)
	require.True(t, s.space.Alive(h))
	require.Equal(t, 1, s.space.Owner(s.space.Locate(h)))
	require.True(t, s.shards[1].Owns(s.space.Locate(h)))
	require.False(t, s.shards[0].Owns(s.space.Locate(h)))

	s.destroy(h)
	s.shards[1].Compact()
	require.Equal(t, 1, s.shards[1].Deferred())
	require.Equal(t, []handle.Handle{h}, s.shards[1].PortDead())
	version, _ := s.state(h)
	require.Equal(t, h.Version(), version, "not theirs")
	s.outside.Recycle(s.shards[1].PortDead())
	version, state = s.state(h)
	require.Equal(t, h.Version()+1, version)
	require.Equal(t, slots.StateUnused, state, "the next port's")
	s.shards[1].EndTick()
	require.Empty(t, s.shards[1].PortDead())
}
