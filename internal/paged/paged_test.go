package paged_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/paged"
)

func at(home, index uint32) handle.Handle { return handle.New(home, index, 7) }

// places are handles at the edges of pages and homes.
var places = []handle.Handle{
	at(0, 0), at(0, paged.Size-1), at(0, paged.Size), at(0, 5*paged.Size+3), at(3, 17), at(3, 2*paged.Size),
	at(handle.HomeMax, paged.Size-1),
}

// TestWords puts pages in and finds the words of their handles, and of no others.
func TestWords(t *testing.T) {
	var w paged.Words[uint64]
	require.Nil(t, w.At(places[0]))
	for i, h := range places {
		if w.At(h) == nil {
			w.Put(h, new(paged.Page[uint64]))
		}
		*w.At(h) = uint64(i) + 1
	}
	for i, h := range places {
		require.Equal(t, uint64(i)+1, *w.At(h), "%v", h)
		require.Same(t, w.At(h), w.At(h&^handle.VersionMax), "another version of %v", h)
		page := w.Page(int(h.Home()), paged.NumberOf(h))
		require.Same(t, w.At(h), page.At(h), "%v", h)
	}
	for _, h := range []handle.Handle{at(0, 2*paged.Size), at(0, 6*paged.Size), at(1, 0), at(3, paged.Size), at(handle.HomeMax, handle.IndexMax)} {
		require.Nil(t, w.At(h), "%v", h)
		require.Nil(t, w.Page(int(h.Home()), paged.NumberOf(h)), "%v", h)
	}
	var firsts []handle.Handle
	for first, p := range w.All {
		require.Same(t, p, w.Page(int(first.Home()), paged.NumberOf(first)))
		firsts = append(firsts, first)
	}
	require.Equal(t, []handle.Handle{
		paged.First(0, 0), paged.First(0, 1), paged.First(0, 5), paged.First(3, 0), paged.First(3, 2), paged.First(handle.HomeMax, 0),
	}, firsts)
	require.Equal(t, len(firsts), w.Pages)
}

// TestTablesOfReaders keeps a table while pages are put in: it does not change.
func TestTablesOfReaders(t *testing.T) {
	var w paged.Words[uint64]
	var tables [][]*paged.Page[uint64]
	for i := range uint32(20) {
		w.Put(at(1, i*paged.Size), new(paged.Page[uint64]))
		tables = append(tables, w.Table(1))
	}
	for n, table := range tables {
		require.Equal(t, w.Table(1)[:n+1], table)
	}
}

// TestClone changes a clone: the original keeps its pages.
func TestClone(t *testing.T) {
	var w paged.Words[uint64]
	w.Put(places[0], new(paged.Page[uint64]))
	before := w.At(places[0])
	c := w.Clone()
	require.Same(t, before, c.At(places[0]))
	c.Put(places[0], new(paged.Page[uint64]))
	c.Put(at(0, paged.Size), new(paged.Page[uint64]))
	require.Same(t, before, w.At(places[0]))
	require.NotSame(t, before, c.At(places[0]))
	require.Nil(t, w.At(at(0, paged.Size)))
	require.Equal(t, []int{1, 2}, []int{w.Pages, c.Pages})
}

// TestShared has goroutines make the same pages: all get the same words, and what they have added
// stays there when tables grow.
func TestShared(t *testing.T) {
	const goroutines = 4
	s := paged.NewShared[atomic.Int64](handle.HomeMax + 1)
	for round := range 3 {
		for _, h := range places {
			if round == 0 {
				require.Nil(t, s.At(h), "%v", h)
			}
			s.Reach(h.Home(), paged.NumberOf(h)+1+round*(paged.NumberOf(h)+1))
		}
		var group sync.WaitGroup
		for range goroutines {
			group.Go(func() {
				for _, h := range places {
					s.Make(h).Add(1)
				}
			})
		}
		group.Wait()
		for _, h := range places {
			require.EqualValues(t, goroutines*(round+1), s.At(h).Load(), "%v in round %d", h, round)
		}
	}
	require.Nil(t, s.At(at(0, 2*paged.Size)), "nobody made it")
	s.Clear()
	require.Nil(t, s.At(places[0]))
	s.Reach(0, 1)
	require.Zero(t, s.Make(places[0]).Load())
}
