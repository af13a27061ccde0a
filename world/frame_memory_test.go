package world_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// TestFrameMemory compares Stats.FramesBytes with what frames keep in memory: while they are held,
// when they are released, when some of the buffers were not needed for a while, and when no frame
// is made any more, although the released frames are still there.
func TestFrameMemory(t *testing.T) {
	if check.Enabled {
		t.Skip("the check build keeps more")
	}
	w := world.MustNew(world.Options{Shards: 2, FramesMax: 4})
	position, velocity, third := world.Register[Position](w, "position"), world.Register[Velocity](w, "velocity"), world.Register[Third](w, "third")
	all, err := world.NewBundle[Body](w).AppendN(nil, w, 100_000, nil)
	require.NoError(t, err)
	view, err := w.NewView(position, velocity, third)
	require.NoError(t, err)
	q := w.Query(world.Write[Position](w), world.Write[Velocity](w), world.Write[Third](w))
	refresh := func(n int) {
		for range n {
			w.Refresh()
		}
	}
	refresh(70) // for the world's own memory to be given back
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what a cleanup let go
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	base := heap()
	agree := func(when string) uint64 {
		t.Helper()
		var s world.Stats
		w.Stats(&s)
		taken := heap() - base
		t.Logf("%-25s counted %9d, in memory %9d", when, s.FramesBytes, taken)
		require.InDelta(t, s.FramesBytes, taken, float64(s.FramesBytes/8+500_000), when)
		return s.FramesBytes
	}
	var frames []*world.Frame
	for n := range 4 {
		for ch := range q.Chunks() {
			world.Write[Position](w).Slice(ch)[0].X++
			world.Write[Velocity](w).Slice(ch)[0].X++
			world.Write[Third](w).Slice(ch)[0].A++
		}
		refresh(1)
		frame, err := view.Now()
		require.NoError(t, err)
		require.True(t, frame.Alive(all[n]), "this makes an index")
		frames = append(frames, frame)
	}
	held := agree("held")
	for _, frame := range frames {
		frame.Release()
	}
	require.Equal(t, held, agree("released"), "they are kept for later frames")
	for range 150 {
		frame, err := view.Now()
		require.NoError(t, err)
		frame.Release()
		refresh(1)
	}
	require.Less(t, agree("one was enough"), held*2/3)
	refresh(70)
	require.Zero(t, agree("no frame for a while"))
	runtime.KeepAlive(w)
	runtime.KeepAlive(frames)
	runtime.KeepAlive(all)
}
