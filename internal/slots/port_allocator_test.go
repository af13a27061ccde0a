package slots_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
)

// TestPortAllocatorTake lets many ports take at once until there is nothing left: every index
// is given, none twice, each pending.
func TestPortAllocatorTake(t *testing.T) {
	for range iterations(20) {
		for _, indexMax := range []uint32{1023, 1024, 5000, 16_383} {
			const ports = 8
			s := newHomes(t, 3, indexMax, handle.VersionMax)
			taken := make([][]handle.Handle, ports)
			start := make(chan struct{})
			var wg sync.WaitGroup
			for g := range taken {
				s.outside.Join()
				wg.Go(func() {
					<-start
					for err := error(nil); err == nil; {
						taken[g], err = s.outside.Take(taken[g], 1, 16)
					}
				})
			}
			close(start)
			wg.Wait()
			given := map[handle.Handle]bool{}
			for _, hs := range taken {
				for _, h := range hs {
					if version, state := s.state(h); state != slots.StateUnused || version != 1 {
						t.Errorf("took %v, which is %v in version %d", h, state, version)
					}
					if given[h] || h.Home() != 3 {
						t.Fatalf("%v was given twice, or is not outside", h)
					}
					given[h] = true
				}
			}
			require.Equal(t, int(indexMax)+1, len(given))
		}
	}
}

// TestPortAllocatorTakesAll takes more than there is: nothing is taken then, and the error names
// the limits; all there is can be taken.
func TestPortAllocatorTakesAll(t *testing.T) {
	s := newHomes(t, 1, 20, 2)
	_, err := s.outside.Take(nil, 22, 0)
	require.ErrorIs(t, err, slots.ErrIndexes)
	all, err := s.outside.Take(nil, 21, 0)
	require.NoError(t, err)
	require.Len(t, all, 21)
	for range 1000 {
		none, err := s.outside.Take(nil, 1, 100)
		require.ErrorIs(t, err, slots.ErrIndexes)
		require.ErrorContains(t, err, "the home of ports, which all ports share, has given all of IndexMax = 20")
		require.Empty(t, none)
	}
	require.Empty(t, s.outside.Put(all[:6:6], 0))
	got, err := s.outside.Take(nil, 6, 0)
	require.NoError(t, err)
	require.Equal(t, all[:6], got)

	s.outside.Recycle(all) // each has one version left
	require.Zero(t, s.outside.Retired())
	again, err := s.outside.Take(nil, 21, 0)
	require.NoError(t, err)
	for _, h := range again {
		require.Equal(t, uint32(2), h.Version())
	}
	s.outside.Recycle(again)
	require.Equal(t, 21, s.outside.Retired())
	_, err = s.outside.Take(nil, 1, 0)
	require.ErrorContains(t, err, "21 are retired after VersionMax = 2 uses")
}

// TestPortAllocatorShares takes for ports that may take more than they need: they leave half
// of what there is to others, and at least one when little is left.
func TestPortAllocatorShares(t *testing.T) {
	s := newHomes(t, 1, 999, handle.VersionMax)
	var hands [][]handle.Handle
	for range 10 {
		s.outside.Join()
	}
	for range 10 {
		cache, err := s.outside.Take(nil, 1, 100)
		require.NoError(t, err)
		hands = append(hands, cache)
	}
	require.Len(t, hands[0], 50)
	require.Len(t, hands[1], 47)
	rest, err := s.outside.Take(nil, 500, 100)
	require.NoError(t, err, "half is left")
	last := 0
	for err == nil {
		rest, err = s.outside.Take(rest, 1, 100)
		last++
	}
	require.Greater(t, last, 10, "few at a time")
	for _, cache := range hands {
		s.outside.Leave(cache)
	}
	s.outside.Put(rest, 0)
	one, err := s.outside.Take(nil, 1, 100)
	require.NoError(t, err)
	require.Len(t, one, 100, "of 1,000, by the only port")
}

// TestPortAllocatorRecall frees what was recalled before Cut, once, up to the last version.
func TestPortAllocatorRecall(t *testing.T) {
	s := newHomes(t, 1, 100, 2)
	told, err := s.outside.Take(nil, 3, 0)
	require.NoError(t, err)
	s.outside.Recall()
	s.outside.Recall(told[0])
	version, state := s.state(told[0])
	require.Equal(t, []any{uint32(1), slots.StateUnused}, []any{version, state}, "until the refresh")
	s.outside.Cut()
	s.outside.Recall(told[1:]...)
	for range 2 {
		s.outside.Restock()
		version, state = s.state(told[0])
		require.Equal(t, []any{uint32(2), slots.StateUnused}, []any{version, state})
		for _, h := range told[1:] {
			version, _ = s.state(h)
			require.Equal(t, uint32(1), version, "recalled after Cut")
		}
	}
	next, err := s.outside.Take(nil, 1, 0)
	require.NoError(t, err)
	require.Equal(t, told[0]+1, next[0])
	s.outside.Recall(next...)
	s.outside.Cut()
	s.outside.Restock()
	_, state = s.state(told[0])
	require.Equal(t, slots.StateRetired, state)
	require.Equal(t, 1, s.outside.Retired())
	version, _ = s.state(told[1])
	require.Equal(t, uint32(2), version)
}

// TestPortAllocatorAgainstModel does everything at random: no handle is in two hands, none is
// given again that was told, and in the end all indexes are there that were not retired.
func TestPortAllocatorAgainstModel(t *testing.T) {
	const indexMax, versionMax = 99, 20
	r := rand.New(rand.NewPCG(1, 2))
	for range iterations(50) {
		s := newHomes(t, 1, indexMax, versionMax)
		hands := make([][]handle.Handle, 4)
		for range hands {
			s.outside.Join()
		}
		told, alive := map[handle.Handle]bool{}, []handle.Handle(nil)
		for range 500 {
			i := r.IntN(len(hands))
			cache := hands[i]
			n := min(r.IntN(10), len(cache))
			some := cache[len(cache)-n:]
			switch r.IntN(5) {
			case 0:
				hands[i], _ = s.outside.Take(cache, r.IntN(20), r.IntN(20))
			case 1:
				hands[i] = cache[:len(cache)-n]
				s.outside.Put(some, 0)
			case 2, 3:
				hands[i] = cache[:len(cache)-n]
				for _, h := range some {
					require.False(t, told[h], "%v", h)
					told[h] = true
				}
				if r.IntN(2) == 0 {
					s.outside.Recall(some...)
					break
				}
				for _, h := range some {
					s.shards[0].store(h)
					alive = append(alive, h)
				}
			default:
				s.outside.Cut()
				s.destroy(s.shards[0], alive...)
				alive = nil
				s.refresh()
				s.outside.Restock()
			}
		}
		for _, cache := range hands {
			s.outside.Leave(cache)
		}
		s.destroy(s.shards[0], alive...)
		s.refresh()
		s.outside.Cut()
		s.outside.Restock()
		all, err := s.outside.Take(nil, indexMax+1-s.outside.Retired(), 0)
		require.NoError(t, err)
		for _, h := range all {
			version, _ := s.state(h)
			require.Equal(t, version, h.Version())
			require.False(t, told[h])
			told[h] = true
		}
	}
}
