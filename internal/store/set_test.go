package store_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/store"
)

// TestSetAgainstModel does everything that a set can beside a map.
func TestSetAgainstModel(t *testing.T) {
	r := newRand(t, 1)
	type pair struct {
		set   store.Set
		model map[int]bool
	}
	random := func() pair {
		p := pair{model: map[int]bool{}}
		for range r.IntN(12) {
			c := r.IntN(store.ComponentsMax)
			if r.IntN(3) == 0 {
				c = []int{0, 63, 64, 127, 128, 255}[r.IntN(6)]
			}
			p.set.Add(c)
			p.model[c] = true
		}
		for c := range p.model {
			if r.IntN(5) == 0 {
				p.set.Remove(c)
				p.set.Remove((c + 1) % store.ComponentsMax)
				delete(p.model, c)
				delete(p.model, (c+1)%store.ComponentsMax)
				break
			}
		}
		return p
	}
	members := func(s store.Set) (all []int) {
		for c := range s.All {
			all = append(all, c)
		}
		return all
	}
	sorted := func(m map[int]bool) []int { return slices.Sorted(maps.Keys(m)) }
	for range iterations(5000) {
		a, b := random(), random()
		require.Equal(t, sorted(a.model), members(a.set), "in ascending order")
		require.Equal(t, len(a.model), a.set.Len())
		for c := range store.ComponentsMax {
			if a.set.Has(c) != a.model[c] {
				t.Fatalf("component %d", c)
			}
		}
		union, common, minus := maps.Clone(a.model), map[int]bool{}, map[int]bool{}
		for c := range b.model {
			union[c] = true
		}
		for c := range a.model {
			if b.model[c] {
				common[c] = true
			} else {
				minus[c] = true
			}
		}
		require.Equal(t, sorted(union), members(a.set.Union(b.set)))
		require.Equal(t, sorted(common), members(a.set.Common(b.set)))
		require.Equal(t, sorted(minus), members(a.set.Minus(b.set)))
		require.Equal(t, len(common) == len(b.model), a.set.Contains(&b.set))
		require.Equal(t, len(common) > 0, a.set.Meets(&b.set))
		part := a.set.Common(b.set)
		require.True(t, a.set.Contains(&part))
	}
	for range (store.Set{1 << 5, 1 << 5}).All { // a loop can be left
		break
	}
}
