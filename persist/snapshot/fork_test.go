package snapshot_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

func (x *sea) capture() *snapshot.Captured {
	x.t.Helper()
	c, err := snapshot.Capture(x.World, x.options)
	require.NoError(x.t, err)
	return c
}

// fork makes a world of what was captured of x.
func (x *sea) fork(c *snapshot.Captured, workers int) *sea {
	x.t.Helper()
	y := newSea(x.t, options(), workers)
	require.NoError(x.t, c.Load(y.World, y.options))
	y.known = slices.Clone(x.known)
	return y
}

// TestFork captures a world now and then, and goes back to all of that: forks go on as the world
// did, those of other numbers of workers and forks of forks too.
func TestFork(t *testing.T) {
	seed := seed.Of(t)
	dice := rand.New(rand.NewPCG(seed, 0))
	x := newSea(t, options(), 2)
	for n, workers := range []int{1, 5} {
		x.openPorts()
		for range 3 {
			x.send(dice, 60)
			x.meddle(dice, 10)
			x.step()
		}
		x.closePorts()
		x.meddle(dice, n%2*60)
		want, clock, image, known := x.sections(), x.clock, x.save(), slices.Clone(x.known)
		c := x.capture()
		one := x.fork(c, workers)
		again := one.capture()
		var file, other bytes.Buffer
		require.NoError(t, c.Write(&file))
		require.NoError(t, again.Write(&other))
		require.Equal(t, file.Bytes(), other.Bytes())
		two, three := one.fork(again, 3), x.fork(c, 2)
		for _, y := range []*sea{one, two, three} {
			require.Equal(t, want, y.sections())
			require.Equal(t, clock, y.clock)
			require.Equal(t, image, y.save())
		}
		mustGoOn(t, x, one, seed|1) // without ports: those of the world have other numbers
		mustGoOn(t, two, three, seed&^1)
		back := x.fork(c, 2)
		require.Equal(t, want, back.sections(), "whatever the world and its forks did")
		x.closePorts()
		c.Release()
		again.Release()
		require.ErrorIs(t, c.Load(newSea(t, options(), 1).World, x.options), world.ErrClosed)
		if n == 0 {
			x, back.known = back, known // what was given later is for nobody here, yet
		}
	}
}

// TestForksTick ticks a world and its forks at once, each with its own inputs, while more forks are
// loaded from the same: nothing of one shows in another.
func TestForksTick(t *testing.T) {
	x := newSea(t, options(), 2)
	x.openPorts()
	dice := rand.New(rand.NewPCG(1, 0))
	for range 4 {
		x.send(dice, 60)
		x.meddle(dice, 10)
		x.step()
	}
	x.closePorts()
	c := x.capture()
	want := x.sections()
	from := &sea{t: t, known: slices.Clone(x.known)}
	run := func(y *sea, seed uint64) []string {
		dice := rand.New(rand.NewPCG(seed, 0))
		y.openPorts()
		for range 3 {
			y.send(dice, 30*int(seed)) // those of the world have other numbers
			y.meddle(dice, 10)
			y.step()
		}
		y.closePorts()
		return y.sections()
	}
	var ends [4][]string
	var all sync.WaitGroup
	for i := range ends {
		all.Go(func() {
			if i == 0 {
				ends[i] = run(x, 0)
			} else {
				y := from.fork(c, 1+i%2)
				ends[i] = run(y, uint64(i/2)) // the second is given what the world is
			}
		})
	}
	all.Wait()
	require.Equal(t, ends[0], ends[1])
	require.Equal(t, ends[2], ends[3])
	require.NotEqual(t, ends[0], ends[2])
	require.Equal(t, want, x.fork(c, 1).sections())
}

// TestRing goes back to the oldest of a ring of captured ticks.
func TestRing(t *testing.T) {
	o := options()
	o.FramesMax = 4
	x := newSea(t, o, 1)
	dice := rand.New(rand.NewPCG(2, 0))
	var ring []*snapshot.Captured
	var was [][]string
	for range 9 {
		if len(ring) == o.FramesMax {
			ring[0].Release()
			ring, was = ring[1:], was[1:]
		}
		ring, was = append(ring, x.capture()), append(was, x.sections())
		x.meddle(dice, 40)
		x.step()
	}
	for i, c := range ring {
		y := newSea(t, o, 2)
		require.NoError(t, c.Load(y.World, y.options))
		require.Equal(t, was[i], y.sections())
		require.EqualValues(t, 5+i, y.Tick())
	}
	x.Close()
	y := newSea(t, o, 1)
	require.NoError(t, ring[3].Load(y.World, y.options), "a world that is closed can be gone back to")
	require.Equal(t, was[3], y.sections())
}

// TestRingAllocates captures ticks that write all rows: when the ring is full, and has gone round,
// their copies are made in the memory of those that were released.
func TestRingAllocates(t *testing.T) {
	if check.Enabled {
		t.Skip("rows are moved at each refresh")
	}
	w := world.MustNew(world.Options{Shards: 1, FramesMax: 8})
	world.Register[Place](w, "place")
	world.Register[Motion](w, "motion")
	world.Register[Life](w, "life")
	const agents = 8192
	require.NoError(t, world.NewBundle[Agent](w).CreateN(w, agents, nil))
	place, motion, life := world.Write[Place](w), world.Write[Motion](w), world.Write[Life](w)
	var ring [8]*snapshot.Captured
	tick := func(i int) {
		for ch := range w.Query().Chunks() {
			place.Slice(ch)[0].X++
			motion.Slice(ch)[0].X++
			life.Slice(ch)[0].Points++
		}
		w.Refresh()
		if ring[i%8] != nil {
			ring[i%8].Release()
		}
		var err error
		ring[i%8], err = snapshot.Capture(w, snapshot.Options{})
		require.NoError(t, err)
	}
	for i := range 32 {
		tick(i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range 16 {
		tick(i)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, int(after.TotalAlloc-before.TotalAlloc)/16, 48*agents/2, "bytes for each tick: slots, and what is small")
}

type (
	cloned  struct{ Items []int }
	coded   struct{ Items []int }
	renamed struct{ A, B int32 }
	paired  struct{ A, B int32 }
)

// TestForkShares looks at what components hold behind pointers: it is that of one world.
func TestForkShares(t *testing.T) {
	clones := 0
	make := func() (*world.World, *world.Bundle[struct {
		cloned
		coded
	}]) {
		w := world.MustNew(world.Options{})
		world.Register[cloned](w, "cloned").CloneBy(func(to, from *cloned) {
			clones++
			to.Items = append(to.Items[:0], from.Items...)
		})
		world.Register[coded](w, "coded")
		return w, world.NewBundle[struct {
			cloned
			coded
		}](w)
	}
	o := snapshot.Options{Workers: 1}
	w, b := make()
	h, err := b.Create(w, struct {
		cloned
		coded
	}{cloned{[]int{1}}, coded{[]int{1}}})
	require.NoError(t, err)
	c, err := snapshot.Capture(w, o)
	require.NoError(t, err)
	require.Equal(t, 1, clones)
	one, _ := make()
	require.NoError(t, c.Load(one, o))
	two, _ := make()
	require.NoError(t, c.Load(two, o))
	require.Equal(t, 3, clones)
	for i, w := range []*world.World{w, one, two} {
		world.Write[cloned](w).Get(h).Items[0] += i + 1
		world.Write[coded](w).Get(h).Items[0] += i + 1
	}
	for i, w := range []*world.World{w, one, two} {
		require.Equal(t, []int{i + 2}, world.Read[cloned](w).Get(h).Items)
		require.Equal(t, []int{i + 2}, world.Read[coded](w).Get(h).Items)
	}
	three, _ := make()
	require.NoError(t, c.Load(three, o))
	require.Equal(t, []int{1}, world.Read[cloned](three).Get(h).Items)
	require.Equal(t, []int{1}, world.Read[coded](three).Get(h).Items)
}

// TestForkOther forks into worlds in which something has another number or type, or is not there.
func TestForkOther(t *testing.T) {
	type both struct {
		renamed
		Extra
	}
	w := world.MustNew(world.Options{})
	world.Register[renamed](w, "pair")
	world.Register[Extra](w, "extra")
	h, err := world.NewBundle[both](w).Create(w, both{renamed{1, 2}, Extra{3}})
	require.NoError(t, err)
	c, err := snapshot.Capture(w, snapshot.Options{})
	require.NoError(t, err)

	x := world.MustNew(world.Options{})
	world.Register[Extra](x, "extra")
	world.Register[paired](x, "pair")
	require.NoError(t, c.Load(x, snapshot.Options{}))
	require.Equal(t, paired{1, 2}, *world.Read[paired](x).Get(h))
	require.Equal(t, Extra{3}, *world.Read[Extra](x).Get(h))
	require.ErrorIs(t, c.Load(x, snapshot.Options{}), snapshot.ErrNotNew)
	require.NoError(t, x.Err())

	type wide struct{ M, N int64 }
	y := world.MustNew(world.Options{})
	world.Register[wide](y, "wide")
	world.Register[paired](y, "pair")
	require.NoError(t, c.Load(y, snapshot.Options{Changes: []snapshot.Change{snapshot.Renamed("extra", "wide")}}))
	require.Equal(t, wide{0, 3}, *world.Read[wide](y).Get(h))
	y = world.MustNew(world.Options{})
	world.Register[paired](y, "pair")
	require.ErrorContains(t, c.Load(y, snapshot.Options{Changes: []snapshot.Change{snapshot.Dropped("extra")}}), "load what Captured.Write writes")
	require.NoError(t, y.Err())

	empty := world.MustNew(world.Options{})
	err = c.Load(empty, snapshot.Options{})
	require.ErrorIs(t, err, snapshot.ErrOtherWorld)
	require.ErrorContains(t, err, `component "pair": is not in this world`)
	require.ErrorIs(t, c.Load(world.MustNew(world.Options{Seed: 1}), snapshot.Options{}), snapshot.ErrOtherWorld)
	require.PanicsWithValue(t, "snapshot: Captured.Load with a nil World; pass one of world.New", func() { _ = c.Load(nil, snapshot.Options{}) })
	empty.Close()
	require.ErrorIs(t, c.Load(empty, snapshot.Options{}), world.ErrClosed)
}

// TestForkPanics breaks the fork whose CloneBy panics, or ends its goroutine, and that alone.
func TestForkPanics(t *testing.T) {
	var fail error
	var end bool
	make := func() *world.World {
		w := world.MustNew(world.Options{})
		world.Register[cloned](w, "cloned").CloneBy(func(to, from *cloned) {
			if end {
				runtime.Goexit()
			}
			if fail != nil {
				panic(fail)
			}
			to.Items = slices.Clone(from.Items)
		})
		return w
	}
	w := make()
	var hs []handle.Handle
	hs, err := world.NewBundle[struct{ cloned }](w).AppendN(hs, w, 50, nil)
	require.NoError(t, err)
	c, err := snapshot.Capture(w, snapshot.Options{})
	require.NoError(t, err)
	fail = errors.New("no copy")
	x := make()
	require.PanicsWithError(t, "no copy", func() { _ = c.Load(x, snapshot.Options{}) })
	require.ErrorIs(t, x.Err(), world.ErrBroken)
	end = true
	err = c.Load(make(), snapshot.Options{Workers: 3})
	require.ErrorContains(t, err, "a function has ended its goroutine, by runtime.Goexit")
	fail, end = nil, false
	y := make()
	require.NoError(t, c.Load(y, snapshot.Options{}))
	require.True(t, y.Alive(hs[49]))
	mine, err := state.StateHash(w, nil)
	require.NoError(t, err)
	theirs, err := state.StateHash(y, nil)
	require.NoError(t, err)
	require.Equal(t, mine, theirs)
}
