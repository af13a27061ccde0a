package names_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// now captures a frame.
func (f *fixture) now(of ...world.Viewable) *world.Frame {
	f.t.Helper()
	view, err := f.NewView(of...)
	require.NoError(f.t, err)
	frame, err := view.Now()
	require.NoError(f.t, err)
	return frame
}

// naiveDiff is Reader.Diff by looking at every entity.
func naiveDiff(is, was *names.Reader[string], all []handle.Handle) (diff []names.Renamed[string]) {
	for _, h := range all {
		x := names.Renamed[string]{Entity: h}
		x.From, x.Was = was.NameOf(h)
		if x.To, x.Is = is.NameOf(h); x.From != x.To || x.Was != x.Is {
			diff = append(diff, x)
		}
	}
	slices.SortFunc(diff, func(a, b names.Renamed[string]) int { return a.Entity.Compare(b.Entity) })
	return diff
}

// TestDiff compares each two of three frames, both ways, of names that change in every way.
func TestDiff(t *testing.T) {
	f, r := newFixture(t, 3, names.Options{}), rand.New(rand.NewPCG(4, 4))
	all := f.make(1000)
	var held []*world.Frame
	found := 0
	for n := range iterations(200) {
		for range r.IntN(20) {
			h := all[r.IntN(len(all))]
			_ = f.names.Unbind(f.World, h)
			_ = f.names.Bind(f.World, h, fmt.Sprint(r.IntN(len(all)))) // at times that which it had
			_ = f.names.Bind(f.World, all[r.IntN(len(all))], fmt.Sprint(r.IntN(len(all))))
			_ = f.names.Unbind(f.World, all[r.IntN(len(all))])
		}
		if r.IntN(3) == 0 {
			f.World.Destroy(all[r.IntN(len(all))])
			all = append(all, f.make(1)...)
			f.Refresh()
		}
		held = append(held, f.now(f.names))
		for _, a := range held {
			for _, b := range held {
				is, was := f.names.Read(a), f.names.Read(b)
				want := naiveDiff(is, was, all)
				require.Equal(t, want, is.Diff(was), "turn %d", n)
				found += len(want)
			}
		}
		if len(held) == 3 {
			i := r.IntN(3)
			held[i].Release()
			held = slices.Delete(held, i, i+1)
		}
	}
	require.Greater(t, found, iterations(1000))
}

// TestDiffTogether compares two frames by several goroutines, with the same Readers, while names
// change.
func TestDiffTogether(t *testing.T) {
	f := newFixture(t, 1, names.Options{})
	h := f.make(2)
	before := f.now(f.names)
	require.NoError(t, f.names.Bind(f.World, h[0], ""))
	after := f.now(f.names)
	was, is := f.names.Read(before), f.names.Read(after)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 50 {
				if !slices.Equal(is.Diff(was), []names.Renamed[string]{{Entity: h[0], Is: true}}) {
					t.Error("one has a name now")
				}
			}
		})
	}
	for i := range 30 {
		require.NoError(t, f.names.Bind(f.World, h[1], fmt.Sprint(i)))
		f.now(f.names).Release()
		f.Refresh()
	}
	all.Wait()
}

// TestDiffRefuses compares what cannot be compared.
func TestDiffRefuses(t *testing.T) {
	f := newFixture(t, 1, names.Options{})
	others := names.New[string](f.World, "others", names.Options{})
	frame := f.now()
	read := f.names.Read(frame)
	const want = "names: Reader.Diff needs two Readers of frames; pass a world.Frame to Names.Read"
	require.PanicsWithValue(t, want, func() { read.Diff(f.names.Read(f.World)) })
	require.PanicsWithValue(t, want, func() { f.names.Read(f.World).Diff(read) })
	require.PanicsWithValue(t, `names: Reader.Diff of "names" and "others"; compare frames of one`, func() { read.Diff(others.Read(frame)) })
	require.Empty(t, read.Diff(read))
	frame.Release()
	require.PanicsWithValue(t, "world: Reader.Diff of a Frame that was released; release it after its last use", func() { read.Diff(read) })
}

// BenchmarkDiff compares frames of 100,000 names of which none, one or all have changed.
func BenchmarkDiff(b *testing.B) {
	for _, changed := range []int{0, 1, 100_000} {
		b.Run(fmt.Sprint(changed), func(b *testing.B) {
			n := 100_000
			if testing.Short() {
				n, changed = 1000, min(changed, 1000)
			}
			f := newFixture(b, 1, names.Options{})
			all := f.make(n)
			for i, h := range all {
				require.NoError(b, f.names.Bind(f.World, h, fmt.Sprint(i)))
			}
			was := f.names.Read(f.now(f.names))
			for i, h := range all[:changed] {
				require.NoError(b, f.names.Bind(f.World, h, fmt.Sprint("new ", i)))
			}
			is := f.names.Read(f.now(f.names))
			for b.Loop() {
				if len(is.Diff(was)) != changed {
					b.Fatal("not all")
				}
			}
		})
	}
}
