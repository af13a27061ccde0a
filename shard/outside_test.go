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
	_, ok := s.outside.Give()
	require.False(t, ok, "nothing was used yet")
	h, _, err := s.outside.Draw(1)
	require.NoError(t, err)

	s.outside.Return(h)
	version, state := s.state(h)
	require.Equal(t, []any{uint32(1), shard.StateUnused}, []any{version, state})
	again, ok := s.outside.Give()
	require.True(t, ok)
	require.Equal(t, h, again, "nobody was told: with its version")
	_, state = s.state(h)
	require.Equal(t, shard.StatePending, state)

	s.outside.Recycle([]handle.Handle{h, handle.New(0, 5, 1)}) // the second is not at home here
	again, ok = s.outside.Give()
	require.True(t, ok)
	require.Equal(t, h+1, again)
	s.outside.Recycle([]handle.Handle{again})
	require.Equal(t, 1, s.outside.Retired())
	_, ok = s.outside.Give()
	require.False(t, ok, "retired")
}
