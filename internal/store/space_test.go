package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestSpaceDirectory grows the directory: many homes of many pages, in any
// order. Every handle ever given keeps finding its slot.
func TestSpaceDirectory(t *testing.T) {
	for _, test := range []struct{ shards, each, pages int }{
		{1, 100_000, 98}, {2, 30_000, 30}, {3, 30_000, 30}, {8, 10_000, 10}, {31, 2_500, 3}, {253, 300, 1}, {handle.ShardMax - 1, 5, 1},
	} {
		t.Run(fmt.Sprintf("%d shards, %d each", test.shards, test.each), func(t *testing.T) {
			s := newStorage(t, test.shards, handle.IndexMax, handle.VersionMax)
			r := newRand(t, 1)
			each := iterations(test.each)
			given := make(map[handle.Handle]int64, test.shards*each)
			for _, i := range r.Perm(test.shards) {
				for n := range int64(each) {
					h, err := s.create(s.shards[i], set(number), n)
					if err != nil || h.Shard() != uint32(i) || h.Version() != 1 {
						t.Fatalf("%v, %v", h, err)
					}
					if _, twice := given[h]; twice {
						t.Fatalf("%v was given twice", h)
					}
					given[h] = n
				}
			}
			pages := map[handle.Handle]bool{}
			for h, n := range given {
				pages[h>>(handle.VersionBits+10)] = true
				l := s.space.Locate(h)
				if l == 0 || !s.space.Alive(h) || s.idle.Locate(h) != l {
					t.Fatalf("%v is not found", h)
				}
				if *s.numbers.At(l) != n || s.space.Owner(l) != int(h.Shard()) {
					t.Fatalf("%v is found in the wrong place", h)
				}
			}
			if iterations(test.each) == test.each {
				require.Equal(t, test.shards*test.pages, len(pages), "slots are used page by page")
			}
		})
	}
}

// TestSpaceHostile asks for random bits and for handles next to good ones, in
// worlds with few and many slots: what was not given is never alive and never
// located, whoever looks.
func TestSpaceHostile(t *testing.T) {
	for _, shards := range []int{1, 2, 5, 8} {
		s := newStorage(t, shards, 5000, 7)
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
			if s.space.Alive(h) || s.space.Locate(h) != 0 || s.idle.Locate(h) != 0 {
				t.Fatalf("%#x, %v, was never given and is alive", uint64(h), h)
			}
			version, state, ok := s.space.Look(h)
			if ok && state == store.StateAlive && h.Version() == version {
				t.Fatalf("%#x, %v, was never given and looks alive", uint64(h), h)
			}
		}
		for range iterations(1_000_000) {
			mustRefuse(handle.Handle(r.Uint64()))
		}
		for range iterations(200_000) {
			h := all[r.IntN(len(all))]
			mustRefuse(h ^ 1<<r.IntN(64))                                                                    // one bit is wrong
			mustRefuse(h ^ 1<<r.IntN(64) ^ 1<<r.IntN(64))                                                    // two are
			mustRefuse(h &^ handle.VersionMax)                                                               // version 0
			mustRefuse(handle.New(uint32(r.IntN(handle.ShardMax+1)), h.Index(), h.Version()))                // another home
			mustRefuse(handle.New(h.Shard(), uint32(r.IntN(handle.IndexMax+1)), h.Version()))                // another slot
			mustRefuse(handle.New(h.Shard(), h.Index(), 1+uint32(r.IntN(handle.VersionMax))))                // another version
			mustRefuse(handle.New(handle.ShardMax, h.Index(), h.Version()))                                  // a home out of range
			mustRefuse(handle.New(h.Shard(), handle.IndexMax-uint32(r.IntN(1024)), uint32(1+r.IntN(1<<20)))) // an index out of range
		}
		for _, h := range []handle.Handle{handle.None, ^handle.None, 1 << 63, 1<<63 - 1, handle.VersionMax} {
			mustRefuse(h)
		}
		for _, h := range all {
			require.True(t, s.space.Alive(h), "and what was given is alive")
		}
	}
}

// TestSpaceEmpty asks a world without a slot.
func TestSpaceEmpty(t *testing.T) {
	s := newStorage(t, 3, handle.IndexMax, handle.VersionMax)
	first := handle.New(1, 0, 1) // what shard 1 gives first
	for _, h := range []handle.Handle{handle.None, 1, first, handle.New(0, 1<<20, 1), handle.New(3, 0, 1), ^handle.None} {
		require.False(t, s.space.Alive(h))
		require.Zero(t, s.space.Locate(h))
		require.Zero(t, s.idle.Locate(h))
		version, state, ok := s.space.Look(h)
		require.Equal(t, h == first || h == handle.None || h == 1, ok, "%v: a shard has its first page, outside has none", h)
		if ok {
			require.Zero(t, version)
			require.Equal(t, store.StateUnused, state)
		}
	}
}

// TestSpaceNeverUsed looks at the slots of a page that were not given yet:
// version 0 is all there is to find, and it is not alive.
func TestSpaceNeverUsed(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	first := s.mustCreate(s.shards[0], 1)[0]
	for i := uint32(0); i < 1024; i++ {
		for version := range handle.Handle(3) {
			h := first&^handle.VersionMax + handle.Handle(i)<<handle.VersionBits + version
			require.Equal(t, h == first, s.space.Alive(h))
			require.Equal(t, h == first, s.space.Locate(h) != 0)
			require.Equal(t, h == first, s.idle.Locate(h) != 0)
			_, _, ok := s.space.Look(h)
			require.True(t, ok)
		}
	}
}

// TestSpaceChunks runs out of chunk numbers: an error that names the limit, and
// whatever was asked did not happen.
func TestSpaceChunks(t *testing.T) {
	s := newStorage(t, 2, handle.IndexMax, handle.VersionMax)
	s.mustCreate(s.shards[0], 16)
	s.space.SetChunks(store.ChunksMax - 1)
	s.mustCreate(s.shards[0], 64) // the last chunk
	free := s.shards[0].Free()
	for range 3 {
		h, err := s.create(s.shards[0], set(number), 1)
		require.ErrorIs(t, err, store.ErrChunks)
		require.ErrorContains(t, err, fmt.Sprint(store.ChunksMax))
		require.Equal(t, handle.None, h)
		require.GreaterOrEqual(t, s.shards[0].Free(), free, "no slot was used")
		_, err = s.create(s.shards[1], set(number), 1)
		require.ErrorIs(t, err, store.ErrChunks)
		require.ErrorIs(t, s.shards[0].Reserve(s.shards[0].Table(set(number)), 1), store.ErrChunks)
	}
	require.Equal(t, 80, s.shards[0].Alive())
	require.Zero(t, s.shards[1].Alive())
	all := rows(s.shards[0].Table(set(number)))
	require.Len(t, all, 80)
	s.destroy(all...)
	s.refresh()
	s.mustCreate(s.shards[0], 80) // the chunks there are serve on
}
