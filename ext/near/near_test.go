package near_test

import (
	"bytes"
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/allocs"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

var nan, inf = math.NaN(), math.Inf(1)

func TestBadOptions(t *testing.T) {
	w := world.MustNew(world.Options{})
	t.Cleanup(w.Close)
	world.Register[Position](w, "position")
	for want, change := range map[string]func(o *near.Options){
		"want finite ones":                        func(o *near.Options) { o.Max.X = o.Min.X },
		"Max with higher X and Y, and no lower Z": func(o *near.Options) { o.Max.Z = -1 },
		"from Min {NaN -50 0}":                    func(o *near.Options) { o.Min.X = nan },
		"to Max {100 +Inf 0}":                     func(o *near.Options) { o.Max.Y = inf },
		"Options.Cell is 0":                       func(o *near.Options) { o.Cell = 0 },
		"Options.Cell is NaN":                     func(o *near.Options) { o.Cell = nan },
		"Options.Cell is +Inf":                    func(o *near.Options) { o.Cell = inf },
		"4194304 in all":                          func(o *near.Options) { o.Cell = 0.01 },
		"pass a larger Cell":                      func(o *near.Options) { o.Cell = math.SmallestNonzeroFloat64 },
	} {
		o := space
		change(&o)
		require.PanicsWithError(t, "x", func() {
			defer func() {
				require.Contains(t, recover(), want)
				panic(errX{})
			}()
			near.New(w, Position.point, o)
		})
	}
	require.PanicsWithValue(t, "near: New for near_test.Position with a nil function; pass one that returns where a value is", func() {
		near.New[Position](w, nil, space)
	})
	require.Panics(t, func() { near.New(w, func(Still) near.Point { return near.Point{} }, space) }, "not registered")
	for _, turns := range []world.Term{world.Turns(w, 1), world.Turns(w, 8), world.TurnsFor(w, 100)} {
		require.PanicsWithValue(t, "near: New for near_test.Position with Turns or TurnsFor; an index has all entities in every tick, so pass them to the query of a system", func() {
			near.New(w, Position.point, space, turns)
		})
	}
}

// TestFlags has an index of those with one flag, and not with another, as these change.
func TestFlags(t *testing.T) {
	g := newGame(t, world.Options{Shards: 2}, 1, space, func(w *world.World) []world.Term {
		return []world.Term{world.WithFlags(w, 1), world.WithoutFlags(w, 2)}
	})
	h := g.unit(1, 1, 0)
	g.unit(1, 1, 0)
	view, err := g.NewView(g.index)
	require.NoError(t, err)
	for _, x := range []struct {
		change func(world.Actor, handle.Handle, world.Flags) error
		flag   world.Flags
		found  []handle.Handle
	}{{world.AddFlags, 4, nil}, {world.AddFlags, 1, []handle.Handle{h}}, {world.AddFlags, 2, nil}, {world.RemoveFlags, 2, []handle.Handle{h}}, {world.RemoveFlags, 1, nil}} {
		require.NoError(t, x.change(g.World, h, x.flag))
		require.Equal(t, x.found, handles(g.index.Read(g.World).AppendWithin(nil, near.Point{}, 5)))
		g.step()
		f, err := view.Now()
		require.NoError(t, err)
		require.Equal(t, x.found, handles(g.index.Read(f).AppendWithin(nil, near.Point{}, 5)))
		f.Release()
	}
}

type errX struct{}

func (errX) Error() string { return "x" }

// TestHostile asks for what makes no sense: nothing is found, and nothing breaks.
func TestHostile(t *testing.T) {
	g := newGame(t, world.Options{Shards: 1}, 1, space, nil)
	h := g.unit(1, 1, 0)
	g.unit(nan, 1, 0)
	g.unit(1, inf, 0)
	far := g.unit(-1e300, 1e300, 1e300)
	g.Refresh()
	r := g.index.Read(g.World)
	bad := []near.Point{{X: nan}, {Y: nan}, {Z: nan}, {X: inf}, {Y: -inf}}
	for _, p := range bad {
		require.Empty(t, r.AppendWithin(nil, p, 1000))
		require.Empty(t, r.AppendNearest(nil, p, 3, inf))
		require.Empty(t, r.AppendAlong(nil, p, near.Point{}, 1000))
		require.Empty(t, r.AppendAlong(nil, near.Point{}, p, 1000))
	}
	for _, p := range bad[:3] {
		require.Empty(t, r.AppendBox(nil, p, near.Point{X: inf, Y: inf, Z: inf}))
		require.Empty(t, r.AppendBox(nil, near.Point{X: -inf, Y: -inf, Z: -inf}, p))
	}
	for _, radius := range []float64{nan, -1, -inf} {
		require.Empty(t, r.AppendWithin(nil, near.Point{X: 1, Y: 1}, radius))
		require.Empty(t, r.AppendNearest(nil, near.Point{X: 1, Y: 1}, 3, radius))
		require.Empty(t, r.AppendAlong(nil, near.Point{X: 1, Y: 1}, near.Point{}, radius))
	}
	require.Empty(t, r.AppendNearest(nil, near.Point{}, 0, inf))
	require.Empty(t, r.AppendNearest(nil, near.Point{}, math.MinInt, inf))
	require.Equal(t, []handle.Handle{h, far}, handles(r.AppendNearest(nil, near.Point{}, math.MaxInt, inf)))
	require.Len(t, r.AppendWithin(nil, near.Point{}, inf), 2)
	require.Equal(t, []handle.Handle{h}, handles(r.AppendWithin(nil, near.Point{X: 1, Y: 1}, 0)))
	require.Len(t, r.AppendBox(nil, near.Point{X: -inf, Y: -inf, Z: -inf}, near.Point{X: inf, Y: inf, Z: inf}), 2)
	require.Equal(t, []handle.Handle{far}, handles(r.AppendBox(nil, near.Point{X: -1e300, Y: 1e300, Z: 1e300}, near.Point{X: -1e300, Y: 1e300, Z: 1e300})))
	require.NotPanics(t, func() { r.AppendAlong(nil, near.Point{X: -1e300}, near.Point{X: 1e300}, 1e300) })
	kept := r.AppendWithin([]near.Hit{{Handle: far}}, near.Point{X: 1, Y: 1}, 1)
	require.Equal(t, []handle.Handle{far, h}, handles(kept), "what was there stays")
}

// TestMisuse uses an index for another world than its own, and at the wrong time.
func TestMisuse(t *testing.T) {
	g, other := newGame(t, world.Options{}, 1, space, nil), newGame(t, world.Options{}, 1, space, nil)
	require.PanicsWithValue(t, "near: the near.Index of near_test.Position belongs to another world than the reader; use that world's own", func() {
		g.index.Read(other.World)
	})
	require.Panics(t, func() { _, _ = g.NewView(other.index) })
	v, err := g.NewView(g.units)
	require.NoError(t, err)
	f, err := v.Now()
	require.NoError(t, err)
	defer f.Release()
	require.PanicsWithValue(t, "world: Index.Read: \"near.Index of near_test.Position\" is not in the view that the frame is of; name it in World.NewView", func() {
		g.index.Read(f)
	})
	idle := g.index.Read(g.World)
	g.systems = func(c *world.Context, _ *near.Reader, _ *world.Writer[Position], _ *world.Query) {
		require.Panics(t, func() { idle.AppendWithin(nil, near.Point{}, 1) })
		require.Panics(t, func() { g.index.Read(g.World) })
		require.Panics(t, func() { near.New(g.World, Position.point, space) })
	}
	g.step()
	g.Close()
	require.Panics(t, func() { idle.AppendWithin(nil, near.Point{}, 1) })
}

// TestPanic has the function of an index panic: in New, which leaves the world as it was, in Read,
// and in a refresh, which breaks the world.
func TestPanic(t *testing.T) {
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	units := world.NewBundle[Unit](w)
	_, err := units.Create(w, Unit{})
	require.NoError(t, err)
	bad := true
	at := func(p Position) near.Point {
		if bad {
			panic("no place")
		}
		return p.point()
	}
	require.PanicsWithValue(t, "no place", func() { near.New(w, at, space) })
	w.Refresh()
	bad = false
	x := near.New(w, at, space)
	_, err = units.Create(w, Unit{})
	require.NoError(t, err)
	bad = true
	require.PanicsWithValue(t, "no place", func() { x.Read(w) })
	bad = false
	require.Len(t, x.Read(w).AppendWithin(nil, near.Point{}, 1), 2)
	_, err = units.Create(w, Unit{})
	require.NoError(t, err)
	bad = true
	require.Panics(t, w.Refresh)
	require.ErrorIs(t, w.Err(), world.ErrBroken)
	var broken *world.BrokenError
	require.ErrorAs(t, w.Err(), &broken)
	require.Equal(t, []any{`Update of extension "near.Index of near_test.Position"`, "no place"}, []any{broken.During, broken.Value})
}

// TestGoexit ends the goroutine of a refresh in the function of an index.
func TestGoexit(t *testing.T) {
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	bad := false
	near.New(w, func(p Position) near.Point {
		if bad {
			runtime.Goexit()
		}
		return p.point()
	}, space)
	_, err := world.NewBundle[Unit](w).Create(w, Unit{})
	require.NoError(t, err)
	bad = true
	done := make(chan struct{})
	go func() { defer close(done); w.Refresh() }()
	<-done
	require.ErrorIs(t, w.Err(), world.ErrBroken)
}

// TestIdle changes the idle world: Read sees it, and so do systems.
func TestIdle(t *testing.T) {
	g := newGame(t, world.Options{Shards: 2}, 1, space, nil)
	at := func(x, y float64) int { return len(g.index.Read(g.World).AppendWithin(nil, near.Point{X: x, Y: y}, 1)) }
	h := g.unit(5, 5, 0)
	require.Equal(t, 1, at(5, 5))
	world.Write[Position](g.World).Get(h).X = 50
	require.Equal(t, 0, at(5, 5))
	require.Equal(t, 1, at(50, 5))
	world.Write[Position](g.World).Get(h).X = 60
	seen := 0
	g.systems = func(c *world.Context, r *near.Reader, _ *world.Writer[Position], _ *world.Query) {
		if c.Shard() == 0 {
			seen = len(r.AppendWithin(nil, near.Point{X: 60, Y: 5}, 1))
		}
	}
	g.step()
	require.Equal(t, 1, seen)
	g.Destroy(h)
	require.Equal(t, 1, at(60, 5), "who is dying is there until the refresh")
	g.Refresh()
	require.Zero(t, at(60, 5))
	g.Refresh()
	require.Zero(t, at(60, 5))
}

// TestRestored saves a world, and compares what both find, and what is found on other numbers of
// workers.
func TestRestored(t *testing.T) {
	play := func(workers int, restore bool) (all [][]near.Hit) {
		o := world.Options{Shards: 4, Seed: 3}
		g := newGame(t, o, workers, space, nil)
		r := newRand(t, 5)
		for range 20_000 {
			p := place(r)
			g.unit(p.X, p.Y, p.Z)
			if r.IntN(2) == 0 {
				_, err := g.trees.Create(g.World, Tree{Position: place(r)})
				require.NoError(t, err)
			}
		}
		for tick := range 8 {
			var found [4][]near.Hit
			g.systems = func(c *world.Context, read *near.Reader, pos *world.Writer[Position], q *world.Query) {
				to := near.Point{X: float64(c.Shard()) * 20, Y: float64(tick)}
				hits := read.AppendWithin(nil, to, 7)
				hits = read.AppendBox(hits, near.Point{Y: -4}, to)
				hits = read.AppendAlong(hits, near.Point{X: -50}, to, 2)
				found[c.Shard()] = read.AppendNearest(hits, to, 10, 100)
				for i, h := range hits { // what is found decides what happens
					if at := pos.Get(h.Handle); at != nil && (i+tick)%3 == 0 {
						at.X += 3
						if i%9 == 0 {
							_ = world.Move(c, h.Handle, (c.Shard()+1)%4)
						}
					}
				}
			}
			systems := g.systems
			g.step()
			all = append(all, found[:]...)
			if restore && tick == 3 {
				var b bytes.Buffer
				require.NoError(t, snapshot.Write(&b, g.World, snapshot.Options{Scheduler: g.s}))
				g = newGame(t, o, workers, space, nil)
				require.NoError(t, snapshot.Load(&b, g.World, snapshot.Options{Scheduler: g.s}))
				g.systems = systems
			}
		}
		return all
	}
	want := play(1, false)
	require.NotEmpty(t, want[31])
	require.Equal(t, want, play(2, false))
	require.Equal(t, want, play(5, true))
	require.Equal(t, want, play(1, true))
}

// TestFrames holds a frame for 100 ticks, in which everything moves, while goroutines read it.
func TestFrames(t *testing.T) {
	g := newGame(t, world.Options{Shards: 2, FramesMax: 4}, 2, space, nil)
	r := newRand(t, 1)
	for range iterations(5000) {
		p := place(r)
		g.unit(p.X, p.Y, p.Z)
	}
	g.systems = func(_ *world.Context, _ *near.Reader, pos *world.Writer[Position], all *world.Query) {
		for ch := range all.Chunks() {
			for i := range pos.Slice(ch) {
				pos.Slice(ch)[i].X += 0.5
			}
		}
	}
	view, err := g.NewView()
	require.NoError(t, err)
	held, err := view.Now()
	require.NoError(t, err)
	defer held.Release()
	read := g.index.Read(held)
	want := read.AppendWithin(nil, near.Point{}, 40)
	require.NotEmpty(t, want)
	over := make(chan struct{})
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if !slices.Equal(want, read.AppendWithin(nil, near.Point{}, 40)) {
					t.Error("a frame that is held is another")
					return
				}
			}
		})
		all.Go(func() {
			for {
				f, err := view.Capture(t.Context())
				if err != nil {
					return
				}
				pos := world.Read[Position](f)
				n := 0
				for ch := range f.Query(pos).Chunks() {
					for _, p := range pos.Slice(ch) {
						if p.X >= -10 && p.X <= 10 {
							n++
						}
					}
				}
				if got := len(g.index.Read(f).AppendBox(nil, near.Point{X: -10, Y: -inf, Z: -inf}, near.Point{X: 10, Y: inf, Z: inf})); got != n {
					t.Errorf("a frame finds %d, its rows are %d", got, n)
				}
				f.Release()
			}
		})
	}
	for range 100 {
		g.step()
	}
	close(over)
	g.Close()
	all.Wait()
}

// TestAllocates finds that ticks allocate nothing for an index once it is warm, nor queries.
func TestAllocates(t *testing.T) {
	if check.Enabled {
		t.Skip("the check build moves at each refresh what was handed out")
	}
	for name, moving := range map[string]int{"all": 1, "some": 40} {
		t.Run(name, func(t *testing.T) {
			g := newGame(t, world.Options{Shards: 2}, 1, space, nil)
			r := newRand(t, 1)
			for range 20_000 {
				p := place(r)
				g.unit(p.X, p.Y, p.Z)
			}
			hits := make([]near.Hit, 0, 20_000)
			g.systems = func(_ *world.Context, read *near.Reader, pos *world.Writer[Position], all *world.Query) {
				n := 0
				for ch := range all.Chunks() {
					if n++; n%moving == 0 || n == 1 {
						for i := range pos.Slice(ch) {
							pos.Slice(ch)[i].X = -pos.Slice(ch)[i].X
						}
					}
				}
				read.AppendWithin(hits, near.Point{}, 20)
				read.AppendBox(hits, near.Point{}, near.Point{X: 20, Y: 20})
				read.AppendAlong(hits, near.Point{}, near.Point{X: 20, Y: 20}, 2)
				read.AppendNearest(hits, near.Point{}, 20, inf)
			}
			step := func() { _ = g.s.Step(context.Background()) }
			for range 20 {
				step()
			}
			require.Zero(t, allocs.Least(10, step))
		})
	}
}
