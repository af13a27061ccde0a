package interest_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/interest"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/near"
	"github.com/atoll-sim/atoll/world"
)

// TestMemory has views see many, and then nobody: the memory comes back.
func TestMemory(t *testing.T) {
	if check.Enabled {
		t.Skip("takes long")
	}
	x := newField(t, world.Options{})
	s := x.newSet(interest.Options{})
	for range 20_000 {
		h := x.unit(50, 50)
		require.NoError(t, x.name.Add(x.World, h, Name{strings.Repeat("x", 200)}))
	}
	f := x.now()
	defer f.Release()
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	s.Update(f, 1, none)
	before := heap()
	at := interest.Viewer{At: near.Point{X: 50, Y: 50}, Radius: 10}
	var views []*interest.View
	for range 100 {
		views = append(views, s.Open(at))
	}
	for range 3 {
		s.Update(f, 1, none)
	}
	require.Greater(t, heap()-before, 20_000*24*100)
	for i, v := range views {
		if i%2 == 0 {
			v.Close()
		} else {
			v.Change(interest.Viewer{At: near.Point{X: 1}})
		}
	}
	for range 5 {
		s.Update(f, 1, none)
	}
	require.Less(t, heap()-before, 8<<20, "what a worker has for the largest view is kept")
	runtime.KeepAlive(views)
}

// TestMixedSizes has small and large views: once warm, nothing is allocated.
func TestMixedSizes(t *testing.T) {
	if check.Enabled {
		t.Skip("the race detector has more allocated")
	}
	x := newField(t, world.Options{})
	for range 10_000 {
		x.unit(90, 90)
	}
	s := x.newSet(interest.Options{})
	for range 20 {
		s.Open(interest.Viewer{At: near.Point{X: 5, Y: 5}, Radius: 5})
		s.Open(interest.Viewer{At: near.Point{X: 90, Y: 90}, Radius: 5})
	}
	f := x.now()
	defer f.Release()
	update := func() { s.Update(f, 1, none) }
	for range 5 {
		update()
	}
	require.Zero(t, testing.AllocsPerRun(20, update))
}
