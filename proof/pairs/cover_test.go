package pairs_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// cover returns sets of numbers below n such that any three are together in one of them,
// each of the given size. It is greedy: a set begins with three that have not been
// together, and takes in whoever brings most such threes, until it is full.
func cover(n, size int, dice *rand.Rand) (sets [][]int) {
	var threes [][3]int
	for i := range n {
		for j := range i {
			for k := range j {
				threes = append(threes, [3]int{k, j, i})
			}
		}
	}
	dice.Shuffle(len(threes), func(i, j int) { threes[i], threes[j] = threes[j], threes[i] })
	met := make(map[[3]int]bool, len(threes))
	for _, first := range threes {
		if met[first] {
			continue
		}
		set := first[:]
		for len(set) < min(size, n) {
			best, most := -1, -1
			for _, i := range dice.Perm(n) {
				if news := len(unmet(set, i, met)); news > most && !slices.Contains(set, i) {
					best, most = i, news
				}
			}
			for _, three := range unmet(set, best, met) {
				met[three] = true
			}
			set = append(set, best)
		}
		met[first] = true
		slices.Sort(set)
		sets = append(sets, set)
	}
	return sets
}

// unmet returns the threes of i and two of a set that have not been together.
func unmet(set []int, i int, met map[[3]int]bool) (all [][3]int) {
	for a, x := range set {
		for _, y := range set[:a] {
			three := []int{x, y, i}
			slices.Sort(three)
			if key := [3]int(three); !met[key] {
				all = append(all, key)
			}
		}
	}
	return all
}

// TestCover checks that any three are together somewhere.
func TestCover(t *testing.T) {
	met := map[[3]int]bool{}
	sets := cover(12, 5, rand.New(rand.NewPCG(1, 1)))
	for _, set := range sets {
		require.Len(t, slices.Compact(slices.Clone(set)), 5)
		for c := range set {
			for b := range c {
				for a := range b {
					met[[3]int{set[a], set[b], set[c]}] = true
				}
			}
		}
	}
	require.Len(t, met, 12*11*10/6)
	require.Less(t, len(sets), 60)
}
