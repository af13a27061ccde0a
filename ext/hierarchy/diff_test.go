package hierarchy_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// naiveDiff is Reader.Diff by looking at every entity.
func naiveDiff(is, was *hierarchy.Reader, all []handle.Handle) (moved []hierarchy.Moved) {
	at := func(r *hierarchy.Reader, h handle.Handle) hierarchy.Position {
		place, _ := r.Place(h)
		return hierarchy.Position{Parent: r.Parent(h), Place: place}
	}
	for _, h := range all {
		if from, to := at(was, h), at(is, h); from != to {
			moved = append(moved, hierarchy.Moved{Child: h, From: from, To: to})
		}
	}
	slices.SortFunc(moved, func(a, b hierarchy.Moved) int { return a.Child.Compare(b.Child) })
	return moved
}

// TestDiff compares each two of three frames, both ways, of relations that change in every way, are
// loaded, or are in no frame for a while.
func TestDiff(t *testing.T) {
	f := newFixture(t, 3, hierarchy.Options{OnParentDeath: hierarchy.Grandparent})
	family := hierarchy.New(f.World, "family", hierarchy.Options{OnChildDeath: hierarchy.Swap})
	k := &kin{f, family, newRand(t, 9), f.make(5000)}
	p := f.port()
	for i := range 3000 {
		_ = f.rel.AddChild(f.World, k.all[i/7], k.all[i+1000])
	}
	var held []*world.Frame
	found := 0
	for n := range iterations(100) {
		for range k.rand.IntN(3) {
			k.scatter(p)
			f.Refresh()
		}
		switch n % 25 {
		case 7:
			require.NoError(t, f.rel.Load(f.rel.Save(nil)))
		case 19:
			for len(held) > 0 {
				held[0].Release()
				held = held[1:]
			}
			for range 70 {
				f.Refresh()
			}
		}
		held = append(held, f.now(f.rel, family))
		for _, rel := range []*hierarchy.Relation{f.rel, family} {
			for _, a := range held {
				for _, b := range held {
					is, was := rel.Read(a), rel.Read(b)
					want := naiveDiff(is, was, k.all)
					require.Equal(t, want, is.Diff(was), "%s, turn %d", rel.Name(), n)
					found += len(want)
				}
			}
		}
		if len(held) == 3 {
			i := k.rand.IntN(3)
			held[i].Release()
			held = slices.Delete(held, i, i+1)
		}
	}
	require.Greater(t, found, iterations(1000))
}

// TestDiffManyParents compares frames between which the number of parents made all links others.
func TestDiffManyParents(t *testing.T) {
	f := newFixture(t, 1, hierarchy.Options{})
	h := f.make(5000)
	f.add(h[0], h[1:3000]...)
	before := f.now(f.rel)
	f.rel.Divide(12)
	f.add(h[3001], h[3002])
	after := f.now(f.rel)
	require.Equal(t, []hierarchy.Moved{{Child: h[3002], To: hierarchy.Position{Parent: h[3001]}}}, f.rel.Read(after).Diff(f.rel.Read(before)))
}

// TestDiffTogether compares two frames by several goroutines, with the same Readers, while the
// relation changes.
func TestDiffTogether(t *testing.T) {
	f := newFixture(t, 2, hierarchy.Options{})
	h := f.make(2000)
	f.add(h[0], h[1:]...)
	before := f.now(f.rel)
	require.NoError(t, f.rel.Move(f.World, h[1999], h[1]))
	after := f.now(f.rel)
	was, is := f.rel.Read(before), f.rel.Read(after)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 50 {
				if len(is.Diff(was)) != 1 {
					t.Error("one has moved")
				}
			}
		})
	}
	for i := range 30 {
		require.NoError(t, f.rel.Move(f.World, h[i+10], h[5]))
		f.now(f.rel).Release()
		f.Refresh()
	}
	all.Wait()
}

// TestDiffRefuses compares what cannot be compared.
func TestDiffRefuses(t *testing.T) {
	f, other := newFixture(t, 1, hierarchy.Options{}), newFixture(t, 1, hierarchy.Options{})
	family := hierarchy.New(f.World, "family", hierarchy.Options{})
	frame := f.now(f.rel, family)
	read := f.rel.Read(frame)
	for _, x := range []*hierarchy.Reader{f.read, hierarchy.NewTree(hierarchy.Memory{}).Read()} {
		const want = "hierarchy: Reader.Diff needs two Readers of frames; pass a world.Frame to Relation.Read"
		require.PanicsWithValue(t, want, func() { x.Diff(read) })
		require.PanicsWithValue(t, want, func() { read.Diff(x) })
	}
	require.PanicsWithValue(t, `hierarchy: Reader.Diff of relations "relation" and "family"; compare frames of one`, func() { read.Diff(family.Read(frame)) })
	require.Panics(t, func() { read.Diff(other.rel.Read(other.now(other.rel))) })
	require.Empty(t, read.Diff(read))
	frame.Release()
	require.PanicsWithValue(t, "world: Reader.Diff of a Frame that was released; release it after its last use", func() { read.Diff(read) })
}

// BenchmarkDiff compares frames of 100,000 links between which none, one or all have changed.
func BenchmarkDiff(b *testing.B) {
	for _, x := range []struct {
		name    string
		changed int
	}{{"unchanged", 0}, {"one", 1}, {"all", 1 << 30}} {
		b.Run(x.name, func(b *testing.B) {
			if check.Enabled && x.changed > 1 {
				b.Skip("slow")
			}
			f, all := linked(b, 100_000)
			parents := len(all) / 11
			was := f.rel.Read(f.now(f.rel))
			n := min(x.changed, len(all)-parents)
			for i, child := range all[parents:][:n] {
				_ = f.rel.Move(f.World, child, all[(i+1)%parents])
			}
			is := f.rel.Read(f.now(f.rel))
			for b.Loop() {
				if moved := is.Diff(was); len(moved) < n {
					b.Fatalf("%d of %d", len(moved), n)
				}
			}
		})
	}
}

// TestDiffParents compares frames between which entities moved that are parents themselves: their
// nodes say nothing of it.
func TestDiffParents(t *testing.T) {
	f := newFixture(t, 1, hierarchy.Options{})
	h := f.make(5)
	f.add(h[0], h[1], h[2])
	f.add(h[1], h[3])
	f.add(h[2], h[4])
	before := f.now(f.rel)
	require.NoError(t, f.rel.Swap(f.World, h[1], h[2]))
	after := f.now(f.rel)
	first, second := hierarchy.Position{Parent: h[0]}, hierarchy.Position{Parent: h[0], Place: 1}
	require.Equal(t, []hierarchy.Moved{{h[1], first, second}, {h[2], second, first}}, f.rel.Read(after).Diff(f.rel.Read(before)))
}
