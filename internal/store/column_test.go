package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestColumnViews looks through the views of owners: each shard finds its own
// rows alone, at once; the idle world finds all; and after a refresh nothing of
// what was there before is lost.
func TestColumnViews(t *testing.T) {
	const shards = 3
	s := newStorage(t, shards, handle.IndexMax, handle.VersionMax)
	views := make([]store.TypedView[int64], shards+1)
	for i := range views {
		views[i] = s.numbers.View(i)
	}
	r := newRand(t, 1)
	var all []handle.Handle
	for round := range iterations(30) {
		for range 20 {
			i := r.IntN(shards)
			components := set(number)
			if r.IntN(4) == 0 {
				components = set(text)
			}
			for range r.IntN(100) {
				h, err := s.create(s.shards[i], components, int64(len(all)))
				require.NoError(t, err)
				all = append(all, h)
				l := s.space.Locate(h)
				for v := range views {
					switch got := views[v].At(l); {
					case v == i, v == shards:
						if got != s.numbers.At(l) {
							t.Fatalf("view %d does not find %v", v, h)
						}
					case got != nil:
						t.Fatalf("view %d finds %v of another shard", v, h)
					}
				}
			}
		}
		if round%2 != 0 {
			s.refresh()
		} else if round%3 == 0 { // chunks lose the component
			require.NoError(t, s.shards[r.IntN(shards)].Table(set(number)).Retag(set(text), func(store.Rows) {}))
		}
		for n, h := range all {
			l := s.space.Locate(h)
			p := s.numbers.At(l)
			if p == nil {
				require.False(t, s.space.Set(l).Has(number))
				for v := range views {
					require.Nil(t, views[v].At(l), "view %d finds what %v lacks", v, h)
				}
				continue
			}
			if *p != int64(n) || views[shards].At(l) != p || views[s.space.Owner(l)].At(l) != p {
				t.Fatalf("%v is not found", h)
			}
		}
	}
}

// TestColumnSlices compares the slices of runs with their rows.
func TestColumnSlices(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	numbers := s.numbers.View(0)
	texts := s.texts.View(0)
	s.mustCreate(s.shards[0], 1000)
	table := s.shards[0].Table(set(number))
	n := 0
	for i, left := 0, 700; left > 0; i++ {
		run := table.Run(i, left)
		left -= run.Len()
		slice := numbers.Slice(run)
		require.Len(t, slice, run.Len())
		require.Equal(t, run.Len(), cap(run.Handles()), "appending does not write the table's")
		for k := range slice {
			require.Equal(t, int64(n), slice[k])
			require.Same(t, s.numbers.At(s.space.Locate(run.Handle(k))), &slice[k])
			n++
		}
		require.Panics(t, func() { run.Handle(run.Len()) }, "a view ends where it ends")
		require.Nil(t, texts.Slice(run))
	}
	require.Equal(t, 700, n)
}

// TestColumnOneRow finds the row of a chunk that has no other.
func TestColumnOneRow(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	s.space.Growth = store.Growth{RowsFirst: 1, RowsFactor: 2, RowsMax: 2}
	for n, h := range s.mustCreate(s.shards[0], 4) {
		p := s.numbers.At(s.space.Locate(h))
		require.NotNil(t, p)
		require.Equal(t, int64(n), *p)
	}
	require.Len(t, s.shards[0].Table(set(number)).Chunks(), 3)
}

// TestColumnLaterShards adds chunks in all shards, more than a directory has room for, and
// looks through views that were made before: each sees what its shard added, and the idle
// world sees all.
func TestColumnLaterShards(t *testing.T) {
	s := newStorage(t, 3, handle.IndexMax, handle.VersionMax)
	s.space.Growth.RowsFirst, s.space.Growth.RowsMax = 1, 1
	var views []store.TypedView[int64]
	for i := range len(s.shards) + 1 {
		views = append(views, s.numbers.View(i))
	}
	for i, sh := range s.shards {
		for _, h := range s.mustCreate(sh, 100) {
			l := s.space.Locate(h)
			for v := range views {
				p := views[v].At(l)
				require.Equal(t, v == i || v == len(s.shards), p != nil)
				if p != nil {
					require.Same(t, s.numbers.At(l), p)
				}
			}
		}
	}
}
