package store_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
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
			h, err := shards[0].CreatePlain(table, fields, mem.PointerTo(&v).Address)
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
