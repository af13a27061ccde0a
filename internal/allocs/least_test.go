package allocs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/allocs"
)

var sink *[64]byte

// TestLeast counts what allocates always, never, and only the first time.
func TestLeast(t *testing.T) {
	allocate := func() { sink = new([64]byte) }
	require.Equal(t, 1.0, allocs.Least(10, allocate))
	require.Zero(t, allocs.Least(10, func() {}))
	calls := 0
	require.Zero(t, allocs.Least(10, func() {
		if calls++; calls <= 11 {
			allocate()
		}
	}))
	require.Equal(t, 22, calls)
}
