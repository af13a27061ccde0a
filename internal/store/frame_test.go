package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestFrameAges lets a frame be held for more ticks than a stamp can count.
func TestFrameAges(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	h, err := s.create(s.shards[0], set(number), 1)
	require.NoError(t, err)
	frames, numbers := store.NewFrames(s.space, s.shards, 1<<20), set(number)
	capture := func(tick uint64, held ...uint64) *store.Frame {
		s.space.SetTick(tick)
		x := frames.Begin(nil, &numbers, tick, held, 0, 0)
		frames.Walk(x, 0, &numbers)
		parts, _, ok := frames.Plan()
		require.True(t, ok)
		for i, component := 0, 0; i < parts; i++ {
			frames.Copy(i, &component)
		}
		frames.End()
		return x
	}
	column, l := s.numbers, s.space.Locate(h)
	old := capture(3)
	s.space.SetTick(3 + 1<<32 - 10)
	*column.AtWrite(l) = 2
	young := capture(3+1<<32+10, old.Number)
	require.Equal(t, int64(2), *(*int64)(young.Space.Columns[number].At(l)))
	require.Equal(t, int64(1), *(*int64)(old.Space.Columns[number].At(l)))
}
