package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestGatherNotes changes, stores and creates atoms that move to and fro meanwhile: notes
// follow them, once, and what happened first counts, in whichever shard that was.
func TestGatherNotes(t *testing.T) {
	s := newStorage(t, 3, handle.IndexMax, handle.VersionMax)
	one, two := s.shards[0], s.shards[1]
	both := set(number, text)
	old := s.mustCreate(one, 4)
	s.space.SetWatch(store.Watch{Created: true, Changes: []store.Set{set(text)}, Stored: set(number)}, s.shards)
	change := func(sh *store.Shard, h handle.Handle, to store.Set) {
		a, err := sh.Change(s.space.Locate(h), to)
		require.NoError(t, err)
		if to.Has(text) {
			*s.texts.At(a.Loc()) = nil
		}
	}
	take := func(sh *store.Shard, h handle.Handle) { require.NoError(t, sh.Migrate(s.space.Locate(h))) }
	// told is what a shard's hooks would be told of: created, added, removed and stored.
	told := func(sh *store.Shard) (all [4][]handle.Handle) {
		texts, numbers := set(text), set(number)
		sh.BeginNotify()
		all[0] = sh.AppendCreated(nil, &numbers)
		all[1] = sh.AppendAdded(nil, &texts)
		all[2] = sh.AppendRemoved(nil, &texts)
		all[3] = sh.AppendStored(nil, &numbers)
		sh.EndNotify()
		return all
	}

	change(one, old[0], both) // added in one, removed in two: told of to nobody
	take(two, old[0])
	change(two, old[0], set(number))
	change(one, old[1], both) // added in one, removed in two, added in one again
	take(two, old[1])
	change(two, old[1], set(number))
	take(one, old[1])
	change(one, old[1], both)
	s.noteStored(old[2], number)
	take(two, old[2])
	s.noteStored(old[2], number)
	born := s.mustCreate(one, 2)
	take(two, born[0])
	s.space.GatherChanges(s.shards)
	s.space.GatherChanges(s.shards) // nothing has moved since
	require.Equal(t, [4][]handle.Handle{{born[1]}, {old[1]}, nil, nil}, told(one))
	require.Equal(t, [4][]handle.Handle{{born[0]}, nil, nil, {old[2]}}, told(two))
	require.Equal(t, [4][]handle.Handle{}, told(one))
	require.Equal(t, [4][]handle.Handle{}, told(two))

	take(one, old[2]) // whose notes were told of
	take(one, born[0])
	s.noteStored(old[3], number)
	take(two, old[3])
	s.space.GatherChanges(s.shards)
	require.Equal(t, [4][]handle.Handle{}, told(one))
	require.Equal(t, [4][]handle.Handle{nil, nil, nil, {old[3]}}, told(two))
	for _, sh := range s.shards {
		require.Zero(t, sh.Noted())
	}
}

// TestGatherNotesTwice gathers again before anybody is told: notes of the first time are
// not taken twice.
func TestGatherNotesTwice(t *testing.T) {
	s := newStorage(t, 2, handle.IndexMax, handle.VersionMax)
	one, two, numbers := s.shards[0], s.shards[1], set(number)
	s.space.SetWatch(store.Watch{Created: true}, s.shards)
	born := s.mustCreate(one, 2)
	for n, h := range born {
		require.NoError(t, two.Migrate(s.space.Locate(h)))
		s.space.GatherChanges(s.shards)
		require.Equal(t, []int{1 - n, 1 + n}, []int{one.Noted(), two.Noted()})
	}
	two.BeginNotify()
	require.Equal(t, born, two.AppendCreated(nil, &numbers))
	two.EndNotify()
}
