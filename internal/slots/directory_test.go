package slots_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
)

// TestDirectoryGrowth draws a million handles of one home beside few and many others: what
// that allocates goes by the home alone.
func TestDirectoryGrowth(t *testing.T) {
	n := iterations(1 << 20)
	for _, homes := range []int{5, min(2049, handle.HomeMax+1)} {
		dir := new(slots.Directory)
		dir.Init(homes, handle.IndexMax, handle.VersionMax, handle.VersionMax, new(mem.Memory))
		out := slots.NewPortAllocator(dir)
		var hand slots.Hand
		got := make([]handle.Handle, 64)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for drawn := 0; drawn < n; {
			require.NoError(t, out.Take(&hand, 0, 64, 64))
			hand.GiveN(got)
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
		s := newHomes(t, shards, indexMax, handle.VersionMax)
		for home, sh := range s.shards {
			for i, h := range s.mustCreate(sh, int(indexMax)+1) {
				require.Equal(t, handle.New(uint32(home), uint32(i), 1), h)
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
		require.ErrorIs(t, err, slots.ErrIndexes)
	}
}

// TestDirectoryLastHome fills the home of the highest number, behind whose last handle
// there is no other.
func TestDirectoryLastHome(t *testing.T) {
	const home = handle.HomeMax
	find, slot := slots.FullHome(home)
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

// TestDirectoryPages grows the directory: many homes of many pages, in any
// order. Every handle ever given keeps finding its slot.
func TestDirectoryPages(t *testing.T) {
	for _, test := range []struct{ shards, each, pages int }{
		{1, 100_000, 98}, {2, 30_000, 30}, {3, 30_000, 30}, {8, 10_000, 10}, {31, 2_500, 3}, {253, 300, 1}, {handle.HomeMax - 1, 5, 1},
	} {
		t.Run(fmt.Sprintf("%d shards, %d each", test.shards, test.each), func(t *testing.T) {
			s := newHomes(t, test.shards, handle.IndexMax, handle.VersionMax)
			r := newRand(t, 1)
			each := iterations(test.each)
			given := make(map[handle.Handle]slots.Loc, test.shards*each)
			for _, i := range r.Perm(test.shards) {
				for range each {
					h, err := s.shards[i].create()
					if err != nil || h.Home() != uint32(i) || h.Version() != 1 {
						t.Fatalf("%v, %v", h, err)
					}
					if _, twice := given[h]; twice {
						t.Fatalf("%v was given twice", h)
					}
					given[h] = s.dir.Slot(h).Loc
				}
			}
			pages := map[handle.Handle]bool{}
			for h, n := range given {
				pages[h>>(handle.VersionBits+10)] = true
				l := s.dir.Locate(h)
				if l == 0 || !s.dir.Alive(h) || s.dir.LocateStaged(h) != l {
					t.Fatalf("%v is not found", h)
				}
				if l != n {
					t.Fatalf("%v is found in the wrong place", h)
				}
			}
			if iterations(test.each) == test.each {
				require.Equal(t, test.shards*test.pages, len(pages), "slots are used page by page")
			}
		})
	}
}

// TestDirectoryHostile asks for random bits and for handles next to good ones, in
// worlds with few and many slots: what was not given is never alive and never
// located, whoever looks.
func TestDirectoryHostile(t *testing.T) {
	for _, shards := range []int{1, 2, 5, 8} {
		s := newHomes(t, shards, 5000, 7)
		r := newRand(t, uint64(shards))
		given := map[handle.Handle]bool{}
		var all []handle.Handle
		for _, sh := range s.shards {
			for _, h := range s.mustCreate(sh, 3000) {
				given[h] = true
				all = append(all, h)
			}
		}
		mustRefuse := func(h handle.Handle) {
			if given[h] {
				return
			}
			if s.dir.Alive(h) || s.dir.Locate(h) != 0 {
				t.Fatalf("%#x, %v, was never given and is alive", uint64(h), h)
			}
			version, state, ok := s.dir.Look(h)
			if ok && state == slots.StateAlive && h.Version() == version {
				t.Fatalf("%#x, %v, was never given and looks alive", uint64(h), h)
			}
		}
		for range iterations(1_000_000) {
			mustRefuse(handle.Handle(r.Uint64()))
		}
		for range iterations(200_000) {
			h := all[r.IntN(len(all))]
			mustRefuse(h ^ 1<<r.IntN(64))                                                                   // one bit is wrong
			mustRefuse(h ^ 1<<r.IntN(64) ^ 1<<r.IntN(64))                                                   // two are
			mustRefuse(h &^ handle.VersionMax)                                                              // version 0
			mustRefuse(handle.New(uint32(r.IntN(handle.HomeMax+1)), h.Index(), h.Version()))                // another home
			mustRefuse(handle.New(h.Home(), uint32(r.IntN(handle.IndexMax+1)), h.Version()))                // another slot
			mustRefuse(handle.New(h.Home(), h.Index(), 1+uint32(r.IntN(handle.VersionMax))))                // another version
			mustRefuse(handle.New(handle.HomeMax, h.Index(), h.Version()))                                  // a home out of range
			mustRefuse(handle.New(h.Home(), handle.IndexMax-uint32(r.IntN(1024)), uint32(1+r.IntN(1<<20)))) // an index out of range
		}
		for _, h := range []handle.Handle{handle.None, ^handle.None, 1 << 63, 1<<63 - 1, handle.VersionMax} {
			mustRefuse(h)
		}
		for _, h := range all {
			require.True(t, s.dir.Alive(h), "and what was given is alive")
		}
	}
}

// TestDirectoryEmpty asks a world without a slot.
func TestDirectoryEmpty(t *testing.T) {
	s := newHomes(t, 3, handle.IndexMax, handle.VersionMax)
	first := handle.New(1, 0, 1) // what shard 1 gives first
	for _, h := range []handle.Handle{handle.None, 1, first, handle.New(0, 1<<20, 1), handle.New(3, 0, 1), ^handle.None} {
		require.False(t, s.dir.Alive(h))
		require.Zero(t, s.dir.Locate(h))
		version, state, ok := s.dir.Look(h)
		require.Equal(t, h != ^handle.None, ok, "%v: whether its page is there does not show", h)
		if ok {
			require.Equal(t, []any{uint32(1), slots.StateUnused}, []any{version, state})
		}
	}
}

// TestDirectoryNeverUsed looks at the slots of a page that were not given yet:
// version 0 is all there is to find, and it is not alive.
func TestDirectoryNeverUsed(t *testing.T) {
	s := newHomes(t, 1, handle.IndexMax, handle.VersionMax)
	first := s.mustCreate(s.shards[0], 1)[0]
	for i := uint32(0); i < 1024; i++ {
		for version := range handle.Handle(3) {
			h := first&^handle.VersionMax + handle.Handle(i)<<handle.VersionBits + version
			require.Equal(t, h == first, s.dir.Alive(h))
			require.Equal(t, h == first, s.dir.Locate(h) != 0)
			_, _, ok := s.dir.Look(h)
			require.True(t, ok)
		}
	}
}
