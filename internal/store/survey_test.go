package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestSurveyRows looks at which rows of a chunk are marked and flagged: none of them, one,
// and another.
func TestSurveyRows(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	all := s.mustCreate(sh, 5)
	chunk := sh.Table(set(number)).Chunks()[0]
	see := func() [3][]uint64 { return [3][]uint64{chunk.Marks(), chunk.Flagged(0), chunk.Flagged(1)} }
	require.Equal(t, [3][]uint64{}, see())
	l := s.space.Locate(all[3])
	s.space.Mark(l)
	sh.SetFlags(l, 2, 0)
	require.Equal(t, [3][]uint64{{8}, nil, {8}}, see())
	l = s.space.Locate(all[0])
	s.space.Mark(l)
	sh.SetFlags(l, 3, 0)
	require.Equal(t, [3][]uint64{{9}, {1}, {9}}, see())
	s.refresh()
	require.Nil(t, chunk.Marks())
}

// TestSurveyNotes writes down what hooks have not been told of yet.
func TestSurveyNotes(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	old := s.mustCreate(sh, 3)
	s.space.SetWatch(store.Watch{Created: true, Changes: []store.Set{set(text)}, Stored: set(number)}, s.shards)
	notes := func(created []handle.Handle, changes []store.ChangeImage) {
		t.Helper()
		x := sh.Image()
		require.Equal(t, created, x.Created)
		require.Equal(t, changes, x.Changes)
	}
	notes(nil, nil)
	require.Empty(t, sh.Image().Stored)
	s.noteStored(old[2], number)
	notes(nil, nil)
	born := s.mustCreate(sh, 1)
	a, err := sh.Change(s.space.Locate(old[1]), set(number, text))
	require.NoError(t, err)
	*s.texts.At(a.Loc()) = nil
	notes(born, []store.ChangeImage{{Handle: old[1], Components: []int{number}}})
	require.Equal(t, []store.StoredImage{{Handle: old[2], Component: number}}, sh.Image().Stored)
}

// TestDigest tells values from others, of components alone.
func TestDigest(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	all := s.mustCreate(sh, 80) // two full chunks
	before := sh.Digest(number)
	require.Equal(t, before, sh.Digest(number))
	*s.numbers.At(s.space.Locate(all[79]))++
	require.NotEqual(t, before, sh.Digest(number))
	*s.numbers.At(s.space.Locate(all[79]))--
	require.Equal(t, before, sh.Digest(number))
}
