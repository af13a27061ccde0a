package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestAllocatorRecycles gives the slots of the dead again, newest first, each under
// the next version.
func TestAllocatorRecycles(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	all := s.mustCreate(sh, 2000)
	free := sh.Free()
	s.destroy(all[10], all[1500], all[999])
	require.Equal(t, free, sh.Free(), "not before the sweep")
	s.refresh()
	require.Equal(t, free+3, sh.Free())
	for _, h := range []handle.Handle{all[10], all[1500], all[999]} {
		version, state := s.state(h)
		require.Equal(t, h.Version()+1, version)
		require.Equal(t, store.StateUnused, state)
	}
	again := s.mustCreate(sh, 4)
	require.ElementsMatch(t, []handle.Handle{all[10] + 1, all[1500] + 1, all[999] + 1}, again[:3])
	require.Equal(t, uint32(1), again[3].Version(), "then fresh ones")
	for _, h := range again {
		version, state := s.state(h)
		require.Equal(t, h.Version(), version)
		require.Equal(t, store.StateAlive, state)
	}
}

// TestAllocatorRetires uses slots up: after VersionMax tenants one is never given
// again, and nothing of it is alive. Tenants are swept one by one, beside one who
// stays, and a whole chunk at a time.
func TestAllocatorRetires(t *testing.T) {
	for _, stay := range []int{0, 1} {
		for _, versionMax := range []uint32{1, 7} {
			s := newStorage(t, 1, handle.IndexMax, versionMax)
			sh := s.shards[0]
			s.mustCreate(sh, stay)
			var ever []handle.Handle
			for round := range versionMax {
				all := s.mustCreate(sh, 10)
				for _, h := range all {
					require.Equal(t, round+1, h.Version())
					require.NotContains(t, ever, h)
				}
				require.Zero(t, sh.Retired())
				s.destroy(all...)
				s.refresh()
				ever = append(ever, all...)
			}
			require.Equal(t, 10, sh.Retired())
			for _, h := range s.mustCreate(sh, 100) {
				require.Equal(t, uint32(1), h.Version(), "others' slots")
				require.NotContains(t, ever, h)
			}
			for _, h := range ever {
				version, state := s.state(h)
				require.Equal(t, versionMax, version)
				require.Equal(t, store.StateRetired, state)
				for v := handle.Handle(0); v < 20; v++ { // versions after the last, too
					require.False(t, s.space.Alive(h&^handle.VersionMax+v))
					require.Zero(t, s.space.Locate(h&^handle.VersionMax+v))
				}
			}
		}
	}
}

// TestAllocatorExhausted gives every index there is, within a page, at its end and
// over several.
func TestAllocatorExhausted(t *testing.T) {
	for _, indexMax := range []uint32{1, 62, 63, 64, 100, 1022, 1023, 1024, 3000, 70_000} {
		s := newStorage(t, 2, indexMax, handle.VersionMax)
		sh := s.shards[1]
		all := s.mustCreate(sh, int(indexMax)+1)
		for range 3 {
			_, err := s.create(sh, set(number), 1)
			require.ErrorIs(t, err, store.ErrIndexes)
			require.ErrorContains(t, err, "home 1")
			require.ErrorContains(t, err, "IndexMax = ")
		}
		require.Equal(t, int(indexMax)+1, sh.Alive())
		require.Equal(t, sh.Alive(), sh.Table(set(number)).Rows(), "no row was used")
		s.mustCreate(s.shards[0], 1) // the other home has its own
		s.destroy(all[indexMax])
		s.refresh()
		require.Equal(t, all[indexMax]+1, s.mustCreate(sh, 1)[0])
		_, err := s.create(sh, set(number), 1)
		require.ErrorIs(t, err, store.ErrIndexes)
	}
}

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
	require.Equal(t, store.StatePending, state)
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
	require.Equal(t, 1, s.shards[1].Foreign())
	require.Equal(t, []handle.Handle{h}, s.shards[1].PortDead())
	version, _ := s.state(h)
	require.Equal(t, h.Version(), version, "not theirs")
	s.outside.Recycle(s.shards[1].PortDead())
	version, state = s.state(h)
	require.Equal(t, h.Version()+1, version)
	require.Equal(t, store.StatePending, state, "the next port's")
	s.shards[1].EndTick()
	require.Empty(t, s.shards[1].PortDead())
}

// TestAllocatorReserveSlots makes room for as many handles as there are, and for no more.
func TestAllocatorReserveSlots(t *testing.T) {
	s := newStorage(t, 1, 2047, handle.VersionMax)
	sh := s.shards[0]
	s.mustCreate(sh, 1500)
	require.NoError(t, sh.ReserveSlots(2048-1500))
	require.ErrorIs(t, sh.ReserveSlots(2048-1500+1), store.ErrIndexes)
	s.mustCreate(sh, 2048-1500)
}
