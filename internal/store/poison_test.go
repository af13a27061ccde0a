package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/store"
)

// mustCheck skips a test of what is checked in the check build only.
func mustCheck(t *testing.T) {
	if !check.Enabled {
		t.Skip("checked in the check build only")
	}
}

// poisoned is a number whose row is used no longer.
const poisoned = int64(-0x2424242424242425) // bytes of store.Poison

// TestOutdated uses a view of rows in every way, after the view epoch that it was made in.
func TestOutdated(t *testing.T) {
	mustCheck(t)
	s := newStorage(t, 2, handle.IndexMax, handle.VersionMax)
	numbers := s.numbers.View(0)
	table := s.shards[0].Table(set(number))
	all := s.mustCreate(s.shards[0], 4)
	for range 3 {
		r, err := s.shards[0].CreateRows(table, 3, true)
		require.NoError(t, err)
		uses := map[string]func(){
			"Len": func() { r.Len() }, "Handle": func() { r.Handle(0) }, "Handles": func() { r.Handles() }, "Loc": func() { r.Loc(0) },
			"Cap": func() { r.Cap() }, "Contains": func() { r.Contains(all[0]) },
			"Slice": func() { numbers.Slice(r) }, "SliceWrite": func() { numbers.SliceWrite(r) },
		}
		for name, use := range uses {
			require.NotPanics(t, use, name)
		}
		require.Len(t, numbers.Slice(r), 3)
		require.Len(t, numbers.SliceWrite(r), 3)
		s.space.Outdate()
		for name, use := range uses {
			require.PanicsWithValue(t, "world: a Chunk of 3 rows on shard 0 is used after the refresh, or the change of an idle world, that ended it; ask the query for its Chunks again", use, name)
		}
	}
}

// TestOutdatedShift moves rows that were handed out, in every way, to other memory, and no
// others; what was kept of the old reads as poisoned.
func TestOutdatedShift(t *testing.T) {
	mustCheck(t)
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	var turn check.Turn
	numbers := s.numbers.View(0)
	texts := s.texts.View(0)
	numbers.Guard(check.NewGuard(turn.User("x", "x", ""), "a thing"))
	texts.Guard(check.NewGuard(turn.User("x", "x", ""), "a thing"))
	h, err := s.create(sh, set(number, text), 3)
	require.NoError(t, err)
	l, table := s.space.Locate(h), sh.Table(set(number, text))
	word := *s.texts.At(l)
	for name, use := range map[string]func() *int64{
		"At": func() *int64 { return numbers.At(l) }, "AtWrite": func() *int64 { return numbers.AtWrite(l) },
		"Slice": func() *int64 { return &numbers.Slice(table.Run(0, 1))[0] }, "SliceWrite": func() *int64 { return &numbers.SliceWrite(table.Run(0, 1))[0] },
	} {
		t.Run(name, func(t *testing.T) {
			require.Panics(t, func() { use() }, "out of turn")
			turn.Begin("x")
			defer turn.End()
			kept := use()
			other := s.texts.At(l)
			s.space.Shift()
			require.Equal(t, poisoned, *kept)
			require.Equal(t, int64(3), *s.numbers.At(l))
			require.Same(t, s.numbers.At(l), (*int64)(store.Value(store.Atom{Chunk: table.Chunks()[0], Row: l.Row()}, number)))
			require.Same(t, other, s.texts.At(l), "nobody had it")
			now := s.numbers.At(l)
			s.space.Shift()
			require.Same(t, now, s.numbers.At(l), "nobody has it any more")
		})
	}
	turn.Begin("x")
	kept := texts.At(l)
	s.space.Shift()
	require.Nil(t, *kept)
	require.Same(t, word, *s.texts.At(l))

	l = s.space.Locate(s.mustCreate(sh, 40)[0])
	require.NotNil(t, numbers.At(l))
	require.NoError(t, sh.Table(set(number)).Retag(set(), func(store.Rows) {}))
	s.space.Shift() // of a chunk that has no numbers any more
	require.Nil(t, s.numbers.At(l))
	require.Nil(t, numbers.At(l))
}

// TestOutdatedRows keeps where rows were that are used no longer: they read as poisoned, and
// as zero when they are used again.
func TestOutdatedRows(t *testing.T) {
	mustCheck(t)
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	all := s.mustCreate(sh, 16)
	kept := s.numbers.At(s.space.Locate(all[15]))
	_, err := sh.Change(s.space.Locate(all[15]), set())
	require.NoError(t, err)
	require.Equal(t, poisoned, *kept, "its row is given up")

	kept = s.numbers.At(s.space.Locate(all[0]))
	require.NoError(t, sh.Table(set(number)).Retag(set(text), func(store.Rows) {}))
	require.Equal(t, poisoned, *kept, "its column is")
	require.NoError(t, sh.Table(set(text)).Retag(set(number), func(store.Rows) {}))
	require.Same(t, kept, s.numbers.At(s.space.Locate(all[0])))
	require.Zero(t, *kept)
}

// TestOutdatedChunk keeps where a row was whose chunk was merged into another.
func TestOutdatedChunk(t *testing.T) {
	mustCheck(t)
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	h := s.mustCreate(s.shards[0], 16)[3]
	s.refresh()
	kept := s.numbers.At(s.space.Locate(h))
	require.Equal(t, int64(3), *kept)
	s.mustCreate(s.shards[0], 1)
	s.refresh()
	require.Equal(t, poisoned, *kept)
	require.Equal(t, int64(3), *s.numbers.At(s.space.Locate(h)))
}
