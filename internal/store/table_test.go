package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestTableChunks fills a table: chunks grow from 16 rows by a factor of 4 to
// RowsMax, each is full before the next.
func TestTableChunks(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	table := s.shards[0].Table(set(number))
	require.Equal(t, 0, table.Rows())
	var want []int
	for rows := 16; rows < slots.RowsMax; rows *= 4 {
		want = append(want, rows)
	}
	want = append(want, slots.RowsMax, slots.RowsMax)
	require.Equal(t, []int{16, 64, 256, 1024}, want[:4])
	for i, capacity := range want {
		before := table.Rows()
		first := s.mustCreate(s.shards[0], 1)[0]
		require.Equal(t, 0, s.space.Locate(first).Row())
		for n := 1; n < capacity; n++ {
			h := s.mustCreate(s.shards[0], 1)[0]
			require.Equal(t, n, s.space.Locate(h).Row())
		}
		require.Equal(t, before+capacity, table.Rows())
		require.Equal(t, capacity, table.Run(i, slots.RowsMax).Len())
		require.Equal(t, first, table.Run(i, slots.RowsMax).Handle(0))
	}
}

// TestTableNothingMoves keeps the addresses of rows while the table grows, and
// others of the same columns beside it.
func TestTableNothingMoves(t *testing.T) {
	s := newStorage(t, 2, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	at := map[handle.Handle]*int64{}
	for n := range int64(iterations(30_000)) {
		h, err := s.create(sh, set(number), n)
		require.NoError(t, err)
		at[h] = s.numbers.At(s.space.Locate(h))
		if n%3 == 0 {
			_, err = s.create(sh, set(number, text), n)
			require.NoError(t, err)
			_, err = s.create(s.shards[1], set(number), n)
			require.NoError(t, err)
		}
		if n%7 == 0 {
			s.destroy(h) // a mark moves nothing
		}
	}
	for h, p := range at {
		if s.numbers.At(s.space.Locate(h)) != p {
			t.Fatalf("%v has moved", h)
		}
	}
}

// TestTableSets keeps atoms with different components apart.
func TestTableSets(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	sets := []store.Set{set(), set(number), set(text), set(number, text)}
	all := map[handle.Handle]store.Set{}
	for n := range int64(400) {
		c := sets[n%4]
		h, err := s.create(sh, c, n)
		require.NoError(t, err)
		all[h] = c
	}
	require.Len(t, sh.Tables(), 4)
	for h, c := range all {
		l := s.space.Locate(h)
		require.Equal(t, c, *s.space.Set(l))
		require.Equal(t, c.Has(number), s.numbers.At(l) != nil)
		require.Equal(t, c.Has(text), s.texts.At(l) != nil)
	}
	for i, table := range sh.Tables() {
		require.Equal(t, sets[i], table.Set(), "in the order in which they were made")
		require.Same(t, table, sh.Table(sets[i]))
		require.Equal(t, 100, table.Rows())
	}
	require.Equal(t, 400, sh.Alive())
}

// TestTableLoops asks for the rows that were there when loops began, as they
// nest and end, with tables growing within.
func TestTableLoops(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	table := sh.Table(set(number))
	grow := func(n int) { s.mustCreate(sh, n) }
	begin := func() uint64 { sh.Loop++; return sh.Loop }

	grow(5)
	portDead := begin()
	require.Equal(t, 5, table.RowsAt(portDead))
	grow(3)
	require.Equal(t, 5, table.RowsAt(portDead))
	grow(20)
	require.Equal(t, 5, table.RowsAt(portDead))
	inner := begin()
	require.Equal(t, 28, table.RowsAt(inner))
	grow(2)
	require.Equal(t, []int{5, 28}, []int{table.RowsAt(portDead), table.RowsAt(inner)})
	quiet := begin() // nothing grows in it
	require.Equal(t, 30, table.RowsAt(quiet))
	last := begin()
	grow(1)
	require.Equal(t, []int{5, 28, 30, 30}, []int{
		table.RowsAt(portDead), table.RowsAt(inner), table.RowsAt(quiet), table.RowsAt(last),
	})
	require.Equal(t, 31, table.Rows())

	s.destroy(rows(table)[:10]...)
	s.refresh()
	require.Equal(t, 21, table.Rows())
	next := begin()
	require.Equal(t, 21, table.RowsAt(next), "a refresh forgets the loops before it")
	grow(4)
	require.Equal(t, 21, table.RowsAt(next))
}

// TestTableLoopsAgainstModel nests loops at random: a loop sees the rows that
// there were when it began.
func TestTableLoopsAgainstModel(t *testing.T) {
	for seed := range uint64(iterations(30)) {
		s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
		r := newRand(t, seed)
		sh := s.shards[0]
		sets := []store.Set{set(number), set(text), set(number, text)}
		type loop struct {
			id   uint64
			rows [3]int
		}
		var open []loop
		for range 300 {
			switch r.IntN(8) {
			case 0, 1:
				l := loop{}
				for i, c := range sets {
					l.rows[i] = sh.Table(c).Rows()
				}
				sh.Loop++
				l.id = sh.Loop
				open = append(open, l)
			case 2:
				if len(open) > 0 {
					open = open[:len(open)-1]
				}
			case 3:
				if len(open) == 0 {
					for _, table := range sh.Tables() {
						for _, h := range rows(table) {
							if r.IntN(3) == 0 {
								s.destroy(h)
							}
						}
					}
					s.refresh()
				}
			default:
				c := sets[r.IntN(3)]
				for range r.IntN(30) {
					_, err := s.create(sh, c, 0)
					require.NoError(t, err)
				}
			}
			for _, l := range open {
				for i, c := range sets {
					require.Equal(t, l.rows[i], sh.Table(c).RowsAt(l.id))
				}
			}
		}
	}
}

// TestManyComponents stores components whose numbers are in different words of a set.
func TestManyComponents(t *testing.T) {
	space := store.NewSpace(2, handle.IndexMax, handle.VersionMax, handle.VersionMax)
	var typed []store.Typed[int64]
	for range store.ComponentsMax {
		c := store.NewTyped[int64](space)
		typed = append(typed, c)
	}
	sh := store.New(space, 0)
	for _, components := range [][]int{{0, 63, 64, 65}, {1, 64, 127, 128, 129}, {63, 128, 191, 192, 193, 255}, {255}} {
		a, err := sh.Create(sh.Table(set(components...)))
		require.NoError(t, err)
		for _, c := range components {
			*(*int64)(store.Value(a, c)) = int64(c + 1000)
		}
		a.Publish()
		for c, column := range typed {
			p := column.At(a.Loc())
			if of := a.Chunk.Table().Set(); !of.Has(c) {
				require.Nil(t, p)
				continue
			}
			require.Equal(t, int64(c+1000), *p)
		}
	}
}

// TestFieldsPlain tells whether a bundle can be copied as bytes.
func TestFieldsPlain(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	table := s.shards[0].Table(set(number, text))
	for _, test := range []struct {
		components []int
		plain      bool
	}{{[]int{number}, true}, {[]int{text}, false}, {[]int{text, number}, false}, {[]int{number, text}, false}, {nil, true}} {
		var fields []store.Field
		for _, c := range test.components {
			fields = append(fields, store.Field{Component: c})
		}
		_, plain := table.Fields(fields)
		require.Equal(t, test.plain, plain, "%v", test.components)
	}
}

// TestUnsettled counts what a refresh has to settle: tables that have grown in loops, each
// once, flags to be published, and the dead whose homes are elsewhere.
func TestUnsettled(t *testing.T) {
	s := newStorage(t, 2, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	s.space.SetTick(1) // not one in which tables are looked at for what is spare
	require.Zero(t, sh.Unfinished())
	for range 3 {
		sh.Loop++
		s.mustCreate(sh, 1)
		require.Equal(t, 1, sh.Unfinished(), "a table")
	}
	sh.Loop++
	_, err := s.create(sh, set(text), 0)
	require.NoError(t, err)
	require.Equal(t, 2, sh.Unfinished(), "another")
	sh.SetFlags(s.space.Locate(rows(sh.Table(set(text)))[0]), 1, 0)
	require.Equal(t, 3, sh.Unfinished(), "flags")
	sh.PublishFlags()
	require.Equal(t, 2, sh.Unfinished())

	guest := s.mustCreate(s.shards[1], 1)[0]
	require.NoError(t, sh.Migrate(s.space.Locate(guest)))
	drawn, err := s.outside.Take(nil, 1, 0)
	require.NoError(t, err)
	a, err := sh.Adopt(sh.Table(set(number)), drawn[0])
	require.NoError(t, err)
	s.fill(a, set(number), 1)
	s.destroy(guest, drawn[0])
	sh.Compact()
	require.Equal(t, 4, sh.Unfinished(), "two dead")
	sh.EndTick()
	require.Zero(t, sh.Unfinished())
	sh.Loop++
	s.mustCreate(sh, 1)
	require.Equal(t, 1, sh.Unfinished(), "the table again")
	s.mustCreate(sh, 20)
	require.Equal(t, 2, sh.Unfinished(), "which has a larger chunk now")
	require.Zero(t, store.New(store.NewSpace(2, 1, 1, 1), 0).Unfinished())
}
