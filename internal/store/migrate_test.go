package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// askMove sends requests to move to a shard, and returns who hears of them.
func (o *office) askMove(to int, hs ...handle.Handle) []*finished {
	told := make([]*finished, len(hs))
	for i, h := range hs {
		told[i] = new(finished)
		o.queue.PushBare(queue.MovingTo(to), h, 0, told[i])
	}
	o.queue.Publish()
	return told
}

// move is the part of a refresh that moves atoms.
func (o *office) move() {
	for _, s := range o.shards {
		s.CollectOutgoing()
	}
	var comers store.Incoming
	comers.Gather(o.shards)
	for _, s := range o.shards {
		s.CopyIncoming(&comers, o.shards)
	}
}

// TestMoveRefused moves atoms when the world has no more chunks: those for which
// the other shard has room go, the others stay as they were.
func TestMoveRefused(t *testing.T) {
	s := newOffice(t, 2)
	here, there := s.shards[0], s.shards[1]
	all := s.mustCreate(here, 5)
	s.mustCreate(there, 14) // 16 rows in the first chunk
	s.space.SetChunks(slots.ChunksMax)

	told := s.askMove(1, all...)
	s.destroy(all[0])
	s.apply(s.move)
	for i, want := range []queue.Outcome{queue.Gone, queue.Applied, queue.Applied, queue.Refused, queue.Refused} {
		require.Equal(t, finished{want}, *told[i], "request %d", i)
	}
	require.True(t, there.Full())
	require.Equal(t, []int{2, 16}, []int{here.Alive(), there.Alive()})
	require.Equal(t, []uint64{0, 2}, []uint64{here.Arrived(), there.Arrived()})
	require.Equal(t, []uint64{1, 0}, []uint64{here.Destroyed(), there.Destroyed()})
	require.ElementsMatch(t, all[3:], rows(here.Table(set(number))))
	require.Equal(t, all[1:3], rows(there.Table(set(number)))[14:])
	for i, h := range all[1:] {
		l := s.space.Locate(h)
		require.Equal(t, int64(i+1), *s.numbers.At(l))
		require.Equal(t, i < 2, there.Owns(l))
	}

	err := there.Migrate(s.space.Locate(all[4]))
	require.ErrorIs(t, err, store.ErrChunks)
	require.True(t, here.Owns(s.space.Locate(all[4])))
	s.apply(s.move) // nothing
	require.False(t, there.Full())
}

// TestMoveWholeChunk moves away all of a table, so that its last chunk is given
// up at once, some of it dead.
func TestMoveWholeChunk(t *testing.T) {
	s := newOffice(t, 2)
	here, there := s.shards[0], s.shards[1]
	all := s.mustCreate(here, 100)
	s.destroy(all[90:]...)
	s.askMove(1, all...)
	s.apply(s.move)
	require.Equal(t, all[:90], rows(there.Table(set(number))))
	require.Equal(t, []int{0, 90}, []int{here.Alive(), there.Alive()})
	require.Equal(t, []uint64{10, 0}, []uint64{here.Destroyed(), there.Destroyed()})
	require.Equal(t, []uint64{100, 0}, []uint64{here.Created(), there.Created()})
	for i, h := range all {
		require.Equal(t, i < 90, s.space.Alive(h))
	}
	s.destroy(all[:90]...)
	s.refresh()
	require.Equal(t, 100+28, here.Free(), "all slots are home")
}

// TestMoveFlagged moves an atom with flags, takes them where it is then, and moves others.
func TestMoveFlagged(t *testing.T) {
	s := newOffice(t, 2)
	here, there := s.shards[0], s.shards[1]
	all := s.mustCreate(here, 3)
	here.SetFlags(s.space.Locate(all[0]), 6, 0)
	require.NoError(t, there.Migrate(s.space.Locate(all[0])))
	l := s.space.Locate(all[0])
	require.Equal(t, slots.Flags(6), s.space.FlagsAt(l))
	there.SetFlags(l, 0, 6)
	require.NoError(t, there.Migrate(s.space.Locate(all[1])))
	require.Zero(t, s.space.FlagsAt(l))
	require.Zero(t, s.space.FlagsAt(s.space.Locate(all[1])))
}
