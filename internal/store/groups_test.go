package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/store"
)

// TestGroups puts numbers into groups, again and again, and finds them in order.
func TestGroups(t *testing.T) {
	var g store.Groups[int]
	for _, shards := range []int{4, 4, 1, 7} {
		for _, items := range []int{0, 1, 50, 3} {
			g.Reset(shards)
			want := make([][]int, shards)
			to := func(i int) int { return i * i % shards }
			for i := range items {
				g.Count(to(i))
			}
			g.Counted()
			for i := range items {
				g.Add(to(i), i)
				want[to(i)] = append(want[to(i)], i)
			}
			for i := range want {
				require.ElementsMatch(t, want[i], g.Of(i))
				require.IsIncreasing(t, append([]int{-1}, g.Of(i)...))
			}
		}
	}
}
