package world_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// TestFrameRefuses names what cannot be in a frame, and what cannot be done with one.
func TestFrameRefuses(t *testing.T) {
	type list struct{ In struct{ Items [2][]int } }
	f := newFixture(t, world.Options{})
	h := f.newUnit(3)
	lists := world.Register[list](f.World, "list")
	_, err := f.NewView()
	require.EqualError(t, err, `world: component "list" cannot be in a view: world_test.list.In.Items[0] is a slice, which a frame would share with the world; give the component a Component.CloneBy, or name the components of the view`)
	_, err = f.NewView(lists)
	require.Error(t, err)
	v, err := f.NewView(f.health)
	require.NoError(t, err)
	frame, err := v.Now()
	require.NoError(t, err)
	q := frame.Query(world.Read[Health](frame))
	var none context.Context
	for want, do := range map[string]func(){
		"world: world.Write of a Frame, which is for reading only; use world.Read":                                                     func() { world.Write[Health](frame) },
		`world: world.Read: component "name" is not in the view that the frame is of; name it in World.NewView`:                        func() { world.Read[Name](frame) },
		"world: Query.Destroy of a Query of a Frame, which is for reading only; ask the World for one":                                 func() { q.Destroy() },
		"world: Query.Remove of a Query of a Frame, which is for reading only; ask the World for one":                                  func() { _ = q.Remove(f.health) },
		"world: Bundle.AddTo of a Query of a Frame, which is for reading only; ask the World for one":                                  func() { _ = f.mover.AddTo(q, nil) },
		"world: World.Query: the term of world_test.Health was asked of another world; ask for all terms where the query is asked for": func() { f.World.Query(world.Read[Health](frame)) },
		"world: Frame.Query: the term of world_test.Health was asked of another world; ask for all terms where the query is asked for": func() { frame.Query(world.Read[Health](f.World)) },
		"world: View.Capture with a nil Context; pass one, or context.Background()":                                                    func() { _, _ = v.Capture(none) },
		"world: View.Now of a nil View; make one with World.NewView":                                                                   func() { _, _ = (*world.View)(nil).Now() },
		"world: Frame.Count of a nil Frame; View.Capture returns one":                                                                  func() { (*world.Frame)(nil).Count() },
		"world: Frame.Diff of frames of two worlds; compare those of one": func() {
			other := newFixture(t, world.Options{})
			ov, err := other.NewView()
			require.NoError(t, err)
			of, err := ov.Now()
			require.NoError(t, err)
			frame.Diff(of)
		},
		`world: Component.CloneBy of "list" with a nil function`: func() { lists.CloneBy(nil) },
	} {
		require.PanicsWithValue(t, want, do)
	}
	require.True(t, frame.Has(h, f.health))
	require.False(t, frame.Has(h, f.name))
	require.Equal(t, int64(3), world.Read[Health](frame).Get(h).Points)
	frame.Release()
	frame.Release()
	for _, do := range []func(){func() { frame.Alive(h) }, func() { frame.Query() }, func() { world.Read[Health](frame) }, func() { frame.Diff(frame) }} {
		require.Panics(t, do)
	}
	f.Close()
	_, err = v.Now()
	require.ErrorIs(t, err, world.ErrClosed)
	_, err = v.Capture(t.Context())
	require.ErrorIs(t, err, world.ErrClosed)
}

// TestFrameClones captures a component that a plain copy would share, by the user's function.
func TestFrameClones(t *testing.T) {
	type bag struct{ Items []int }
	type holder struct{ bag }
	f := newFixture(t, world.Options{Shards: 1})
	fail, exit := false, false
	bags := world.Register[bag](f.World, "bag").CloneBy(func(to, from *bag) {
		if exit {
			runtime.Goexit()
		}
		if fail {
			panic(errCause)
		}
		to.Items = append(to.Items[:0], from.Items...)
	})
	h, err := world.NewBundle[holder](f.World).Create(f.World, holder{bag{[]int{1, 2}}})
	require.NoError(t, err)
	v, err := f.NewView(bags)
	require.NoError(t, err)
	for n := range 5 {
		world.Write[bag](f.World).Get(h).Items[1] = n
		frame, err := v.Now()
		require.NoError(t, err)
		world.Write[bag](f.World).Get(h).Items[1] = 77
		require.Equal(t, []int{1, n}, world.Read[bag](frame).Get(h).Items)
		if n%2 == 0 {
			frame.Release()
		}
		fail = true
		_, err = v.Now()
		var e *world.PanicError
		require.ErrorAs(t, err, &e)
		require.ErrorIs(t, err, errCause)
		require.EqualError(t, e, `world: the function of CloneBy of component "bag" panicked, for a frame of tick `+string(rune('0'+n))+`: the cause`)
		fail, exit = false, true
		_, err = v.Now()
		require.ErrorContains(t, err, "runtime.Goexit")
		exit = false
		f.Refresh()
	}
}

// TestLimitFrames holds as many frames as may be held, by number and by bytes, and is given their
// memory back.
func TestLimitFrames(t *testing.T) {
	f := newFixture(t, world.Options{FramesMax: 2, FramesBytes: 1 << 20})
	require.NoError(t, f.unit.CreateN(f.World, 10_000, nil))
	v, err := f.NewView(f.health)
	require.NoError(t, err)
	a, err := v.Now()
	require.NoError(t, err)
	_, err = v.Now()
	require.NoError(t, err)
	_, err = v.Now()
	require.ErrorIs(t, err, world.ErrFrames)
	require.EqualError(t, err, "world: too many frames: 2 are held, as many as Options.FramesMax allows; release one, or raise it")
	_, err = v.Capture(t.Context())
	require.ErrorIs(t, err, world.ErrFrames)
	require.Equal(t, 2, f.stats().Frames)
	a.Release()
	for b, err := v.Now(); err != nil; b, err = v.Now() { // the collector releases the other
		require.Nil(t, b)
		runtime.GC()
	}

	require.NoError(t, f.unit.CreateN(f.World, 100_000, nil))
	for f.stats().Frames > 0 {
		runtime.GC()
	}
	_, err = v.Now()
	require.ErrorIs(t, err, world.ErrFrames)
	require.ErrorContains(t, err, "Options.FramesBytes, 1048576")
	f.Clear()
	require.NoError(t, f.unit.CreateN(f.World, 10_000, nil))
	frame, err := v.Now()
	require.NoError(t, err)
	require.Equal(t, 10_000, frame.Count())
	require.Positive(t, f.stats().FramesBytes)
	frame.Release()
	for range 70 {
		f.Refresh()
	}
	require.Zero(t, f.stats().FramesBytes, "given back when no frame was made for a while")
	require.Zero(t, f.stats().Frames)
}

// TestFrameForgotten reads what was asked of a frame that nobody has any more, while the collector
// releases it and others are made.
func TestFrameForgotten(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	h := f.newUnit(1)
	v, err := f.NewView()
	require.NoError(t, err)
	ask := func() (*world.Reader[Health], *world.Query) {
		frame, err := v.Now()
		require.NoError(t, err)
		health := world.Read[Health](frame)
		return health, frame.Query(health)
	}
	health, q := ask()
	for f.stats().Frames > 0 {
		runtime.GC()
	}
	for n := range 6 {
		world.Write[Health](f.World).Get(h).Points = int64(n + 2)
		frame, err := v.Now()
		require.NoError(t, err)
		require.Equal(t, int64(n+2), world.Read[Health](frame).Get(h).Points)
		if n%2 == 0 {
			frame.Release()
		}
		for f.stats().Frames > 0 {
			runtime.GC()
		}
		for ch := range q.Chunks() {
			require.Equal(t, int64(1), health.Slice(ch)[0].Points)
		}
		require.Equal(t, int64(1), health.Get(h).Points)
	}
}

// TestFrameKeepsItsRows lets go of worlds of which a frame is held: it keeps its own rows, and
// neither the world nor the rows of others.
func TestFrameKeepsItsRows(t *testing.T) {
	var gone atomic.Int32
	ask := func(end bool) *world.Frame {
		f := newFixture(t, world.Options{})
		f.newUnit(7)
		v, err := f.NewView()
		require.NoError(t, err)
		frame, err := v.Now()
		require.NoError(t, err)
		if end {
			f.Close()
		}
		runtime.AddCleanup(f.World, func(int) { gone.Add(1) }, 0)
		return frame
	}
	frames := []*world.Frame{ask(false), ask(true)}
	for gone.Load() < 2 {
		runtime.GC()
	}
	for _, frame := range frames {
		require.Equal(t, 1, frame.Count())
		frame.Release()
	}
}

// TestCloneLate gives a component a clone function when frames were made, and one that does what
// must not be done meanwhile.
func TestCloneLate(t *testing.T) {
	type bag struct{ Items []int }
	f := newFixture(t, world.Options{})
	bags := world.Register[bag](f.World, "bag")
	rest, err := f.NewView(f.health)
	require.NoError(t, err)
	frame, err := rest.Now()
	require.NoError(t, err)
	frame.Release()
	wrong := false
	bags.CloneBy(func(to, from *bag) {
		if wrong {
			f.Refresh()
		}
		to.Items = append(to.Items[:0], from.Items...)
	})
	h, err := world.NewBundle[struct{ bag }](f.World).Create(f.World, struct{ bag }{bag{[]int{1}}})
	require.NoError(t, err)
	v, err := f.NewView(bags)
	require.NoError(t, err)
	before, err := v.Now()
	require.NoError(t, err)
	world.Write[bag](f.World).Get(h).Items[0] = 2
	wrong = true
	_, err = v.Now()
	require.ErrorContains(t, err, "World.Refresh while a refresh runs")
	wrong = false
	after, err := v.Now()
	require.NoError(t, err)
	require.Equal(t, []handle.Handle{h}, after.Diff(before).Changed(bags))
}

// TestCaptureEnds waits for frames that do not come.
func TestCaptureEnds(t *testing.T) {
	f := newFixture(t, world.Options{})
	v, err := f.NewView()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error)
	wait := func() { _, err := v.Capture(ctx); errs <- err }
	go wait()
	world.AwaitCaptures(f.World, 1)
	cancel()
	require.ErrorIs(t, <-errs, context.Canceled)
	f.Refresh()
	require.Zero(t, f.stats().Frames)

	ctx = t.Context()
	go wait()
	go wait()
	world.AwaitCaptures(f.World, 2)
	f.Refresh()
	require.NoError(t, <-errs)
	require.NoError(t, <-errs)

	go wait()
	world.AwaitCaptures(f.World, 1)
	f.Close()
	require.ErrorIs(t, <-errs, world.ErrClosed)
}

// TestFrameAllocates checks that a refresh that makes a frame allocates nothing, once warm.
func TestFrameAllocates(t *testing.T) {
	if check.Enabled {
		t.Skip("the check build allocates")
	}
	f := newFixture(t, world.Options{})
	require.NoError(t, f.mover.CreateN(f.World, 5000, nil))
	v, err := f.NewView()
	require.NoError(t, err)
	write := func() {
		for ch := range f.World.Query(world.With[Position](f.World)).Chunks() {
			world.Write[Position](f.World).Slice(ch)[0].X++
		}
	}
	for range 5 {
		frame, err := v.Now()
		require.NoError(t, err)
		write()
		frame.Release()
		f.Refresh()
	}
	var frame *world.Frame
	without := testing.AllocsPerRun(20, func() { write(); f.Refresh() })
	with := testing.AllocsPerRun(20, func() {
		if frame, err = v.Now(); err == nil {
			frame.Release()
		}
		write()
		f.Refresh()
	})
	require.NoError(t, err)
	require.LessOrEqual(t, with-without, 16.0, "the Frame and the goroutines of Now, whatever there is to copy")
}

// TestFrameOfNobody has the only one who waits for a frame give up while a refresh is about to
// capture it.
func TestFrameOfNobody(t *testing.T) {
	w := world.MustNew(world.Options{FramesMax: 1})
	v, err := w.NewView()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var both sync.WaitGroup
	both.Go(func() {
		if frame, err := v.Capture(ctx); err == nil {
			frame.Release()
		}
	})
	world.AwaitCaptures(w, 1)
	unlock := w.LockFrames()
	cancel()
	time.Sleep(10 * time.Millisecond) // it waits for the lock, and is first
	both.Go(w.Refresh)
	time.Sleep(10 * time.Millisecond)
	unlock()
	both.Wait()
	require.Zero(t, w.FramesHeld())
	frame, err := v.Now()
	require.NoError(t, err)
	frame.Release()
}
