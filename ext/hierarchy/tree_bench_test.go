package hierarchy_test

import (
	"math/rand/v2"
	"testing"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
)

// BenchmarkTree times what a tree of 10,000 families of 12 does, in shuffled order: ns/op is that of
// one child.
func BenchmarkTree(b *testing.B) {
	const parents, each = 10_000, 12
	r := rand.New(rand.NewPCG(1, 1))
	order, families := r.Perm(parents*each), r.Perm(parents)
	child := func(i int) handle.Handle { return h(parents + i) }
	parent := func(i, by int) handle.Handle { return h((i/each + by) % parents) }
	fill := func() *hierarchy.Tree {
		x := hierarchy.NewTree(hierarchy.Memory{})
		for _, i := range order {
			if err := x.AddChild(parent(i, 0), child(i)); err != nil {
				b.Fatal(err)
			}
		}
		return x
	}
	run := func(name string, round func(x *hierarchy.Tree, n int)) {
		b.Run(name, func(b *testing.B) {
			x := fill()
			b.ResetTimer()
			for n := 0; n < b.N; n += parents * each {
				round(x, n/(parents*each))
			}
		})
	}
	run("add", func(*hierarchy.Tree, int) { fill() })
	sum := handle.None
	list := func(x *hierarchy.Tree, p int) {
		for _, c := range x.Read().Children(h(p)) {
			sum ^= c
		}
	}
	run("list", func(x *hierarchy.Tree, _ int) {
		for p := range parents {
			list(x, p)
		}
	})
	run("list at random", func(x *hierarchy.Tree, _ int) {
		for _, p := range families {
			list(x, p)
		}
	})
	for _, gap := range []hierarchy.Gap{hierarchy.Close, hierarchy.Swap} {
		run("move, "+gap.String(), func(x *hierarchy.Tree, n int) {
			for _, i := range order {
				_ = x.Move(child(i), parent(i, n+1), gap)
			}
		})
		run("remove and add, "+gap.String(), func(x *hierarchy.Tree, _ int) {
			for _, i := range order {
				_ = x.RemoveChild(child(i), gap)
			}
			for _, i := range order {
				_ = x.AddChild(parent(i, 0), child(i))
			}
		})
	}
}
