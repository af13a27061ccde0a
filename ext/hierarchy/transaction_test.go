package hierarchy_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/world"
)

// doingIn registers a transaction that runs code.
func (f *fixture) doingIn() *world.Transaction[func(*world.Tx) error, int] {
	return world.RegisterTransaction(f.World, "do", func(tx *world.Tx, run func(*world.Tx) error) (int, error) { return 0, run(tx) })
}

// TestTransactionTooLarge has a transaction touch a list that is larger than what it may keep, in a
// relation that does not grow by itself: lists then still give back their buckets.
func TestTransactionTooLarge(t *testing.T) {
	f := newFixture(t, 1, hierarchy.Options{Places: 4, PlacesMax: 1 << 20, OnChildDeath: hierarchy.Hole, Memory: hierarchy.Memory{
		Buckets: []int{4, 1 << 18}, ManualGrowth: true, Reserve: hierarchy.Room{Entities: 100, Parents: 10, Buckets: []int{4, 1}},
	}})
	do, hs := f.doingIn(), f.make(2)
	require.NoError(t, f.rel.SetPlaces(f.World, hs[0], 200_000))
	_, err := do.Run(f.World, func(tx *world.Tx) error { return f.rel.RemoveHoles(tx, hs[0]) })
	require.ErrorIs(t, err, world.ErrTx)
	require.False(t, f.rel.KeepsCapacity())
}

// TestTransactionDropsFull has a transaction that fails drop a list and use up its room, in a relation
// that does not grow by itself: each list has what it had.
func TestTransactionDropsFull(t *testing.T) {
	failed := errors.New("failed")
	f := newFixture(t, 1, hierarchy.Options{Memory: hierarchy.Memory{
		Buckets: []int{4, 8}, ManualGrowth: true, Reserve: hierarchy.Room{Entities: 1000, Parents: 4, Buckets: []int{4, 0}},
	}})
	do, hs := f.doingIn(), f.make(900)
	parents, next := []handle.Handle{}, 0
	for {
		if err := f.rel.AddChild(f.World, hs[next], hs[next+1]); err != nil {
			require.ErrorIs(t, err, hierarchy.ErrRoom)
			break
		}
		parents, next = append(parents, hs[next]), next+2
	}
	require.NotEmpty(t, parents)
	before := f.rel.AppendState(nil)
	_, err := do.Run(f.World, func(tx *world.Tx) error {
		r := f.rel.Read(tx)
		require.NoError(t, f.rel.RemoveChild(tx, r.Children(parents[0])[0], hierarchy.Close))
		if err := f.rel.Remove(tx, parents[0]); err != nil {
			require.ErrorIs(t, err, hierarchy.ErrAbsent)
		}
		require.NoError(t, f.rel.AddChild(tx, hs[next], hs[next+1]))
		return failed
	})
	require.Equal(t, failed, err)
	f.sound()
	require.Equal(t, before, f.rel.AppendState(nil))
	require.ErrorIs(t, f.rel.AddChild(f.World, hs[next], hs[next+1]), hierarchy.ErrRoom)
}

// TestTransactionReaderKept reads by the Reader of a transaction that has returned.
func TestTransactionReaderKept(t *testing.T) {
	if !check.Enabled {
		t.Skip("the check build finds it")
	}
	f := newFixture(t, 1, hierarchy.Options{})
	do, hs := f.doingIn(), f.make(2)
	var kept *hierarchy.Reader
	_, err := do.Run(f.World, func(tx *world.Tx) error {
		kept = f.rel.Read(tx)
		require.NoError(t, f.rel.AddChild(tx, hs[0], hs[1]))
		require.Len(t, kept.Children(hs[0]), 1)
		return nil
	})
	require.NoError(t, err)
	require.PanicsWithValue(t, `world: a hierarchy.Reader of a Tx after transaction "do" returned; a Tx is for the running transaction alone`,
		func() { kept.Children(hs[0]) })
}

// TestTransactionDropsMany has transactions that fail change many lists, each several times: each list
// has what it had. Now and then one succeeds.
func TestTransactionDropsMany(t *testing.T) {
	failed := errors.New("failed")
	f := newFixture(t, 2, hierarchy.Options{OnParentDeath: hierarchy.Grandparent})
	dice := rand.New(rand.NewPCG(seed.Of(t), 0))
	do, hs := f.doingIn(), f.make(60)
	for n := range 400 {
		before := f.rel.AppendState(nil)
		_, err := do.Run(f.World, func(tx *world.Tx) error {
			for range dice.IntN(120) {
				a, b := hs[dice.IntN(len(hs))], hs[dice.IntN(len(hs))]
				switch dice.IntN(6) {
				case 0:
					_ = f.rel.RemoveChild(tx, a, hierarchy.Gap(dice.IntN(3)))
				case 1:
					_ = f.rel.Remove(tx, a)
				case 2:
					_ = f.rel.Swap(tx, a, b)
				default:
					_ = f.rel.MoveAt(tx, a, b, dice.IntN(4))
				}
			}
			if n%8 == 0 {
				return nil
			}
			return failed
		})
		if f.sound(); err != nil {
			require.Equal(t, failed, err)
			require.Equal(t, before, f.rel.AppendState(nil))
		}
	}
}
