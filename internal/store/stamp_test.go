package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
)

// TestCompactStamps kills rows of one chunk, alone and in runs: a chunk into which rows have moved
// has changed in this tick, and no other has. Who looks only at what changed must find them.
func TestCompactStamps(t *testing.T) {
	for name, dies := range map[string]func(i int) bool{
		"one":          func(i int) bool { return i == 5 },
		"a run":        func(i int) bool { return i >= 3 && i < 9 },
		"all of it":    func(i int) bool { return i < 16 },
		"runs":         func(i int) bool { return i >= 3 && i < 6 || i >= 9 && i < 12 },
		"and the last": func(i int) bool { return i >= 3 && i < 9 || i >= 70 },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
			all := s.mustCreate(s.shards[0], 80) // in chunks of 16 and 64
			s.refresh()
			s.space.SetTick(7)
			for i, h := range all {
				if dies(i) {
					s.destroy(h)
				}
			}
			s.refresh()
			for i, c := range s.shards[0].Table(set(number)).Chunks() {
				changed, _ := c.Stamps()
				want := uint32(0)
				if i == 0 && len(c.Handles()) > 0 {
					want = 7
				}
				require.Equal(t, want, changed, "chunk %d", i)
			}
		})
	}
}
