package shard_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
)

// TestOutsideDraw lets many goroutines draw at once until there is nothing left:
// every index is given, none twice, each pending.
func TestOutsideDraw(t *testing.T) {
	for range iterations(20) {
		for _, indexMax := range []uint32{1023, 1024, 5000, 16_383} {
			const goroutines, atOnce = 8, 16
			s := newStorage(t, 3, indexMax, handle.VersionMax)
			drawn := make([][]handle.Handle, goroutines)
			start := make(chan struct{})
			var wg sync.WaitGroup
			for g := range drawn {
				wg.Go(func() {
					<-start
					for {
						first, n, err := s.outside.Draw(atOnce)
						if err != nil {
							return
						}
						for k := range n {
							h := first + handle.Handle(k)<<handle.VersionBits
							if version, state, ok := s.space.Look(h); !ok || state != shard.StatePending || version != 1 {
								t.Errorf("drew %v, which is %v in version %d", h, state, version)
							}
							drawn[g] = append(drawn[g], h)
						}
					}
				})
			}
			close(start)
			wg.Wait()
			given := map[handle.Handle]bool{}
			for _, hs := range drawn {
				for _, h := range hs {
					if given[h] || h.Shard() != 3 {
						t.Fatalf("%v was given twice, or is not outside", h)
					}
					given[h] = true
				}
			}
			require.Equal(t, int(indexMax)+1, len(given))
		}
	}
}

// TestOutsideExhausted draws beyond the limit: the last run is short, then there
// is an error, however often it is asked.
func TestOutsideExhausted(t *testing.T) {
	s := newStorage(t, 1, 20, handle.VersionMax)
	first, n, err := s.outside.Draw(16)
	require.NoError(t, err)
	require.Equal(t, 16, n)
	rest, n, err := s.outside.Draw(16)
	require.NoError(t, err)
	require.Equal(t, 5, n)
	require.Equal(t, first+16<<handle.VersionBits, rest)
	for range 1000 {
		_, n, err = s.outside.Draw(16)
		require.ErrorIs(t, err, shard.ErrIndexes)
		require.ErrorContains(t, err, "home 1 has given all of IndexMax = 20")
		require.Zero(t, n)
	}
}

// TestOutsideGive gives used slots, and takes back what nobody was told of.
func TestOutsideGive(t *testing.T) {
	s := newStorage(t, 1, 100, 2)
	require.Empty(t, s.outside.Give(nil, 1), "nothing was used yet")
	h, _, err := s.outside.Draw(1)
	require.NoError(t, err)

	s.outside.Return(h)
	version, state := s.state(h)
	require.Equal(t, []any{uint32(1), shard.StateUnused}, []any{version, state})
	require.Equal(t, []handle.Handle{h}, s.outside.Give(nil, 5), "nobody was told: with its version")
	_, state = s.state(h)
	require.Equal(t, shard.StatePending, state)

	s.outside.Recycle([]handle.Handle{h})
	require.Equal(t, []handle.Handle{h + 1}, s.outside.Give(nil, 5))
	s.outside.Recycle([]handle.Handle{h + 1})
	require.Equal(t, 1, s.outside.Retired())
	require.Empty(t, s.outside.Give(nil, 1), "retired")
}

// TestOutsideStock makes the slots of the dead pending at once, as many as ports
// are about to be given.
func TestOutsideStock(t *testing.T) {
	s := newStorage(t, 1, 100, 2)
	all, err := s.outside.Take(nil, 16)
	require.NoError(t, err)
	require.Len(t, all, 16)
	used := s.outside.Size().Used

	s.outside.Want(5)
	s.outside.Recycle(all)
	pending := 0
	for _, h := range all {
		version, state := s.state(h)
		require.Equal(t, uint32(2), version)
		if state == shard.StatePending {
			pending++
		}
	}
	require.Equal(t, 5, pending)
	require.Zero(t, s.outside.Size().Used, "what nobody was given is not used")
	given := s.outside.Give(nil, 16)
	require.Len(t, given, 16)
	require.Equal(t, used, s.outside.Size().Used)
	for _, h := range given {
		version, state := s.state(h)
		require.Equal(t, []any{h.Version(), shard.StatePending}, []any{version, state})
	}
	s.outside.Recycle(given) // their last version: none goes to the stock
	require.Equal(t, 16, s.outside.Retired())
}

// TestOutsideBack gives back what was drawn: with its version what nobody was
// told of, and with the next one, from the refresh on, what somebody was.
func TestOutsideBack(t *testing.T) {
	s := newStorage(t, 1, 15, handle.VersionMax)
	all, err := s.outside.Take(nil, 16)
	require.NoError(t, err)
	_, err = s.outside.Take(nil, 1)
	require.ErrorIs(t, err, shard.ErrIndexes)

	s.outside.Untake(all[:6])
	s.outside.Recall(all[6:]...)
	_, state := s.state(all[6])
	require.Equal(t, shard.StatePending, state)
	got, err := s.outside.Take(nil, 16)
	require.NoError(t, err)
	require.ElementsMatch(t, all[:6], got)

	s.outside.Cut()
	s.outside.Restock()
	version, state := s.state(all[6])
	require.Equal(t, []any{uint32(2), shard.StateUnused}, []any{version, state})
	got, err = s.outside.Take(nil, 16)
	require.NoError(t, err)
	require.Len(t, got, 10)
	for _, h := range got {
		require.Equal(t, uint32(2), h.Version())
	}
}

// TestOutsideGivesWhatIsAsked gives as many as are asked for, and no more.
func TestOutsideGivesWhatIsAsked(t *testing.T) {
	s := newStorage(t, 1, 100, handle.VersionMax)
	all, err := s.outside.Take(nil, 16)
	require.NoError(t, err)
	s.outside.Want(3)
	s.outside.Recycle(all)
	require.Len(t, s.outside.Give(nil, 2), 2, "of the stock")
	require.Len(t, s.outside.Give(nil, 4), 4, "of the stock and the free")
	require.Len(t, s.outside.Give([]handle.Handle{handle.None}, 0), 1)
	require.Len(t, s.outside.Give(nil, 100), 10, "the rest")
	first, got, err := s.outside.Draw(16)
	require.NoError(t, err)
	require.Equal(t, 16, got)
	require.Equal(t, uint32(1), first.Version())
}

// TestVoid makes handles stale that nobody will create, the last of their slots too.
func TestVoid(t *testing.T) {
	s := newStorage(t, 1, 100, 2)
	all, err := s.outside.Take(nil, 2)
	require.NoError(t, err)
	s.outside.Void(all[0])
	version, state := s.state(all[0])
	require.Equal(t, []any{uint32(2), shard.StateUnused}, []any{version, state})
	s.outside.Void(all[0] + 1)
	version, state = s.state(all[0])
	require.Equal(t, []any{uint32(2), shard.StateRetired}, []any{version, state})
}

// TestOutsideRecall frees what was recalled before Cut, once, if it was the only handle that
// was ever drawn, too.
func TestOutsideRecall(t *testing.T) {
	s := newStorage(t, 1, 100, handle.VersionMax)
	one, err := s.outside.Take(nil, 1)
	require.NoError(t, err)
	s.outside.Recall(one...)
	s.outside.Cut()
	more, err := s.outside.Take(nil, 2)
	require.NoError(t, err)
	s.outside.Recall(more...)
	for range 2 {
		s.outside.Restock()
		version, state := s.state(one[0])
		require.Equal(t, []any{uint32(2), shard.StateUnused}, []any{version, state})
		for _, h := range more {
			_, state = s.state(h)
			require.Equal(t, shard.StatePending, state, "recalled after Cut")
		}
	}
	s.outside.Cut()
	s.outside.Restock()
	for _, h := range more {
		_, state := s.state(h)
		require.Equal(t, shard.StateUnused, state)
	}
}
