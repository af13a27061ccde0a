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
	views := make([]store.View[int64], shards+1)
	for i := range views {
		s.numbers.Attach(&views[i], i)
	}
	r := newRand(t, 1)
	var all []handle.Handle
	for round := range iterations(30) {
		s.space.SetIdle(round%2 == 0)
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
					case v == i, v == shards && round%2 == 0:
						if got != s.numbers.At(l) {
							t.Fatalf("view %d does not find %v", v, h)
						}
					case v < shards:
						if got != nil {
							t.Fatalf("view %d finds %v of another shard", v, h)
						}
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
					if v == shards || round%2 != 0 {
						require.Nil(t, views[v].At(l), "view %d finds what %v lacks", v, h)
					}
				}
				continue
			}
			if *p != int64(n) || round%2 != 0 && (views[shards].At(l) != p || views[s.space.Owner(l)].At(l) != p) {
				t.Fatalf("%v is not found", h)
			}
		}
	}
}

// TestColumnViewsSync has shards add more chunks than a directory has room for,
// while the world is not idle: the idle world sees them after the refresh.
func TestColumnViewsSync(t *testing.T) {
	s := newStorage(t, 3, handle.IndexMax, handle.VersionMax)
	var idle store.View[int64]
	s.numbers.Attach(&idle, 3)
	s.space.SetIdle(false)
	var all []handle.Handle
	for range 4 {
		for _, sh := range s.shards {
			all = append(all, s.mustCreate(sh, 2000)...)
		}
		s.refresh()
		for _, h := range all {
			l := s.space.Locate(h)
			require.Equal(t, l, s.idle.Locate(h))
			require.Same(t, s.numbers.At(l), idle.At(l))
		}
	}
}

// TestColumnSlices compares the slices of runs with their rows.
func TestColumnSlices(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	var numbers store.View[int64]
	var texts store.View[*string]
	s.numbers.Attach(&numbers, 0)
	s.texts.Attach(&texts, 0)
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

// TestColumnIdle adds chunks and pages while the world is not idle: the idle world sees
// rows after the refresh, and not before, when others may be using what it would look at.
func TestColumnIdle(t *testing.T) {
	s := newStorage(t, 2, handle.IndexMax, handle.VersionMax)
	s.space.Growth.RowsMax = 1
	s.space.Growth.RowsFirst = 1
	var idle store.View[int64]
	s.numbers.Attach(&idle, 2)
	s.space.SetIdle(false)
	h := s.mustCreate(s.shards[1], 20)[19] // in a chunk that a longer directory has
	require.Nil(t, idle.At(s.space.Locate(h)))
	drawn, err := s.outside.Take(nil, 1, 0) // as a port does, which adds a page
	require.NoError(t, err)
	a, err := s.shards[0].Adopt(s.shards[0].Table(set(number)), drawn[0])
	require.NoError(t, err)
	s.fill(a, set(number), 1)
	require.Equal(t, a.Loc(), s.idle.Locate(drawn[0]), "handles are found at once")
	require.Nil(t, idle.At(a.Loc()), "rows are not")
	s.refresh()
	require.NotNil(t, idle.At(s.space.Locate(h)))
	require.NotNil(t, idle.At(a.Loc()))
}
