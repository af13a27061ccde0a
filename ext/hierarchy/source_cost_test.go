package hierarchy_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
)

// families makes a tree of so many parents with ten children each, parents first.
func families(t testing.TB, parents int) *hierarchy.Tree {
	x := hierarchy.NewTree(hierarchy.Memory{})
	for p := range parents {
		for c := range 10 {
			require.NoError(t, x.AddChild(h(p), h(parents+10*p+c)))
		}
	}
	return x
}

// TestSourceConstant: looking up, adding and removing cost the same, but for the
// caches' part, however many families there are.
func TestSourceConstant(t *testing.T) {
	few, many := 64, 64*max(128, iterations(512))
	cost := func(x *hierarchy.Tree, parents int) time.Duration {
		read, r := x.Read(), newRand(t, 1)
		best := time.Hour
		for range 20 {
			start := time.Now()
			for range 200 {
				p := r.IntN(parents)
				parent, child := h(p), h(parents+10*p+r.IntN(10))
				if read.Parent(child) != parent || len(read.Children(parent)) != 10 || x.RemoveChild(child, hierarchy.Close) != nil || x.AddChild(parent, child) != nil {
					t.Fatal("wrong")
				}
			}
			best = min(best, time.Since(start))
		}
		return best / 200
	}
	little, much := cost(families(t, few), few), cost(families(t, many), many)
	t.Logf("%v with %d families, %v with %d", little, few, much, many)
	require.Less(t, much, little*time.Duration(many/few/8), "what costs by the number of families would take %d times as long", many/few)
}

// TestSourceImageCopies: to save is to copy, into memory that is there, and to load
// is to copy into as many pieces as there are kinds of memory, however many
// entities are in it.
func TestSourceImageCopies(t *testing.T) {
	var loads []uint64
	for _, parents := range []int{1_000, 8_000} {
		x := families(t, parents)
		image := make([]byte, 0, x.SaveSize())
		count, _ := leastAllocations(func() { image = x.Save(image[:0]) })
		require.Zero(t, count)
		require.InEpsilon(t, x.Bytes(), len(image), 0.5, "the image is the memory")

		into := hierarchy.NewTree(hierarchy.Memory{})
		count, bytes := leastAllocations(func() { require.NoError(t, into.Load(image)) })
		require.Less(t, bytes, uint64(2*len(image)))
		require.Equal(t, 10*parents, into.Links())
		loads = append(loads, count)
	}
	t.Logf("allocations of loading: %d", loads)
	require.Less(t, loads[1], loads[0]+20)
}

// leastAllocations counts what f allocates, the least of several times: the counters
// are those of the whole process, and the runtime allocates when it likes.
func leastAllocations(f func()) (count, bytes uint64) {
	count, bytes = allocations(f)
	for range 9 {
		c, b := allocations(f)
		count, bytes = min(count, c), min(bytes, b)
	}
	return count, bytes
}
