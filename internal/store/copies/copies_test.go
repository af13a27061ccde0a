package copies_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/internal/store/copies"
)

// TestFrameAges lets a frame be held for more ticks than a stamp can count.
func TestFrameAges(t *testing.T) {
	space := store.NewSpace(2, handle.IndexMax, handle.VersionMax, handle.VersionMax)
	column, shards := store.NewColumn(space, mem.TypeOf[int64]()), []*store.Shard{store.New(space, 0)}
	var numbers store.Set
	numbers.Add(0)
	table := shards[0].Table(numbers)
	fields, plain := table.Fields([]store.Field{{}})
	require.True(t, plain)
	value := int64(1)
	h, err := shards[0].CreatePlain(table, &fields, mem.PointerTo(&value).Address)
	require.NoError(t, err)
	frames := copies.New(space, shards, 1<<20)
	capture := func(tick uint64, held ...uint64) *store.Frame {
		space.SetTick(tick)
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
	l := space.Locate(h)
	old := capture(3)
	space.SetTick(3 + 1<<32 - 10)
	*(*int64)(column.AtWrite(l)) = 2
	young := capture(3+1<<32+10, old.Number)
	require.Equal(t, int64(2), *(*int64)(young.Space.Columns[0].At(l)))
	require.Equal(t, int64(1), *(*int64)(old.Space.Columns[0].At(l)))
}
