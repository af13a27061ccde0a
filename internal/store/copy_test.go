package store_test

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestCopySizes stores, changes, moves and sweeps values of sizes that are copied in
// different ways.
func TestCopySizes(t *testing.T) {
	copySize(t, func(n byte) [1]byte { return [1]byte{n} })
	copySize(t, func(n byte) [3]byte { return [3]byte{n, n + 1, n + 2} })
	copySize(t, func(n byte) [4]byte { return [4]byte{n, n + 1, n + 2, n + 3} })
	copySize(t, func(n byte) [8]byte { return [8]byte{n, 7: n + 7} })
	copySize(t, func(n byte) [12]byte { return [12]byte{n, 11: n + 11} })
	copySize(t, func(n byte) [16]byte { return [16]byte{n, 15: n + 15} })
	copySize(t, func(n byte) [24]byte { return [24]byte{n, 23: n + 23} })
	copySize(t, func(n byte) [32]byte { return [32]byte{n, 31: n + 31} })
	copySize(t, func(n byte) [33]byte { return [33]byte{n, 32: n + 32} })
	copySize(t, func(n byte) [4096]byte { return [4096]byte{n, 4095: n + 1} })
	copySize(t, func(byte) struct{} { return struct{}{} })
}

func copySize[T comparable](t *testing.T, value func(byte) T) {
	t.Run(reflect.TypeFor[T]().String(), func(t *testing.T) {
		space := store.NewSpace(3, handle.IndexMax, handle.VersionMax, handle.VersionMax)
		sized := store.NewTyped[T](space)
		store.NewTyped[struct{}](space)
		shards := []*store.Shard{store.New(space, 0), store.New(space, 1)}
		table := shards[0].Table(set(0))
		fields, plain := table.Fields([]store.Field{{Component: 0}})
		require.True(t, plain)
		var all []handle.Handle
		for n := range byte(40) {
			v := value(n)
			h, err := shards[0].CreatePlain(table, &fields, mem.PointerTo(&v).Address)
			require.NoError(t, err)
			all = append(all, h)
		}
		mustHold := func() {
			t.Helper()
			for n, h := range all {
				if l := space.Locate(h); l != 0 && *sized.At(l) != value(byte(n)) {
					t.Fatalf("row %d: got %v, want %v", n, *sized.At(l), value(byte(n)))
				}
			}
		}
		mustHold()
		for n, h := range all {
			l := space.Locate(h)
			switch n % 4 {
			case 0:
				_, err := space.With(h, l, 1)
				require.NoError(t, err)
			case 1:
				require.NoError(t, shards[1].Migrate(l))
			case 2:
				require.True(t, space.Mark(l))
			}
			mustHold()
		}
		for _, s := range shards {
			s.Compact()
		}
		mustHold()
		twin, err := shards[0].Copy(space.Locate(all[3]), nil)
		require.NoError(t, err)
		require.Equal(t, value(3), *sized.At(space.Locate(twin)))
		require.Equal(t, 10, len(rows(shards[1].Table(set(0)))))
		require.False(t, slices.Contains(rows(table), all[1]))
	})
}

// mixed is a bundle whose fields are copied in different ways.
type mixed struct {
	Small byte
	Pair  [2]float64
	Word  uint64
	Thin  [4]float32
	Odd   [3]byte
}

// TestCreateZeroes creates bundles of which many are zero, or nearly, in rows that were never used, and
// in rows that destroyed atoms have left.
func TestCreateZeroes(t *testing.T) {
	random := rand.New(rand.NewPCG(seed.Of(t), 0))
	space := store.NewSpace(2, handle.IndexMax, handle.VersionMax, handle.VersionMax)
	small, pair, word := store.NewTyped[byte](space), store.NewTyped[[2]float64](space), store.NewTyped[uint64](space)
	thin, odd := store.NewTyped[[4]float32](space), store.NewTyped[[3]byte](space)
	s := store.New(space, 0)
	table := s.Table(set(0, 1, 2, 3, 4))
	var all []store.Field
	for i := range 5 {
		all = append(all, store.Field{Component: i, Offset: reflect.TypeFor[mixed]().Field(i).Offset})
	}
	fields, plain := table.Fields(all)
	require.True(t, plain)
	want := map[handle.Handle]mixed{}
	for range 300 {
		for range random.IntN(40) {
			var v mixed
			switch random.IntN(4) {
			case 0:
				v = mixed{1, [2]float64{2, 3}, 4, [4]float32{5, 6, 7, 8}, [3]byte{9, 10, 11}}
			case 1:
				v.Odd[2] = 1
			case 2:
				v.Thin[random.IntN(4)] = 1
			}
			h, err := s.CreatePlain(table, &fields, mem.PointerTo(&v).Address)
			require.NoError(t, err)
			want[h] = v
		}
		for h, v := range want {
			l := space.Locate(h)
			require.Equal(t, v, mixed{*small.At(l), *pair.At(l), *word.At(l), *thin.At(l), *odd.At(l)})
		}
		none := random.IntN(10) == 0 // nothing stays
		for _, h := range slices.Sorted(maps.Keys(want)) {
			if none || random.IntN(3) == 0 {
				require.True(t, space.Mark(space.Locate(h)))
				delete(want, h)
			}
		}
		s.Compact()
		s.EndTick()
	}
}
