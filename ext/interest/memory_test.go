package interest_test

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// TestMemory has clients see many, and then nobody: the memory comes back.
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
	s.Update(f, 1, none)
	before := heap()
	at := interest.ClientOptions{At: near.Point{X: 50, Y: 50}, Radius: 10}
	var views []*interest.Client
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
			v.Change(interest.ClientOptions{At: near.Point{X: 1}})
		}
	}
	for range 5 {
		s.Update(f, 1, none)
	}
	require.Less(t, heap()-before, 8<<20, "what a worker has for the largest view is kept")
	runtime.KeepAlive(views)
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestLongRows has rows of 20 to 300 kB among short ones: once warm, nothing is allocated. When
// they are seen no more, their memory comes back.
func TestLongRows(t *testing.T) {
	if check.Enabled {
		t.Skip("the race detector has more allocated")
	}
	x := newField(t, world.Options{})
	long := bytes.Repeat([]byte("x"), 300_000)
	s := interest.New(x.World, x.index, interest.Options{}, interest.Encode(encodePosition), interest.Encode(func(dst []byte, l *Level) []byte {
		return append(dst, long[:20_000*l.Number]...)
	}))
	for i := range 1000 {
		x.unit(50, 50)
		world.Write[Level](x.World).Get(x.unit(50, 50)).Number = max(0, i-985)
	}
	v := s.Open(interest.ClientOptions{At: near.Point{X: 50, Y: 50}, Radius: 10})
	f := x.now()
	defer f.Release()
	before := heap()
	update := func() { s.Update(f, 1, none) }
	for range 5 {
		update()
	}
	require.Zero(t, testing.AllocsPerRun(20, update))
	require.Greater(t, heap()-before, 2*14*15/2*20_000)
	v.Change(interest.ClientOptions{})
	for range 4 {
		update()
	}
	require.Less(t, heap()-before, 8<<20)
}

// TestMixedSizes has small and large clients: once warm, nothing is allocated.
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
		s.Open(interest.ClientOptions{At: near.Point{X: 5, Y: 5}, Radius: 5})
		s.Open(interest.ClientOptions{At: near.Point{X: 90, Y: 90}, Radius: 5})
	}
	f := x.now()
	defer f.Release()
	update := func() { s.Update(f, 1, none) }
	for range 5 {
		update()
	}
	require.Zero(t, testing.AllocsPerRun(20, update))
}
