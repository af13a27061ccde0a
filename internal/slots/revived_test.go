package slots_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
)

// TestRevivedAreGivenLast begins another incarnation when slots are retired and others are free:
// those that were free go on in their order, and the retired ones come after them.
func TestRevivedAreGivenLast(t *testing.T) {
	dir := new(slots.Directory)
	dir.Init(2, 200, 100, 2, new(mem.Memory))
	var a slots.Allocator
	a.Init(dir, 0)
	out := slots.NewPortAllocator(dir)
	var hand slots.Hand

	require.NoError(t, a.Refill(100))
	all := make([]handle.Handle, 100)
	for i := range all {
		h, slot := a.Next(a.Pop())
		slot.Store(uint32(h))
		all[i] = h
	}
	require.NoError(t, out.Take(&hand, 0, 100, 0))
	of := make([]handle.Handle, 100)
	hand.GiveN(of)
	retired := map[uint32]bool{}
	for i := range 10 { // both versions of these are used up
		retired[all[3*i].Index()] = true
		a.Recycle([]handle.Handle{all[3*i]})
		h, slot := a.Next(a.Pop())
		slot.Store(uint32(h))
		a.Recycle([]handle.Handle{h})
		out.Recycle([]handle.Handle{of[3*i]})
		require.NoError(t, out.Take(&hand, 0, 1, 0))
		out.Recycle([]handle.Handle{hand.Give()})
	}
	require.Equal(t, []int{10, 10}, []int{a.Retired(), out.Retired()})
	for i := range 10 {
		a.Recycle([]handle.Handle{all[3*i+1]})
		out.Recycle([]handle.Handle{of[3*i+1]})
	}
	for a.Free() > 10 {
		h, slot := a.Next(a.Pop())
		slot.Store(uint32(h))
	}
	require.NoError(t, out.Reincarnate(2, nil))
	for i := range 20 {
		h, _ := a.Next(a.Pop())
		require.Equal(t, i >= 10, retired[h.Index()], "%d: %v", i, h)
		require.NoError(t, out.Take(&hand, 0, 1, 0))
		require.Equal(t, i >= 10, retired[hand.Next(0).Index()], "%d of ports: %v", i, hand.Give())
	}
}

// TestUndoneVersions takes back a load of as many homes as a handle can name, which has one version
// fewer: then the world has all of them again.
func TestUndoneVersions(t *testing.T) {
	const shards = min(slots.HomesSmall, handle.HomeMax-1)
	dir := new(slots.Directory)
	dir.Init(shards+1, handle.IndexMax, handle.VersionMax, 1, new(mem.Memory))
	all := make([]slots.Allocator, shards)
	for i := range all {
		all[i].Init(dir, i)
	}
	l, err := slots.NewLoad(slots.NewPortAllocator(dir))
	require.NoError(t, err)
	for range 2 {
		before := dir.Layout()
		require.NoError(t, l.Homes(slots.Layout{Homes: handle.HomeMax + 1, Ports: shards}))
		require.ErrorIs(t, l.Incarnation(handle.VersionMax), slots.ErrVersions)
		l.Undo()
		require.Equal(t, before, dir.Layout())
		require.NoError(t, l.Homes(before))
		require.NoError(t, l.Incarnation(handle.VersionMax))
		l.Undo()
		require.EqualValues(t, 1, dir.Incarnation())
	}
}
