package hierarchy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
)

// TestGrowthCopiesNothing: lists stay where they are while others come, small and large ones.
func TestGrowthCopiesNothing(t *testing.T) {
	const lists = 2000
	x := hierarchy.NewTree(hierarchy.Memory{})
	at := map[handle.Handle]*handle.Handle{}
	for i := range lists {
		parent := h(i)
		n := 4
		if i%100 == 0 {
			n = 5000 << (i / 100 % 5)
		}
		require.NoError(t, x.SetPlaces(parent, n))
		require.NoError(t, x.Put(h(lists+i), parent, n-1, hierarchy.Hole))
		at[parent] = &x.Read().Children(parent)[0]
	}
	for parent, was := range at {
		require.Same(t, was, &x.Read().Children(parent)[0], "%v", parent)
	}
	require.NoError(t, x.Verify())
	held, live := x.Words()
	require.LessOrEqual(t, held, live+live/4)
}

// TestSweep: where many lists were left, and others grow, what they had is given back, in small
// parts. What is in the tree stays.
func TestSweep(t *testing.T) {
	if check.Enabled {
		t.Skip("one goroutine does this, and it takes long with the checks")
	}
	const lists = 50_000
	for _, bits := range []uint64{6, 10, 14} {
		x := hierarchy.NewTree(hierarchy.Memory{})
		x.ArenaWords(bits)
		child := lists
		add := func(parent, n int) {
			for range n {
				require.NoError(t, x.AddChild(h(parent), h(child)))
				child++
			}
		}
		for i := range lists {
			add(i, 3)
		}
		most, _ := x.Words()
		for i := range lists {
			if i%10 > 0 {
				require.NoError(t, x.RemoveBranch(h(i), hierarchy.Close))
			}
		}
		sweeps := 0
		for i := 0; i < lists; i += 10 {
			add(i, 9)
			if x.Sweeping() {
				sweeps++
			}
		}
		held, live := x.Words()
		t.Logf("sectors of 1<<%d: %d words at most, then %d for %d; sweeping in %d of %d steps", bits, most, held, live, sweeps, lists/10)
		require.NotZero(t, sweeps)
		require.Less(t, held, live*3/2+1<<bits)
		require.NoError(t, x.Verify())
		for i := 0; i < lists; i += 10 {
			require.Len(t, x.Read().Children(h(i)), 12)
		}
		_, last := x.Sectors()
		for i := range 2 * lists {
			add(i%10*10, 1)
		}
		used, now := x.Sectors()
		require.Less(t, now, last+used, "sectors are used again")
	}
}

// TestSweepEnds: a sweep that nothing drives on ends with some refreshes, and with a Save.
func TestSweepEnds(t *testing.T) {
	f := newFixture(t, 1, hierarchy.Options{})
	all := f.make(60_000)
	grow := func(from, to int) {
		for i := from; i < to; i++ {
			f.add(all[i%20_000], all[20_000+i])
		}
	}
	grow(0, 20_000*2)
	for i := 20_000; i < 20_000*3; i++ {
		if (i-20_000)%20_000%4 > 0 {
			require.NoError(t, f.rel.RemoveChild(f.World, all[i], hierarchy.Close))
		}
	}
	sweep := func() {
		for n := 1; !f.rel.Sweeping(); n++ {
			require.NoError(t, f.rel.SetPlaces(f.World, all[1+n%10_000*4%19_000], 100+n%3))
		}
	}
	sweep()
	f.sound()
	n := 0
	for ; f.rel.Sweeping(); n++ {
		f.Refresh()
	}
	require.Less(t, n, 20)
	f.sound()
}

// TestLayoutIsNothing: the same changes mean the same, and take as many steps, whatever the sectors
// are, and whether or not the tree was saved or its memory moved in between.
func TestLayoutIsNothing(t *testing.T) {
	for seed := range uint64(iterations(20)) {
		o := hierarchy.Memory{KeepCapacity: seed%2 == 1, Buckets: []int{1, 2, 3, 4, 12}}
		a, b := newPair(t, seed, o, 30), newPair(t, seed, o, 30)
		b.tree.ArenaWords(4 + (seed+5)%11)
		for i := range 1000 {
			a.step()
			b.step()
			require.Equal(t, a.tree.Steps(), b.tree.Steps())
			switch i % 50 {
			case 10:
				a.tree.Settle()
				b.tree.Save(nil)
			case 20:
				b.tree.Reserve(hierarchy.Room{Entities: 1, Buckets: []int{1}})
			case 30:
				a.tree.Settle()
				require.NoError(t, b.tree.Load(b.tree.Save(nil))) // which counts from 0 on
				b.tree.AddSteps(a.tree.Steps())
			}
		}
		require.Equal(t, a.tree.AppendState(nil), b.tree.AppendState(nil))
	}
}
