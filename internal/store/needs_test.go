package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestNeeds asks how many chunks room for more rows takes, and makes that room: all of it, or if
// there are too few numbers for chunks, none.
func TestNeeds(t *testing.T) {
	r := newRand(t, 1)
	times := 8
	if check.Enabled { // one goroutine makes the rows
		times = 2
	}
	for range times {
		s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
		sh := s.shards[0]
		s.mustCreate(sh, 1+r.IntN(500))
		table := sh.Table(set(number))
		n, before := r.IntN(30_000), len(table.Chunks())
		needs := table.Needs(n)
		if needs > 0 {
			s.space.SetChunks(slots.ChunksMax - needs + 1)
			require.ErrorIs(t, s.space.CheckChunks(needs), store.ErrChunks)
			require.ErrorIs(t, sh.Prepare(table, n), store.ErrChunks)
			require.Len(t, table.Chunks(), before)
			s.space.SetChunks(slots.ChunksMax - needs)
		}
		require.NoError(t, s.space.CheckChunks(needs))
		require.NoError(t, sh.Prepare(table, n))
		require.Len(t, table.Chunks(), before+needs)
	}
}

// TestRetagNeeds moves rows to another table when there are just as many numbers for chunks as that
// is said to take.
func TestRetagNeeds(t *testing.T) {
	r := newRand(t, 2)
	times := 20
	if check.Enabled {
		times = 3
	}
	for range times {
		s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
		sh, all := s.shards[0], &store.Filter{}
		s.mustCreate(sh, 1+r.IntN(600))
		for range r.IntN(2) * r.IntN(100) {
			_, err := s.create(sh, set(number, text), 1)
			require.NoError(t, err)
		}
		table, to := sh.Table(set(number)), set(number, text)
		n := table.Rows()
		if r.IntN(2) == 0 {
			n = r.IntN(n + 1)
		}
		s.space.SetChunks(slots.ChunksMax - table.RetagNeeds(to, n))
		if n == table.Rows() {
			require.NoError(t, table.Retag(to, func(store.Rows) {}))
			require.Zero(t, table.Rows())
		} else {
			require.NoError(t, table.RetagMatching(all, n, to, func(store.Rows) {}))
		}
	}
}

// TestReserveLasts reserves room in tables of some sizes and creates as much, in two ticks: no
// create needs another chunk, though the refreshes gather the rows of small chunks in what was
// reserved, and give these up.
func TestReserveLasts(t *testing.T) {
	turn, test := int(seed.Of(t)%2), 0
	for _, had := range []int{0, 10, 16, 17, 81, 1000, 1361, 3*slots.RowsMax + 7} {
		for _, n := range []int{1, 6, 54, 300, slots.RowsMax + 6, 3 * slots.RowsMax} {
			for _, first := range []int{1, n / 2} {
				for _, refreshed := range []bool{false, true} {
					if test++; check.Enabled && (test+test/2)%2 != turn {
						continue // with another seed
					}
					s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
					sh, table := s.shards[0], s.shards[0].Table(set(number))
					s.mustCreate(sh, had)
					if refreshed {
						s.refresh()
					}
					require.NoError(t, sh.Reserve(table, n))
					for _, part := range []int{min(first, n), n - min(first, n)} {
						chunks := len(table.Chunks())
						s.mustCreate(sh, part)
						require.Len(t, table.Chunks(), chunks, "%d of %d after %d", part, n, had)
						for tick := range uint32(2) {
							s.space.SetTick(uint64(tick+1) * 200)
							s.refresh()
						}
					}
					require.Equal(t, had+n, table.Rows())
				}
			}
		}
	}
}
