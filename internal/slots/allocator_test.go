package slots_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
)

// TestAllocatorRecycles gives the slots of the dead again, newest first, each under
// the next version.
func TestAllocatorRecycles(t *testing.T) {
	s := newHomes(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	all := s.mustCreate(sh, 2000)
	free := sh.Free()
	s.destroy(sh, all[10], all[1500], all[999])
	require.Equal(t, free, sh.Free(), "not before the refresh")
	s.refresh()
	require.Equal(t, free+3, sh.Free())
	for _, h := range []handle.Handle{all[10], all[1500], all[999]} {
		version, state := s.state(h)
		require.Equal(t, h.Version()+1, version)
		require.Equal(t, slots.StateUnused, state)
	}
	again := s.mustCreate(sh, 4)
	require.ElementsMatch(t, []handle.Handle{all[10] + 1, all[1500] + 1, all[999] + 1}, again[:3])
	require.Equal(t, uint32(1), again[3].Version(), "then fresh ones")
	for _, h := range again {
		version, state := s.state(h)
		require.Equal(t, h.Version(), version)
		require.Equal(t, slots.StateAlive, state)
	}
}

// TestAllocatorRetires uses slots up: after VersionMax tenants one is never given
// again, and nothing of it is alive. Tenants are freed in order, beside one who
// stays, and from the last one on.
func TestAllocatorRetires(t *testing.T) {
	for _, stay := range []int{0, 1} {
		for _, versionMax := range []uint32{1, 7} {
			s := newHomes(t, 2, handle.IndexMax, versionMax)
			sh := s.shards[stay]
			s.mustCreate(sh, stay)
			var ever []handle.Handle
			for round := range versionMax {
				all := s.mustCreate(sh, 10)
				for _, h := range all {
					require.Equal(t, round+1, h.Version())
					require.NotContains(t, ever, h)
				}
				require.Zero(t, sh.Retired())
				s.destroy(sh, all...)
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
				require.Equal(t, slots.StateRetired, state)
				for v := handle.Handle(0); v < 20; v++ { // versions after the last, too
					require.False(t, s.dir.Alive(h&^handle.VersionMax+v))
					require.Zero(t, s.dir.Locate(h&^handle.VersionMax+v))
				}
			}
		}
	}
}

// TestAllocatorExhausted gives every index there is, within a page, at its end and
// over several.
func TestAllocatorExhausted(t *testing.T) {
	for _, indexMax := range []uint32{1, 62, 63, 64, 100, 1022, 1023, 1024, 3000, 70_000} {
		s := newHomes(t, 2, indexMax, handle.VersionMax)
		sh := s.shards[1]
		all := s.mustCreate(sh, int(indexMax)+1)
		for range 3 {
			_, err := sh.create()
			require.ErrorIs(t, err, slots.ErrIndexes)
			require.ErrorContains(t, err, "home 1")
			require.ErrorContains(t, err, "IndexMax = ")
		}
		s.mustCreate(s.shards[0], 1) // the other home has its own
		s.destroy(sh, all[indexMax])
		s.refresh()
		require.Equal(t, all[indexMax]+1, s.mustCreate(sh, 1)[0])
		_, err := sh.create()
		require.ErrorIs(t, err, slots.ErrIndexes)
	}
}

// TestAllocatorReserveSlots makes room for as many handles as there are, and for no more.
func TestAllocatorReserveSlots(t *testing.T) {
	s := newHomes(t, 1, 2047, handle.VersionMax)
	sh := s.shards[0]
	s.mustCreate(sh, 1500)
	require.NoError(t, sh.ReserveSlots(2048-1500))
	require.ErrorIs(t, sh.ReserveSlots(2048-1500+1), slots.ErrIndexes)
	s.mustCreate(sh, 2048-1500)
}
