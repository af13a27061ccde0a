package hierarchy_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// Luck is a component that nobody has.
type Luck struct{ N int }

// withFamilies makes 10,000 children of 1,000 parents, some 250 KB.
func withFamilies(t *testing.T, o world.Options) (f *fixture, all []handle.Handle) {
	f = newFixtureOf(t, o, hierarchy.Options{})
	all = f.make(11_000)
	for i, child := range all[1000:] {
		f.add(all[i%1000], child)
	}
	f.Refresh()
	return f, all
}

// framesBytes returns the memory of frames.
func (f *fixture) framesBytes() uint64 {
	var s world.Stats
	f.Stats(&s)
	return s.FramesBytes
}

// now captures a frame.
func (f *fixture) now(of ...world.Viewable) *world.Frame {
	f.t.Helper()
	view, err := f.NewView(of...)
	require.NoError(f.t, err)
	frame, err := view.Now()
	require.NoError(f.t, err)
	return frame
}

// TestFrameShares counts the memory of copies: none for views without the relation, one for all
// frames between which nothing changed, and nothing in the end.
func TestFrameShares(t *testing.T) {
	f, all := withFamilies(t, world.Options{Shards: 1})
	luck := world.Register[Luck](f.World, "luck")
	f.now(luck).Release()
	require.False(t, f.rel.Noting(), "no view has it")
	rows := f.framesBytes()
	a := f.now(f.rel)
	one := f.framesBytes() - rows
	require.Greater(t, one, uint64(200_000))
	b := f.now(f.rel, luck)
	require.Equal(t, rows+one, f.framesBytes(), "it is shared")
	require.NoError(t, f.rel.Move(f.World, all[5000], all[7]))
	c := f.now(f.rel)
	require.Greater(t, f.framesBytes(), rows+3*one/2)
	require.Equal(t, all[0], f.rel.Read(b).Parent(all[5000]))
	require.Equal(t, all[7], f.rel.Read(c).Parent(all[5000]))
	for _, frame := range []*world.Frame{a, b, c} {
		frame.Release()
	}
	two := f.framesBytes()
	require.NoError(t, f.rel.Move(f.World, all[5000], all[8]))
	f.now(f.rel).Release()
	require.Equal(t, two, f.framesBytes(), "it is used again")
	require.True(t, f.rel.Noting())
	for range 70 {
		f.Refresh()
	}
	require.Zero(t, f.framesBytes())
	require.False(t, f.rel.Noting(), "no frame was made for a while")
}

// TestLimitFrames refuses a frame whose copy of a relation is too large, and the tick goes on.
func TestLimitFrames(t *testing.T) {
	f, all := withFamilies(t, world.Options{Shards: 1, FramesBytes: 700_000})
	view, err := f.NewView(f.rel)
	require.NoError(t, err)
	a, err := view.Now()
	require.NoError(t, err)
	for i := range 10 {
		require.NoError(t, f.rel.Move(f.World, all[5000], all[i]))
		b, err := view.Now()
		if err != nil {
			require.ErrorIs(t, err, world.ErrFrames)
			require.ErrorContains(t, err, "Options.FramesBytes, 700000")
			a.Release()
			b, err = view.Now()
			require.NoError(t, err, "what the first had is used again")
			require.Equal(t, all[i], f.rel.Read(b).Parent(all[5000]))
			return
		}
		defer b.Release()
	}
	t.Fatal("never too much")
}

// TestFrameForgotten reads a frame that nobody has any more but for its Reader's walk, while the
// collector looks for it and others are made.
func TestFrameForgotten(t *testing.T) {
	f, all := withFamilies(t, world.Options{Shards: 1})
	children := f.rel.Read(f.now(f.rel)).Children(all[1])
	was := len(children)
	var s world.Stats
	for f.Stats(&s); s.Frames > 0; f.Stats(&s) {
		runtime.GC()
	}
	for range 5 {
		require.NoError(t, f.rel.RemoveChild(f.World, f.read.At(all[1], 0), hierarchy.Close))
		frame := f.now(f.rel)
		require.Equal(t, f.read.Children(all[1]), f.rel.Read(frame).Children(all[1]))
		frame.Release()
		for f.Stats(&s); s.Frames > 0; f.Stats(&s) {
			runtime.GC()
		}
		require.Len(t, children, was)
		require.NotContains(t, children, handle.None)
	}
}

// TestFrameRefuses asks for relations that a frame does not have.
func TestFrameRefuses(t *testing.T) {
	f := newFixture(t, 1, hierarchy.Options{})
	other := hierarchy.New(f.World, "other", hierarchy.Options{})
	frame := f.now(f.rel)
	require.PanicsWithValue(t, `world: Relation.Read: "other" is not in the view that the frame is of; name it in World.NewView`, func() { other.Read(frame) })
	read := f.rel.Read(frame)
	frame.Release()
	require.PanicsWithValue(t, "world: Relation.Read of a Frame that was released; release it after its last use", func() { f.rel.Read(frame) })
	if check.Enabled {
		require.PanicsWithValue(t, "world: hierarchy.Reader of a Frame that was released; release it after its last use", func() { read.Parent(1) })
	}
}

// TestFrameAllocates captures a relation that changes: nothing is allocated but the Frame, once
// warm.
func TestFrameAllocates(t *testing.T) {
	if check.Enabled {
		t.Skip("the check build allocates")
	}
	f, all := withFamilies(t, world.Options{Shards: 1})
	with, err := f.NewView(f.rel)
	require.NoError(t, err)
	without, err := f.NewView(world.Register[Luck](f.World, "luck"))
	require.NoError(t, err)
	n := 0
	allocs := func(v *world.View) float64 {
		return testing.AllocsPerRun(20, func() {
			for range 30 {
				n++
				require.NoError(t, f.rel.Move(f.World, all[1000+n%1000], all[n*7%1000]))
			}
			frame, err := v.Now()
			if err == nil {
				frame.Release()
			}
			f.Refresh()
		})
	}
	allocs(with)
	require.LessOrEqual(t, allocs(with)-allocs(without), 8.0, "the goroutines of Now")
}
