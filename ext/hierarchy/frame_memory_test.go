package hierarchy_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// heap returns how much memory is in use.
func heap() int {
	runtime.GC()
	runtime.GC() // what a cleanup let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestFrameMemory compares Stats.FramesBytes with what frames of a large relation keep in memory:
// while they are held, when they are released, when some of the copies were not needed for a while,
// and when no frame is made any more, although the released frames are still there.
func TestFrameMemory(t *testing.T) {
	if check.Enabled {
		t.Skip("the memory of the check build says nothing, and it takes long")
	}
	f := newFixtureOf(t, world.Options{Shards: 2, FramesMax: 4}, hierarchy.Options{OnChildDeath: hierarchy.Swap})
	all := f.make(110_000)
	for i, child := range all[10_000:] {
		f.add(all[i%10_000], child)
	}
	wait := func() {
		for range 70 {
			f.Refresh()
		}
	}
	wait() // for the world's own memory to be given back
	view, err := f.NewView(f.rel, world.Register[Luck](f.World, "luck"))
	require.NoError(t, err)
	base := heap()
	agree := func(when string) uint64 {
		t.Helper()
		counted, taken := f.framesBytes(), heap()-base
		t.Logf("%-30s counted %9d, in memory %9d", when, counted, taken)
		require.InDelta(t, counted, taken, float64(counted/8+500_000), when)
		return counted
	}
	change := func(n int) {
		for i := range 10_000 {
			require.NoError(t, f.rel.Move(f.World, all[10_000+i*10+n], all[i]))
		}
		h, err := f.things.Create(f.World, Thing{})
		require.NoError(t, err)
		f.World.Destroy(all[len(all)-1-n])
		f.World.Destroy(h)
		f.Refresh()
	}
	var frames []*world.Frame
	for n := range 4 {
		change(n)
		frame, err := view.Now()
		require.NoError(t, err)
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
	}
	require.Less(t, agree("one was enough"), held/2)
	wait()
	require.Zero(t, agree("no frame for a while"))
	runtime.KeepAlive(f)
	runtime.KeepAlive(frames)
	runtime.KeepAlive(all)
}
