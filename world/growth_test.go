package world_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/hugepage"
	"github.com/atoll-sim/atoll/world"
)

// TestGrowthOfChunks sees which chunks a table gets, one by one and reserved.
func TestGrowthOfChunks(t *testing.T) {
	for _, test := range []struct {
		first, factor, most int
		want                []int // of 100 entities, the last part full
	}{
		{0, 0, 0, []int{16, 64, 20}},
		{32, 1, 0, []int{32, 32, 32, 4}},
		{1, 2, 16, []int{1, 2, 4, 8, 16, 16, 16, 16, 16, 5}},
		{0, 0, 8, []int{8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 4}},
		{256, 0, 256, []int{100}},
	} {
		o := world.Options{Shards: 1, ChunkRowsFirst: test.first, ChunkRowsFactor: test.factor, ChunkRowsMax: test.most}
		t.Run(fmt.Sprint(test.first, test.factor, test.most), func(t *testing.T) {
			f := newFixture(t, o)
			f.newUnits(100)
			var got []int
			for ch := range f.Query(world.Read[Health](f.World)).Chunks() {
				got = append(got, ch.Len())
			}
			require.Equal(t, test.want, got)

			r := newFixture(t, o)
			require.NoError(t, r.unit.Reserve(r.World, 1000))
			before := r.stats().Chunks
			r.newUnits(1000)
			require.Equal(t, before, r.stats().Chunks, "there was room")
			require.Equal(t, 1000, r.Query(world.Read[Health](r.World)).Count())
		})
	}
}

// TestGrowthOfSlots counts the memory of slots.
func TestGrowthOfSlots(t *testing.T) {
	reserved := func(entities int) uint64 {
		f := newFixture(t, world.Options{Shards: 1})
		f.newUnits(entities)
		rows := uint64(0)
		for _, n := range chunkRows(entities) {
			rows += uint64(n)
		}
		return (f.stats().BytesReserved - rows*16 - rows/64*8) / 8 / 1024 * 1024
	}
	for _, test := range []struct{ entities, pages, prepared int }{
		{16, 1, 0},
		{1024, 1, 0},
		{1025, 2, 0},          // one more
		{4097, 6, 0},          // half of 4 more
		{64*1024 + 1, 67, 16}, // 8 at a time, where half of 59 would be 29; and 16 chunks of 4096 rows are prepared
	} {
		require.Equal(t, test.pages+test.prepared*4096*8/8192, int(reserved(test.entities)/1024), "%d entities", test.entities)
	}
}

// chunkRows is what chunks so many entities have, by default.
func chunkRows(entities int) (all []int) {
	for rows := 16; entities > 0; rows = min(rows*4, 4096) {
		all = append(all, rows)
		entities -= rows
	}
	return all
}

// TestGrowthShapesNoOutcome plays the same game in worlds that grow in different
// steps: the same handles, in the same order, with the same values. Batches that take
// whole chunks over are left out: those go by chunk.
func TestGrowthShapesNoOutcome(t *testing.T) {
	var want []string
	for i, o := range []world.Options{
		{},
		{ChunkRowsMax: 1},
		{ChunkRowsFirst: 2, ChunkRowsFactor: 2, ChunkRowsMax: 64},
		{ChunkRowsFirst: 4096},
	} {
		o.Shards = 3
		f := newFixture(t, o)
		got := f.playRandomly(newRand(t, 7), iterations(4000))
		if i == 0 {
			want = got
			continue
		}
		require.Equal(t, want, got, "%+v", o)
	}
}

// playRandomly creates, changes, moves and destroys, and returns all entities.
func (f *fixture) playRandomly(r interface{ IntN(int) int }, steps int) (all []string) {
	var known []handle.Handle
	some := func() handle.Handle { return known[r.IntN(len(known))] }
	for i := range steps {
		switch n := r.IntN(10); {
		case n < 5 || len(known) == 0:
			known = append(known, f.newUnit(int64(i)))
		case n == 5:
			_ = f.name.Add(f.World, some(), Name{fmt.Sprint(i)})
		case n == 6:
			_ = f.name.Remove(f.World, some())
		case n == 7:
			_ = world.Move(f.World, some(), r.IntN(f.Shards()))
		case n == 8:
			f.Destroy(some())
		default:
			f.Refresh()
		}
	}
	f.Refresh()
	health := world.Read[Health](f.World)
	for ch := range f.Query(health).Chunks() {
		for i, h := range ch.Handles() {
			all = append(all, fmt.Sprint(h, health.Slice(ch)[i]))
		}
	}
	return all
}

// TestLimitNamesVersions says which limits a home has met.
func TestLimitNamesVersions(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1, IndexMax: 1, VersionMax: 3})
	for range 3 {
		f.Destroy(f.newUnit(1))
		f.Refresh()
	}
	f.newUnit(1)
	_, err := f.unit.Create(f.World, Unit{})
	require.ErrorIs(t, err, world.ErrIndexes)
	require.ErrorContains(t, err, "home 0 has given all of IndexMax = 1, and 1 are retired after VersionMax = 3 uses")
}

// TestHugePagesAreAskedFor is of a world that is large enough; what the system makes of
// it is up to that.
func TestHugePagesAreAskedFor(t *testing.T) {
	for _, o := range []world.Options{{}, {HugePages: true}} {
		f := newFixture(t, o)
		f.newUnits(30_000)
		s := f.stats()
		require.Equal(t, o.HugePages && hugepage.Size() > 0, s.HugePages > 0)
		require.Equal(t, 30_000, s.Entities)
	}
}
