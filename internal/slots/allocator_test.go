package slots_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
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

// TestFreeAllIsRecycleOneByOne frees dead handles of several homes and pages, with versions at both
// ends of the window and below it, at once and one by one: slots and free list must be equal.
func TestFreeAllIsRecycleOneByOne(t *testing.T) {
	const n, each, first, last = 3000, 10, 51, 60
	rng := rand.New(rand.NewPCG(1, 2))
	for range iterations(200) {
		var of [2]*homes // at once, one by one
		for i := range of {
			of[i] = newHomes(t, 2, n, last)
			of[i].dir.Init(3, n, handle.VersionMax, each, new(mem.Memory))
			for k, sh := range of[i].shards {
				sh.Init(of[i].dir, k)
			}
			require.NoError(t, slots.NewPortAllocator(of[i].dir).Reincarnate(last/each, nil))
			for _, sh := range of[i].shards {
				require.NoError(t, sh.ReserveSlots(n))
			}
		}
		dead := make([]handle.Handle, 0, n)
		step := 1
		if rng.IntN(3) == 0 {
			step = 1021 // pages in turn
		}
		for k := range n {
			i := k * step % n
			home, version := uint32(0), uint32(first)
			switch rng.IntN(20) {
			case 0:
				home = 1
			case 1:
				version = last
			case 2:
				version = 1
			case 3:
				version = first - 1
			case 4:
				version = last - 1
			}
			h := slots.Compose(home, uint32(i), version)
			dead = append(dead, h)
			for _, s := range of {
				s.dir.Slot(h).Store(uint32(h))
			}
		}
		fromLast := rng.IntN(2) == 0
		of[0].shards[0].FreeAll(dead, fromLast)
		if fromLast {
			slices.Reverse(dead)
		}
		for _, h := range dead {
			if h.Home() == 0 {
				of[1].shards[0].Recycle([]handle.Handle{h})
			} else {
				of[1].shards[0].DeferFree(h)
			}
		}
		a, b := of[0].shards[0], of[1].shards[0]
		require.Equal(t, b.ShardDead(), a.ShardDead())
		for _, h := range dead {
			require.Equal(t, of[1].dir.Slot(h).Load(), of[0].dir.Slot(h).Load(), "%v", h)
		}
		require.Equal(t, b.Free(), a.Free())
		require.Equal(t, b.PopN(b.Free()), a.PopN(a.Free()))
	}
}
