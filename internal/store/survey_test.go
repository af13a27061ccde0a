package store_test

import (
	"encoding/binary"
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

// TestSurveySlots looks at slots of several pages, the last of which nobody has come to.
func TestSurveySlots(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	require.NoError(t, sh.ReserveSlots(5000))
	all := s.mustCreate(sh, 64+1024)
	slots := sh.AppendSlots([]uint32{7})
	require.Len(t, slots, 1+len(all)+sh.Free())
	require.Equal(t, uint32(7), slots[0])
	for i, h := range all {
		require.Equal(t, uint32(h), slots[1+i], "%d", i)
	}
	for _, word := range slots[1+len(all):] {
		require.NotZero(t, word)
	}
}

// TestSurveyDrawn looks at an outside home: which handles are in the pool and which with
// ports shows in what is vacant alone.
func TestSurveyDrawn(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, 2)
	drawn, err := s.outside.Take(nil, 8, 0)
	require.NoError(t, err)
	s.outside.Recycle(drawn[:1])
	a, err := s.shards[0].Adopt(s.shards[0].Table(set()), drawn[1])
	require.NoError(t, err)
	a.Publish()
	uses := make([]uint32, 8)
	uses[drawn[0].Index()&7], uses[drawn[1].Index()&7] = 1, 1
	require.Equal(t, uses, append(s.outside.AppendUses(nil), uses...)[:8], "without the zeroes behind")
	require.Equal(t, append([]uint32{5}, uses...)[:len(s.outside.AppendUses(nil))+1], s.outside.AppendUses([]uint32{5}))

	s.outside.Put(drawn[2:3], 0)
	s.outside.Recall(drawn[3])
	s.outside.Cut()
	s.outside.Restock()
	s.outside.Recall(drawn[4])
	free, retired := s.outside.AppendVacant(nil, nil)
	want := []handle.Handle{drawn[0] + 1, drawn[2], drawn[3] + 1}
	for _, h := range drawn[4:] {
		want = append(want, h+1) // somebody may have been told of h
	}
	require.ElementsMatch(t, want, free)
	require.Empty(t, retired)
}

// TestSurveyNotes writes down what hooks have not been told of yet.
func TestSurveyNotes(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	old := s.mustCreate(sh, 3)
	s.space.SetWatch(store.Watch{Created: true, Changes: []store.Set{set(text)}, Stored: set(number)}, s.shards, s.columns)
	notes := func(want ...uint64) {
		t.Helper()
		bytes := []byte{1}
		for _, n := range want {
			bytes = binary.LittleEndian.AppendUint64(bytes, n)
		}
		require.Equal(t, bytes, sh.AppendChanges([]byte{1}))
	}
	notes()
	s.space.NoteStored(s.space.Locate(old[2]), number)
	notes(0, 0, uint64(old[2]), number)
	born := s.mustCreate(sh, 1)[0]
	a, err := sh.Change(s.space.Locate(old[1]), set(number, text))
	require.NoError(t, err)
	*s.texts.At(a.Loc()) = nil
	notes(1, uint64(born), 1, uint64(old[1]), 1<<number, 0, 0, 0, uint64(old[2]), number)
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

// TestLookStale asks for the slots of handles that are stale, and of none.
func TestLookStale(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	h := s.mustCreate(s.shards[0], 1)[0]
	require.Equal(t, s.space.Locate(h), s.space.LocateStaged(h))
	require.Zero(t, s.space.LocateStaged(h+1))
	require.Zero(t, s.space.LocateStaged(handle.New(1, 77, 1)))
}
