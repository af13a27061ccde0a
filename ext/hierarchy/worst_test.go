package hierarchy_test

import (
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// worst is a world in which a port fills its queue with requests of one kind, of the shape that
// costs most.
type worst struct {
	*fixture
	h    []handle.Handle // in random order
	p    *world.Port
	also *hierarchy.Relation
}

const (
	worstChain = 200_000
	worstList  = 100_000
)

// fill sends until the queue is full, and returns how many requests that is.
func (x *worst) fill(send func(i int) error) int {
	for i := 0; ; i++ {
		if send(i) != nil {
			return x.p.Waiting()
		}
	}
}

// relations returns the relation and others with the same options, so many in all.
func (x *worst) relations(n int) []*hierarchy.Relation {
	all := []*hierarchy.Relation{x.rel}
	for len(all) < n {
		all = append(all, hierarchy.New(x.World, strconv.Itoa(len(all)), x.rel.Options()))
	}
	return all
}

// chain makes each of some entities the child of the one before it.
func (x *worst) chain(r *hierarchy.Relation, hs []handle.Handle) {
	for i, h := range hs[1:] {
		require.NoError(x.t, r.AddChild(x.World, hs[i], h))
	}
}

// worstShapes are the kinds of requests to a relation.
var worstShapes = []struct {
	kind, shape string
	inherent    bool // one request takes the steps, or the entities that die do
	n           int
	options     hierarchy.Options
	make        func(x *worst) (send func(i int) error)
}{
	{"Move", "to its last descendant, in a chain", false, worstChain, hierarchy.Options{}, func(x *worst) func(int) error {
		x.chain(x.rel, x.h)
		return func(int) error { return x.rel.Move(x.p, x.h[0], x.h[len(x.h)-1]) }
	}},
	{"Move", "to its last descendant, in chains of eight relations", false, worstChain / 8, hierarchy.Options{}, func(x *worst) func(int) error {
		all := x.relations(8)
		for _, r := range all {
			x.chain(r, x.h)
		}
		return func(i int) error { return all[i%8].Move(x.p, x.h[0], x.h[len(x.h)-1]) }
	}},
	{"Move", "to the end of another chain, and back", false, worstChain, hierarchy.Options{}, func(x *worst) func(int) error {
		n := len(x.h)
		x.chain(x.rel, x.h[:n-2])
		x.chain(x.rel, x.h[n-2:])
		return func(i int) error { return x.rel.Move(x.p, x.h[n-2], x.h[n-3-i%2]) }
	}},
	{"AddChild", "a tree, at the end of a chain, and RemoveChild", false, worstChain, hierarchy.Options{}, func(x *worst) func(int) error {
		n := len(x.h)
		x.chain(x.rel, x.h[:n-2])
		x.chain(x.rel, x.h[n-2:])
		return func(i int) error {
			if i%2 == 1 {
				return x.rel.RemoveChild(x.p, x.h[n-2], hierarchy.Close)
			}
			return x.rel.AddChild(x.p, x.h[n-3], x.h[n-2])
		}
	}},
	{"Swap", "two trees at the end of a chain", false, worstChain, hierarchy.Options{}, func(x *worst) func(int) error {
		n := len(x.h)
		x.chain(x.rel, x.h[:n-4])
		x.add(x.h[n-5], x.h[n-4], x.h[n-2])
		x.add(x.h[n-4], x.h[n-3])
		x.add(x.h[n-2], x.h[n-1])
		return func(int) error { return x.rel.Swap(x.p, x.h[n-4], x.h[n-2]) }
	}},
	{"AddChildAt", "the first of a list", false, worstList + 1<<13, hierarchy.Options{}, func(x *worst) func(int) error {
		x.add(x.h[0], x.h[1:worstList]...)
		return func(i int) error { return x.rel.AddChildAt(x.p, x.h[0], x.h[worstList+i], 0) }
	}},
	{"AddChildAt", "the first of 1,000 children", false, 1<<14 + 1000, hierarchy.Options{}, func(x *worst) func(int) error {
		x.add(x.h[0], x.h[1:1000]...)
		return func(i int) error { return x.rel.AddChildAt(x.p, x.h[0], x.h[1000+i], 0) }
	}},
	{"MoveAt", "within a list", false, worstList, hierarchy.Options{}, func(x *worst) func(int) error {
		x.add(x.h[0], x.h[1:]...)
		return func(i int) error { return x.rel.MoveAt(x.p, x.h[i+1], x.h[0], 0) }
	}},
	{"MoveBefore", "at random within a list", false, worstList, hierarchy.Options{}, func(x *worst) func(int) error {
		x.add(x.h[0], x.h[1:]...)
		r := rand.New(rand.NewPCG(1, 1))
		return func(i int) error {
			return x.rel.MoveBefore(x.p, x.h[1+r.IntN(worstList-1)], x.h[1+r.IntN(worstList-1)])
		}
	}},
	{"MoveBefore", "between lists of 1,000", false, worstList, hierarchy.Options{}, func(x *worst) func(int) error {
		for i := 0; i < len(x.h); i += 1000 {
			x.add(x.h[i], x.h[i+1:i+1000]...)
		}
		r := rand.New(rand.NewPCG(1, 1))
		return func(i int) error {
			return x.rel.MoveBefore(x.p, x.h[r.IntN(100)*1000+1+r.IntN(999)], x.h[r.IntN(100)*1000+1])
		}
	}},
	{"PutFrom", "to the first place of the other of two lists, and back", false, worstList, hierarchy.Options{}, func(x *worst) func(int) error {
		x.add(x.h[0], x.h[2:worstList/2]...)
		x.add(x.h[1], x.h[worstList/2:]...)
		return func(i int) error { return x.rel.PutFrom(x.p, x.h[2], x.h[i%2], x.h[1-i%2], 0) }
	}},
	{"RemoveChild", "Close and AddChildAt in turns", false, worstList, hierarchy.Options{}, func(x *worst) func(int) error {
		x.add(x.h[0], x.h[1:]...)
		return func(i int) error {
			if i%2 == 1 {
				return x.rel.AddChildAt(x.p, x.h[0], x.h[i], 0)
			}
			return x.rel.RemoveChild(x.p, x.h[i+1], hierarchy.Close)
		}
	}},
	{"RemoveChild", "Close and Hole in turns", false, worstList, hierarchy.Options{}, func(x *worst) func(int) error {
		x.add(x.h[0], x.h[1:]...)
		return func(i int) error { return x.rel.RemoveChild(x.p, x.h[i+1], hierarchy.Gap(i%2)) }
	}},
	{"RemoveChild", "Close, in a list with a hole", false, worstList, hierarchy.Options{}, func(x *worst) func(int) error {
		x.add(x.h[0], x.h[1:]...)
		require.NoError(x.t, x.rel.RemoveChild(x.World, x.h[1], hierarchy.Hole))
		return func(i int) error { return x.rel.RemoveChild(x.p, x.h[i+2], hierarchy.Close) }
	}},
	{"RemoveChild", "Close, from many lists", false, worstChain, hierarchy.Options{}, func(x *worst) func(int) error {
		for i := 0; i < len(x.h); i += 1000 {
			x.add(x.h[i], x.h[i+1:i+1000]...)
		}
		return func(i int) error { return x.rel.RemoveChild(x.p, x.h[i%200*1000+1+i/200], hierarchy.Close) }
	}},
	{"Put", "at the last place, of new lists", false, 1 << 14, hierarchy.Options{}, func(x *worst) func(int) error {
		return func(i int) error { return x.rel.Put(x.p, x.h[2*i], x.h[2*i+1], 1<<16) }
	}},
	{"Put", "free: the last of fixed places is free", false, 1<<16 + 2, hierarchy.Options{}, func(x *worst) func(int) error {
		x.add(x.h[0], x.h[2:1<<16+1]...)
		require.NoError(x.t, x.rel.SetPlaces(x.World, x.h[0], 1<<16))
		return func(i int) error {
			if i%2 == 1 {
				return x.rel.RemoveChild(x.p, x.h[1], hierarchy.Hole)
			}
			return x.rel.Put(x.p, x.h[1], x.h[0], hierarchy.Free)
		}
	}},
	{"Put", "at the last place, and RemoveHoles in turns", false, 1 << 16, hierarchy.Options{}, func(x *worst) func(int) error {
		x.add(x.h[0], x.h[1:]...)
		require.NoError(x.t, x.rel.SetPlaces(x.World, x.h[0], 1<<16))
		return func(i int) error {
			if i%2 == 1 {
				return x.rel.RemoveHoles(x.p, x.h[0])
			}
			return x.rel.Put(x.p, x.h[1], x.h[0], 1<<16-1)
		}
	}},
	{"SetPlaces", "many and none in turns", false, 2, hierarchy.Options{}, func(x *worst) func(int) error {
		return func(i int) error { return x.rel.SetPlaces(x.p, x.h[0], (i+1)%2<<16) }
	}},
	{"SetPlaces", "many, of many lists", false, 1 << 13, hierarchy.Options{}, func(x *worst) func(int) error {
		return func(i int) error { return x.rel.SetPlaces(x.p, x.h[i], 1<<16) }
	}},
	{"Remove", "up a chain, Grandparent", false, worstList, hierarchy.Options{OnParentDeath: hierarchy.Grandparent}, func(x *worst) func(int) error {
		x.chain(x.rel, x.h[:8000])
		x.add(x.h[7999], x.h[8000:]...)
		return func(i int) error { return x.rel.Remove(x.p, x.h[7999-i]) }
	}},
	{"Remove", "parents, Orphan", false, worstChain, hierarchy.Options{OnParentDeath: hierarchy.Orphan}, func(x *worst) func(int) error {
		for i := 0; i < len(x.h); i += 50 {
			x.add(x.h[i], x.h[i+1:i+50]...)
		}
		return func(i int) error { return x.rel.Remove(x.p, x.h[i%4000*50]) }
	}},
	{"destroy", "children, in a list with a hole", false, worstList, hierarchy.Options{}, func(x *worst) func(int) error {
		x.add(x.h[0], x.h[1:]...)
		require.NoError(x.t, x.rel.RemoveChild(x.World, x.h[1], hierarchy.Hole))
		return func(i int) error { return x.p.Destroy(x.h[i+2]) }
	}},
	{"destroy", "a chain whose entities have a child each, Grandparent", false, 1 << 14, hierarchy.Options{OnParentDeath: hierarchy.Grandparent}, func(x *worst) func(int) error {
		x.chain(x.rel, x.h[:1<<13])
		for i, h := range x.h[:1<<13] {
			x.add(h, x.h[i+1<<13])
		}
		return func(i int) error { return x.p.Destroy(x.h[i+1]) }
	}},
	{"destroy", "what two relations spare in turns", false, 1 << 13, hierarchy.Options{OnParentDeath: hierarchy.SpareParent}, func(x *worst) func(int) error {
		x.also = hierarchy.New(x.World, "also", hierarchy.Options{OnParentDeath: hierarchy.SpareParent})
		for i, h := range x.h[1:] {
			r := x.rel
			if i%2 == 1 {
				r = x.also
			}
			require.NoError(x.t, r.AddChild(x.World, x.h[i], h))
		}
		return func(i int) error { return x.p.Destroy(x.h[1<<13-1-i]) }
	}},
	{"destroy", "the root of a chain", true, worstChain, hierarchy.Options{}, func(x *worst) func(int) error {
		x.chain(x.rel, x.h)
		return func(i int) error { return x.p.Destroy(x.h[i]) }
	}},
	{"destroy", "a parent", true, worstChain, hierarchy.Options{}, func(x *worst) func(int) error {
		x.add(x.h[0], x.h[1:]...)
		return func(i int) error { return x.p.Destroy(x.h[i]) }
	}},
	{"destroy", "a chain of two relations; the children of a third go up", true, worstList, hierarchy.Options{}, func(x *worst) func(int) error {
		x.also = hierarchy.New(x.World, "also", hierarchy.Options{})
		up := hierarchy.New(x.World, "up", hierarchy.Options{OnParentDeath: hierarchy.Grandparent})
		n := worstList / 2
		x.chain(up, x.h[:n])
		for i := n - 1; i > 1; i-- { // the death of a child in up spreads to its parent there
			r := x.rel
			if i%2 == 1 {
				r = x.also
			}
			require.NoError(x.t, r.AddChild(x.World, x.h[i], x.h[i-1]))
		}
		require.NoError(x.t, up.AddChildren(x.World, x.h[n-1], x.h[n:]...))
		return func(i int) error { return x.p.Destroy(x.h[n-1]) }
	}},
	{"destroy", "a chain above 200,000 leaves, Grandparent", true, worstChain + 4000, hierarchy.Options{OnParentDeath: hierarchy.Grandparent}, deepLeaves(1)},
	{"destroy", "a chain above 200,000 leaves, Grandparent in eight relations", true, worstChain + 4000, hierarchy.Options{OnParentDeath: hierarchy.Grandparent}, deepLeaves(8)},
}

// deepLeaves is a chain that is destroyed but for its root, and gives many leaves to it, in so many
// relations.
func deepLeaves(relations int) func(x *worst) func(int) error {
	return func(x *worst) func(int) error {
		for _, r := range x.relations(relations) {
			x.chain(r, x.h[:4000])
			require.NoError(x.t, r.AddChildren(x.World, x.h[3999], x.h[4000:]...))
		}
		return func(i int) error { return x.p.Destroy(x.h[1+i%3999]) }
	}
}

// newWorst makes the world of a shape.
func newWorst(t testing.TB, i int) (x *worst, send func(i int) error) {
	s := &worstShapes[i]
	x = &worst{fixture: newFixture(t, 4, s.options)}
	x.h = x.make(s.n)
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(x.h), func(i, k int) { x.h[i], x.h[k] = x.h[k], x.h[i] })
	x.p = x.port()
	send = s.make(x)
	x.Refresh()
	return x, send
}

// BenchmarkWorst times the refresh that applies a full queue of one port, on one core, for each kind
// of request: the least of all runs.
func BenchmarkWorst(b *testing.B) {
	for i, s := range worstShapes {
		b.Run(s.kind+" "+s.shape, func(b *testing.B) {
			least, requests, steps := time.Hour, 0, 0
			for range b.N {
				x, send := newWorst(b, i)
				requests = x.fill(send)
				runtime.GC()
				began := time.Now()
				x.Refresh()
				least = min(least, time.Since(began))
				steps = x.rel.Steps()
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(requests), "requests")
			b.ReportMetric(float64(steps)/1e6, "Msteps")
			b.ReportMetric(least.Seconds()*1e3, "ms")
		})
	}
}

// BenchmarkWorstGrowth times the refreshes in which a port makes lists of 65,536 places until all
// lists have 512 MB: the longest of them, of the fastest run.
func BenchmarkWorstGrowth(b *testing.B) {
	least := time.Hour
	for range b.N {
		x := &worst{fixture: newFixture(b, 4, hierarchy.Options{})}
		x.h, x.p = x.make(1000), x.port()
		x.Refresh()
		longest := time.Duration(0)
		for i := 0; i < len(x.h); {
			for range 8 {
				require.NoError(b, x.rel.SetPlaces(x.p, x.h[i], 1<<16))
				i++
			}
			began := time.Now()
			x.Refresh()
			longest = max(longest, time.Since(began))
		}
		least = min(least, longest)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(least.Seconds()*1e3, "ms")
}
