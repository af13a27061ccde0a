package store_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// chunks returns the capacities and numbers of rows of a table's chunks that have any.
func chunks(t *store.Table) (capacities, rows []int) {
	for i, left := 0, t.Rows(); left > 0; i++ {
		r := t.Run(i, left)
		left -= r.Len()
		capacities, rows = append(capacities, r.Cap()), append(rows, r.Len())
	}
	return capacities, rows
}

// TestCoalesce lets a table grow over some ticks: where its rows are in the end, and that
// they keep their order, their components, their flags, whatever fits where.
func TestCoalesce(t *testing.T) {
	for _, test := range []struct {
		grow       []int // by so many in each tick
		capacities []int
		rows       []int
	}{
		{[]int{16}, []int{16}, []int{16}},
		{[]int{17}, []int{64}, []int{17}},
		{[]int{16, 1}, []int{64}, []int{17}},
		{[]int{16, 64}, []int{16, 64}, []int{16, 64}}, // there is no room for the first
		{[]int{16, 64, 1}, []int{256}, []int{81}},     // but in the next
		{[]int{10, 10, 100, 300}, []int{1024}, []int{420}},
		{[]int{1100}, []int{16, 64, 1024}, []int{16, 64, 1020}}, // the 256 fit, those before no more
		{[]int{1361}, []int{4096}, []int{1361}},
		{[]int{1360 + 4096}, []int{4096, 4096}, []int{4096, 1360}},
		{[]int{1360 + 4096, 1}, []int{4096, 4096}, []int{4096, 1361}},
		{[]int{4 * 4096}, []int{4096, 4096, 4096, 4096}, []int{4096, 4096, 4096, 4096}},
		{[]int{1360, 3 * 4096}, []int{4096, 4096, 4096, 4096}, []int{4096, 4096, 4096, 1360}},
		{[]int{4*4096 + 1}, []int{16, 64, 256, 1024, 4096, 4096, 4096, 4096}, []int{16, 64, 256, 1024, 4096, 4096, 4096, 2737}}, // too many
	} {
		t.Run(fmt.Sprint(test.grow), func(t *testing.T) {
			s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
			sh, both := s.shards[0], set(number, text)
			var all []handle.Handle
			var texts []*string
			for tick, n := range test.grow {
				for range n {
					h, err := s.create(sh, both, int64(len(all)))
					require.NoError(t, err)
					l := s.space.Locate(h)
					switch len(all) % 5 {
					case 1:
						sh.SetFlags(l, 2, 0)
					case 3:
						sh.SetFlags(l, 1, 0)
					}
					all, texts = append(all, h), append(texts, *s.texts.At(l))
				}
				s.refresh()
				table := sh.Table(both)
				require.Equal(t, all, rows(table), "tick %d", tick)
				for i, h := range all {
					l := s.space.Locate(h)
					got := []any{*s.numbers.At(l), *s.texts.At(l) == texts[i], s.space.FlagsAt(l)}
					want := []any{int64(i), true, [...]slots.Flags{0, 2, 0, 1, 0}[i%5]}
					if !slices.Equal(want, got) {
						t.Fatalf("tick %d: row %d is %v, want %v", tick, i, got, want)
					}
				}
			}
			capacities, n := chunks(sh.Table(both))
			require.Equal(t, test.capacities, capacities)
			require.Equal(t, test.rows, n)
			f := store.Filter{Without: 2}
			require.Equal(t, len(all)-(len(all)+3)/5, sh.Table(both).MatchingRows(&f))
		})
	}
}

// TestCoalesceGivesBack lets tables grow in turn: what the small chunks held is let go of,
// and their numbers and rows are used again.
func TestCoalesceGivesBack(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh, both, one := s.shards[0], set(number, text), set(text)
	var seen []weak.Pointer[string]
	var all []handle.Handle
	for i := range 17 { // in a chunk of 16 rows, and one of 64
		h, err := s.create(sh, both, 1)
		require.NoError(t, err)
		p := &[]string{fmt.Sprint(i)}[0]
		*s.texts.At(s.space.Locate(h)) = p
		all, seen = append(all, h), append(seen, weak.Make(p))
	}
	small := s.space.Locate(all[0])
	s.refresh()
	require.NotEqual(t, small>>slots.RowBits, s.space.Locate(all[0])>>slots.RowBits)
	h, err := s.create(sh, one, 0)
	require.NoError(t, err)
	require.Equal(t, small, s.space.Locate(h), "the number of the chunk that was given up is used again")
	s.destroy(all...)
	s.refresh()
	runtime.GC()
	for i, w := range seen {
		require.Nil(t, w.Value(), i)
	}
	require.Equal(t, []handle.Handle{h}, rows(sh.Table(one)))
	runtime.KeepAlive(s)
}

// TestCoalesceLetsGo gathers rows whose chunk nothing keeps alive then, while its number is
// not used again: what a chunk holds is as large as its rows.
func TestCoalesceLetsGo(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh, table := s.shards[0], s.shards[0].Table(set(number))
	all := s.mustCreate(sh, 16)
	s.refresh()
	small := weak.Make(table.Chunks()[0])
	require.Equal(t, 16, small.Value().Cap())
	s.mustCreate(sh, 1)
	s.refresh()
	require.Len(t, table.Chunks(), 1)
	runtime.GC()
	require.Nil(t, small.Value())
	require.NotZero(t, s.space.Locate(all[0]))
	runtime.KeepAlive(s)
}

// TestCoalesceStamps asks what changed: what a merge moves has changed in the tick that the
// refresh ended, and not in the next.
func TestCoalesceStamps(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	s.space.SetTick(6)
	all := s.mustCreate(sh, 16)
	s.space.SetTick(7)
	all = append(all, s.mustCreate(sh, 1)...)
	s.space.SetTick(8) // as a refresh does before it settles
	s.refresh()
	none := store.Set{}
	r := sh.Table(set(number)).Run(0, len(all))
	require.Equal(t, all, r.Handles())
	require.True(t, r.WrittenSince(1, &none))
	require.False(t, r.WrittenSince(0, &none))
}

// TestCoalesceStampsOfOthers lets a chunk be given up that changed later than the one that
// takes its rows.
func TestCoalesceStampsOfOthers(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh, none := s.shards[0], store.Set{}
	s.space.SetTick(5)
	all := s.mustCreate(sh, 80) // 16 and 64, both full
	s.refresh()
	s.space.SetTick(9)
	last := s.mustCreate(sh, 1) // in a third chunk, for a moment
	s.destroy(append(last, all[40:]...)...)
	s.space.SetTick(10)
	s.refresh()
	r := sh.Table(set(number)).Run(0, 40)
	require.Equal(t, all[:40], r.Handles())
	require.Equal(t, 64, r.Cap())
	require.True(t, r.WrittenSince(1, &none))
}

// TestCoalesceExact gathers rows that fill the last chunk exactly, one of them flagged.
func TestCoalesceExact(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh, both := s.shards[0], set(number, text)
	var all []handle.Handle
	for n := range int64(64) { // 16 and 48 of 64
		h, err := s.create(sh, both, n)
		require.NoError(t, err)
		all = append(all, h)
	}
	sh.SetFlags(s.space.Locate(all[63]), 1, 0)
	s.refresh()
	require.Len(t, sh.Table(both).Chunks(), 1)
	require.Equal(t, all, rows(sh.Table(both)))
	for n, h := range all {
		l := s.space.Locate(h)
		require.Equal(t, int64(n), *s.numbers.At(l))
		require.NotNil(t, *s.texts.At(l))
		require.Equal(t, n == 63, s.space.FlagsAt(l) == 1)
	}
}

// TestCoalesceSpare gathers rows in a chunk that has an empty one behind it.
func TestCoalesceSpare(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh, table := s.shards[0], s.shards[0].Table(set(number))
	all := s.mustCreate(sh, 40)
	require.NoError(t, sh.Reserve(table, 1000))
	s.refresh()
	require.Equal(t, 40, table.Rows())
	require.Equal(t, all, rows(table))
	require.Len(t, table.Chunks(), 2)
}

// TestCoalesceIsNotedOnce has tables grow into a larger chunk and shrink again, without a
// refresh: what is left to do does not grow with it, nor do they allocate.
func TestCoalesceIsNotedOnce(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh, all := s.shards[0], s.mustCreate(s.shards[0], 20) // 16 and 4 of 64
	thereAndBack := func() {
		for _, h := range all {
			if _, err := s.space.With(h, s.space.Locate(h), text); err != nil {
				t.Fatal(err)
			}
		}
		for _, h := range all {
			if had, err := s.space.Without(h, s.space.Locate(h), text); err != nil || !had {
				t.Fatal(had, err)
			}
		}
	}
	thereAndBack()
	unsettled := sh.Unfinished()
	require.Zero(t, testing.AllocsPerRun(100, thereAndBack))
	require.Equal(t, unsettled, sh.Unfinished())

	s.refresh()
	settled := sh.Unfinished()
	require.Less(t, settled, unsettled)
	require.Len(t, sh.Table(set(number)).Chunks(), 1)
	all = append(all, s.mustCreate(sh, 100)...)
	require.Greater(t, sh.Unfinished(), settled, "noted again")
	s.refresh()
	require.Len(t, sh.Table(set(number)).Chunks(), 1)
}

// TestCoalesceBounded lets tables grow within a tick, the last of the list first: each refresh
// gathers a few of them, the first of the list first.
func TestCoalesceBounded(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	store.NewTyped[[64]byte](s.space)
	const wide = text + 1
	sets := []store.Set{set(wide), set(wide, text), set(wide, number), set(wide, number, text)}
	sh := s.shards[0]
	grow := func(c store.Set, n int) {
		for i := range n {
			_, err := s.create(sh, c, int64(i))
			require.NoError(t, err)
		}
	}
	for _, c := range sets {
		grow(c, 1)
	}
	for _, c := range slices.Backward(sets) {
		grow(c, 3*slots.RowsMax)
	}
	gathered := func() (done []bool) {
		for _, c := range sets {
			done = append(done, len(sh.Table(c).Chunks()) == 4)
		}
		return done
	}
	require.Equal(t, []bool{false, false, false, false}, gathered())
	s.refresh()
	require.Equal(t, []bool{true, true, true, false}, gathered())
	require.NotZero(t, sh.Unfinished())
	s.refresh()
	require.Equal(t, []bool{true, true, true, true}, gathered())
	require.Zero(t, sh.Unfinished())
}

// TestCoalesceFull gathers nothing if the world is out of chunks, and loses nothing.
func TestCoalesceFull(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	all := s.mustCreate(s.shards[0], 3*slots.RowsMax)
	table := s.shards[0].Table(set(number))
	had := len(table.Chunks())
	s.space.SetChunks(slots.ChunksMax - 1)
	s.refresh()
	require.Len(t, table.Chunks(), had)
	require.Equal(t, all, rows(table))
	s.mustHold(all, nil)
}
