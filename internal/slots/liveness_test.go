package slots_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
)

// TestLivenessFinds asks a liveness handle about the atoms of several shards and pages.
func TestLivenessFinds(t *testing.T) {
	s := newHomes(t, 3, handle.IndexMax, handle.VersionMax)
	a := s.dir.Liveness()
	for _, sh := range s.shards {
		all := s.mustCreate(sh, 3000)
		for _, h := range all {
			require.True(t, a.Alive(h))
			require.False(t, a.Alive(h+1))
		}
		s.destroy(sh, all[7], all[2500])
		s.refresh()
		require.False(t, a.Alive(all[7]))
		require.False(t, a.Alive(all[2500]))
		require.True(t, a.Alive(all[2501]))
	}
	require.False(t, a.Alive(handle.None))
}

// TestLivenessCut cuts the liveness handle of a space that then grows: it finds nobody any more.
func TestLivenessCut(t *testing.T) {
	s := newHomes(t, 1, handle.IndexMax, handle.VersionMax)
	a, h := s.dir.Liveness(), s.mustCreate(s.shards[0], 1)[0]
	require.True(t, a.Alive(h))
	require.False(t, a.Gone())
	a.Cut()
	require.False(t, a.Alive(h))
	require.True(t, a.Gone())
	s.mustCreate(s.shards[0], 5000) // which publishes directories
	require.False(t, a.Alive(h))
	require.True(t, s.dir.Alive(h))
}
