package store_test

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// extent is the memory of a chunk's rows of a column.
type extent struct {
	owner int
	from  uintptr
	bytes uintptr
}

// extents returns those of the chunks that have the component, by number.
func extents[T any](s *storage, column store.Typed[T], component int) map[uint32]extent {
	all := map[uint32]extent{}
	for owner, sh := range s.shards {
		for _, t := range sh.Tables() {
			if set := t.Set(); !set.Has(component) {
				continue
			}
			for _, c := range t.Chunks() {
				l := store.FirstLoc(c)
				all[uint32(l>>slots.RowBits)] = extent{owner, uintptr(unsafe.Pointer(column.At(l))), uintptr(c.Cap()) * unsafe.Sizeof(*new(T))}
			}
		}
	}
	return all
}

// TestForgedLocations makes up locations: all rows of every chunk and of numbers that no
// chunk has. Whatever they are, what a view or a column answers is a row of that column
// that the view may see, or nil.
func TestForgedLocations(t *testing.T) {
	s := newStorage(t, 2, handle.IndexMax, handle.VersionMax)
	s.mustCreate(s.shards[0], 700) // numbers and texts
	for _, components := range []store.Set{set(number), set(text), set()} {
		for i, sh := range s.shards {
			for range []int{3, 150}[i] {
				_, err := s.create(sh, components, 1)
				require.NoError(t, err)
			}
		}
	}
	s.refresh()
	t.Run("numbers", func(t *testing.T) { forge(t, s, s.numbers, extents(s, s.numbers, number)) })
	t.Run("texts", func(t *testing.T) { forge(t, s, s.texts, extents(s, s.texts, text)) })

	for _, sh := range s.shards { // the chunks lose their component
		require.NoError(t, sh.Table(set(number)).Retag(set(), func(store.Rows) {}))
	}
	s.refresh()
	t.Run("dropped", func(t *testing.T) { forge(t, s, s.numbers, extents(s, s.numbers, number)) })
}

func forge[T any](t *testing.T, s *storage, column store.Typed[T], all map[uint32]extent) {
	require.NotEmpty(t, all)
	views := make([]store.TypedView[T], len(s.shards)+1)
	for i := range views {
		views[i] = column.View(i)
	}
	numbers := []uint32{slots.ChunksMax, slots.ChunksMax - 1}
	for n := range uint32(70) {
		numbers = append(numbers, n)
	}
	for bit := 6; bit < 32-slots.RowBits; bit++ {
		most := uint32(20)
		if check.Enabled {
			most = 3
		}
		for n := range most {
			numbers = append(numbers, 1<<bit|n)
		}
	}
	found := 0
	look := func(l slots.Loc, what string, mine bool, p *T) {
		e, ok := all[uint32(l>>slots.RowBits)]
		offset := uintptr(l.Row()) * unsafe.Sizeof(*p)
		switch want := ok && mine && offset < e.bytes; {
		case want != (p != nil):
			t.Fatalf("%s at chunk %d, row %d: found %t, want %t", what, l>>slots.RowBits, l.Row(), p != nil, want)
		case want && uintptr(unsafe.Pointer(p)) != e.from+offset:
			t.Fatalf("%s at chunk %d, row %d is other memory", what, l>>slots.RowBits, l.Row())
		case want:
			found++
		}
	}
	first, apart := slots.Loc(0), slots.Loc(1)
	if check.Enabled { // others with another seed
		apart = 5
		first = slots.Loc(seed.Of(t) % 5)
	}
	for _, n := range numbers {
		for row := first; row < slots.RowsMax; row += apart {
			l := slots.Loc(n)<<slots.RowBits | row
			look(l, "Column.At", true, column.At(l))
			look(l, "Column.AtWrite", true, column.AtWrite(l))
			for i := range views {
				mine := i == len(s.shards) || all[n].owner == i
				look(l, "View.At", mine, views[i].At(l))
				look(l, "View.AtWrite", mine, views[i].AtWrite(l))
			}
		}
	}
	require.NotZero(t, found)
}

// TestRowsBeyond asks views of rows for rows that they do not have.
func TestRowsBeyond(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	s.mustCreate(s.shards[0], 10)
	s.refresh()
	numbers := s.numbers.View(0)
	rows := s.shards[0].Tables()[0].Run(0, 10)
	for _, r := range []store.Rows{rows, rows.Head(4), rows.Head(0)} {
		for _, i := range []int{-1, r.Len(), r.Len() + 1, rows.Cap(), slots.RowsMax, math.MaxInt32, math.MinInt32} {
			require.Panics(t, func() { r.Loc(i) }, "row %d of %d", i, r.Len())
		}
		for _, n := range []int{-1, r.Len() + 1, rows.Cap() + 1, math.MinInt32} {
			require.Panics(t, func() { r.Head(n) }, "%d rows of %d", n, r.Len())
		}
		require.Len(t, numbers.Slice(r), r.Len())
		require.Len(t, numbers.SliceWrite(r), r.Len())
	}
	require.Equal(t, s.space.Locate(rows.Handle(9)), rows.Loc(9))
}
