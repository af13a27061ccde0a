package wheel

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/seed"
)

// entriesOf returns the indexes of an entity's entries, by what FirstOf and NextOf say.
func entriesOf(w *Wheel, h handle.Handle) (all []int) {
	for i := w.FirstOf(h); i >= 0; i = w.NextOf(i) {
		all = append(all, i)
	}
	return all
}

// TestKin changes wheels at random, undoes some of it, and finds the entries of entities: as many as
// there are, and timers of one tick in the order of their slot.
func TestKin(t *testing.T) {
	dice := rand.New(rand.NewPCG(seed.Of(t), 0))
	for range 60 {
		w := New[int]()
		whom := func() handle.Handle { return handle.Handle(1 + dice.IntN(20)) }
		begin := []int{0, 0, 200, 2_000}[dice.IntN(4)] // when somebody asks first
		tick, set := uint64(1), func() []int {
			var all []int
			w.Each(0, func(index int, _ ID) { all = append(all, index) })
			return all
		}
		var undos []Undo
		for step := range 3_000 {
			all := set()
			if len(all) > 300 {
				all = all[:10]
			}
			switch n := dice.IntN(10); {
			case n < 4:
				if w.Still {
					undos = append(undos, w.BeforeAdd())
				}
				index, _ := w.Add(0, whom(), tick+1+uint64(dice.IntN(40)), tick, 0)
				if w.Still {
					undos[len(undos)-1].index = index
				}
			case n < 6 && len(all) > 0:
				index := all[dice.IntN(len(all))]
				if w.Still {
					undos = append(undos, w.Before(index))
				}
				if w.Unset(index); n == 4 {
					w.Release(index)
				} else {
					w.Set(index, tick+1+uint64(dice.IntN(40)), tick)
				}
			case n == 6:
				w.Still = true
			case n == 7 && w.Still:
				if dice.IntN(2) == 0 {
					for i := len(undos) - 1; i >= 0; i-- {
						w.Undo(undos[i])
					}
				}
				undos = undos[:0]
				w.Calm()
			case n == 8 && !w.Still:
				tick++
				w.Collect(0, tick, func(h handle.Handle) int32 { return int32(h%7) - 1 })
			}
			if step < begin || dice.IntN(10) > 0 {
				continue
			}
			byEntity := map[handle.Handle][]int{}
			w.Each(0, func(index int, _ ID) { byEntity[w.At(index).To] = append(byEntity[w.At(index).To], index) })
			for h := range handle.Handle(22) {
				got := entriesOf(&w.Wheel, h)
				slices.SortStableFunc(got, func(a, b int) int {
					return int(w.At(a).due%uint64(len(w.slots))) - int(w.At(b).due%uint64(len(w.slots)))
				})
				require.Equal(t, byEntity[h], got)
			}
		}
	}
}
