package hierarchy_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/internal/extend"
)

// same compares a copy of a tree with it.
func (p *pair) same(r *hierarchy.Reader) {
	for _, h := range p.all {
		require.True(p.t, p.parent[h] == r.Parent(h) && p.has(h) == r.Has(h) && p.fixed[h] == r.Fixed(h) && slices.Equal(p.lists[h], r.Children(h)), "%v", h)
	}
}

// TestFrozen does random things to a tree of many pages, runs and spans, mostly one at a time, and
// copies it now and then into one of the copies that were made before: that is as the tree is.
func TestFrozen(t *testing.T) {
	for seed := range uint64(iterations(8)) {
		o := hierarchy.Memory{KeepCapacity: seed%4 == 1}
		if seed%3 == 0 {
			o.Buckets = []int{3, 40}
		}
		p := newPair(t, seed, o, 600)
		for range 500 {
			p.step()
		}
		var copies [3]extend.Copy
		for i := range 500 {
			for range 1 + i%5/4*p.rand.IntN(9) {
				p.step()
			}
			switch p.rand.IntN(60) {
			case 4, 5, 6, 7:
				h, n := p.any(), p.rand.IntN(4)
				require.Equal(t, p.setPlaces(h, n) == nil, p.tree.SetPlaces(h, n) == nil)
			case 0:
				p.tree.Divide(p.rand.IntN(6))
			case 1:
				p.tree.Reserve(hierarchy.Room{Entities: 10, Parents: 3, Buckets: []int{2}, Homes: 2})
			case 2:
				p.reload(o)
			case 3:
				p.compare()
			}
			n := i % 5 / 4 * p.rand.IntN(len(copies))
			c, r, _, _ := p.tree.Copy(copies[n])
			p.same(r)
			c, r, changed, bytes := p.tree.Copy(c)
			copies[n] = c
			require.False(t, changed)
			require.Zero(t, bytes, "nothing has changed since")
			if p.rand.IntN(100) == 0 {
				p.compareBy(r)
			}
		}
	}
}
