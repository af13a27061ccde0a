package store_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestSize measures a shard and the outside home, byte by byte.
func TestSize(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, 2)
	sh := s.shards[0]
	require.Equal(t, store.Size{}, sh.Size(), "the first page comes with the first atom")
	s.mustCreate(sh, 90) // 16, 64 and 256 rows
	_, err := s.create(sh, set(number, text), 1)
	require.NoError(t, err)
	const pointer = strconv.IntSize / 8
	require.Equal(t, store.Size{
		Tables: 2, Chunks: 4,
		Size: slots.Size{
			Taken: 91, Used: 90*(8+8) + 1*(8+8+pointer) + 91*8,
			Reserved: (16+64+256)*(8+8) + 16*(8+8+pointer) + (1+1+4+1)*8 + 1024*8 + 4*uint64(cap(sh.FreeList(0))),
		},
	}, sh.Size())

	s.destroy(rows(sh.Table(set(number)))[:10]...)
	s.refresh()
	require.Equal(t, uint64(80*(8+8)+1*(8+8+pointer)+81*8), sh.Size().Used, "without the free")
	all := s.mustCreate(sh, 10)
	s.destroy(all...)
	s.refresh()
	require.Equal(t, 10, sh.Retired())
	require.Equal(t, uint64(80*(8+8)+1*(8+8+pointer)+81*8), sh.Size().Used, "nor the retired")
	require.Equal(t, 91, sh.Size().Taken, "but the retired are lost")

	hand := s.outside.hand
	require.NoError(t, s.outside.PortAllocator.Take(hand, 0, 16, 0))
	require.Equal(t, uint64(16*8), s.outside.Size().Used)
	require.Equal(t, uint64(1024*8+1024*4), s.outside.Size().Reserved)
	s.outside.Put(hand, 13)
	drawn := make([]handle.Handle, 13)
	hand.GiveN(drawn)
	require.Equal(t, uint64(13*8), s.outside.Size().Used, "without the pool")
	s.outside.Recycle(drawn[:5])
	require.Equal(t, uint64(8*8), s.outside.Size().Used, "nor the free")
	require.Greater(t, s.outside.Size().Reserved, uint64(1024*8+1024*4))
	again, err := s.outside.Take(nil, 1, 0)
	require.NoError(t, err)
	s.outside.Recycle(again) // its last version
	require.Equal(t, 1, s.outside.Retired())
	require.Equal(t, uint64(8*8), s.outside.Size().Used, "nor the retired")
	require.Equal(t, 9, s.outside.Size().Taken)
	_, err = s.outside.Take(nil, 1<<20, 0)
	require.NoError(t, err)
}

// TestSizeExhausted measures the outside home when more was drawn than there is.
func TestSizeExhausted(t *testing.T) {
	s := newStorage(t, 1, 20, handle.VersionMax)
	for range 5 {
		_, _ = s.outside.Take(nil, 7, 0)
	}
	require.Equal(t, uint64(21*8), s.outside.Size().Used)
}

// TestSizePages adds no page behind the last that there can be.
func TestSizePages(t *testing.T) {
	s := newStorage(t, 1, 5*1024-1, handle.VersionMax)
	sh := s.shards[0]
	s.mustCreate(sh, 5*1024)
	rows := uint64(16 + 64 + 256 + 1024 + 4096)
	require.Equal(t, 5*1024*8+rows*(8+8)+(1+1+4+16+64)*8+4*uint64(cap(sh.FreeList(0))), sh.Size().Reserved)
}
