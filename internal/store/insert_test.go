package store_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestChunksFor compares how many chunks are foretold with how many are taken.
func TestChunksFor(t *testing.T) {
	seed := seed.Of(t)
	dice := rand.New(rand.NewPCG(seed, 1))
	for range 30 {
		s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
		first := 1 << dice.IntN(5)
		s.space.Growth = store.Growth{RowsFirst: first, RowsFactor: 1 << dice.IntN(3), RowsMax: first << dice.IntN(7)}
		sh := s.shards[0]
		var alive []handle.Handle
		for range 20 {
			components := []store.Set{set(), set(number), set(number, text)}[dice.IntN(3)]
			n := dice.IntN(200)
			foretold, left := sh.ChunksFor(components, n), s.space.ChunksLeft()
			if n > 0 { // without, no table is made
				require.NoError(t, sh.Prepare(sh.Table(components), n))
			}
			require.Equal(t, foretold, left-s.space.ChunksLeft(), "chunks for %d", n)
			require.Zero(t, sh.ChunksFor(components, n))
			for range n {
				h, err := s.create(sh, components, 1)
				require.NoError(t, err)
				alive = append(alive, h)
			}
			require.Equal(t, foretold, left-s.space.ChunksLeft(), "chunks of %d", n)
			if dice.IntN(3) == 0 {
				k := dice.IntN(len(alive) + 1)
				s.destroy(alive[:k]...)
				alive = alive[k:]
				s.refresh()
			}
		}
	}
}

// TestChunksLeft counts down to the last chunk, and counts those that are given back.
func TestChunksLeft(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	require.Equal(t, slots.ChunksMax, s.space.ChunksLeft())
	all := s.mustCreate(s.shards[0], 16)
	require.Equal(t, slots.ChunksMax-1, s.space.ChunksLeft())
	s.destroy(all...)
	s.refresh()
	s.shards[0].ShrinkAll()
	require.Equal(t, slots.ChunksMax, s.space.ChunksLeft())
	s.space.SetChunks(slots.ChunksMax)
	s.mustCreate(s.shards[0], 16)
	require.Zero(t, s.space.ChunksLeft())
}
