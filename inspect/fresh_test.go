package inspect_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/inspect"
)

// TestStatsShared has a hundred readers ask at once while there is no sample: they share one, so that one look at the
// world answers all of them.
func TestStatsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newWorld(t, 1, 1).inspect(inspect.Options{})
		const n = 100
		answers := make(chan int, n)
		for range n {
			go func() { answers <- f.do(request("GET", "/api/stats", "")).StatusCode }()
		}
		synctest.Wait()
		require.Empty(t, answers)
		require.NoError(t, f.s.Step(t.Context()))
		synctest.Wait()
		require.Len(t, answers, n)
		for range n {
			require.Equal(t, 200, <-answers)
		}
	})
}
