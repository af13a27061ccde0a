package world_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestChunksSince sees which chunks a query tells of after each way of writing.
func TestChunksSince(t *testing.T) {
	w := world.MustNew(world.Options{Shards: 2})
	a := world.Register[changeA](w, "a")
	b := world.Register[changeB](w, "b")
	pair := world.NewBundle[changePair](w)
	ra, rb, wa := world.Read[changeA](w), world.Read[changeB](w), world.Write[changeA](w)
	hs, err := pair.AppendN(nil, w, 12000, nil)
	require.NoError(t, err)
	qa, qb := w.Query(ra), w.Query(rb)
	p, err := w.OpenPort()
	require.NoError(t, err)

	// told returns how many rows each query tells of since the tick.
	told := func(tick uint64) (rows [2]int) {
		for i, q := range []*world.Query{qa, qb} {
			for ch := range q.ChunksSince(tick) {
				rows[i] += ch.Len()
			}
		}
		return rows
	}
	chunkOf := func(h handle.Handle) int {
		for ch := range qa.Chunks() {
			if slices.Contains(ch.Handles(), h) {
				return ch.Len()
			}
		}
		t.Fatal("no chunk has it")
		return 0
	}
	require.Equal(t, [2]int{12000, 12000}, told(0), "all are new")
	w.Refresh()
	require.Equal(t, [2]int{}, told(w.Tick()), "nothing happened since")
	require.Equal(t, [2]int{12000, 12000}, told(w.Tick()-1), "but before")

	one := [2]int{chunkOf(hs[5000]), 0}
	steps := []struct {
		name string
		do   func()
		want [2]int
	}{
		{"reading", func() { _ = ra.Get(hs[5000]).N }, [2]int{}},
		{"reading all", func() {
			for ch := range qa.Chunks() {
				_ = ra.Slice(ch)
			}
		}, [2]int{}},
		{"Writer.Get", func() { wa.Get(hs[5000]).N++ }, one},
		{"Writer.At", func() { wa.At(w.Locate(hs[5000])).N++ }, one},
		{"Writer.Slice", func() {
			for ch := range w.Query(wa).Chunks() {
				_ = wa.Slice(ch)
			}
		}, [2]int{12000, 0}},
		{"Set", func() { require.NoError(t, a.Set(w, hs[5000], changeA{1})) }, one},
		{"Set by a port", func() { require.NoError(t, a.Set(p, hs[5000], changeA{1})) }, one},
		{"Set of the other", func() { require.NoError(t, b.Set(w, hs[5000], changeB{"x"})) }, [2]int{0, one[0]}},
		{"Add of what it has", func() { require.NoError(t, a.Add(w, hs[5000], changeA{2})) }, one},
		{"Add of a bundle it has", func() { require.NoError(t, pair.Add(w, hs[5000], changePair{})) }, [2]int{one[0], one[0]}},
		{"Add of a bundle by a port", func() { require.NoError(t, pair.Add(p, hs[5000], changePair{})) }, [2]int{one[0], one[0]}},
		{"marking", func() { w.Destroy(hs[5000]) }, one}, // the refresh puts another row in its place
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			tick := w.Tick()
			s.do()
			w.Refresh()
			got := told(tick)
			if s.name == "marking" {
				require.NotZero(t, got[0])
				require.Equal(t, got[0], got[1])
			} else {
				require.Equal(t, s.want, got)
			}
			require.Equal(t, [2]int{}, told(w.Tick()))
		})
	}
	tick := w.Tick()
	require.NoError(t, b.Remove(w, hs[1]))
	require.NotZero(t, told(tick)[0], "it came to another table")
}
