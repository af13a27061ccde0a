package world_test

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// Components that hold pointers of each kind, to something that tells whose it is.
type (
	sheet  struct{ of int64 }
	Ring   struct{ P *sheet }
	Bag    struct{ S []sheet }
	Shelf  struct{ M map[string]*sheet }
	Label  struct{ Text string }
	Puzzle struct{ Any any }
	Full   struct {
		Ring
		Bag
		Shelf
		Label
		Health
	}
)

// fullOf makes one of everything for a number.
func fullOf(n int64) Full {
	return Full{
		Ring{&sheet{n}}, Bag{[]sheet{{n - 1}, {n}}}, Shelf{map[string]*sheet{"it": {n}}}, Label{fmt.Sprintf("number %d", n)}, Health{n},
	}
}

// TestCollector churns components that hold pointers, in every way that moves
// them, while the collector runs all the time. A value that was moved behind its
// back would be freed, and hold something else when it is looked at.
func TestCollector(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	done := make(chan struct{})
	var collector sync.WaitGroup
	collector.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				runtime.GC()
			}
		}
	})
	defer collector.Wait()
	defer close(done)
	for _, keepOrder := range []bool{false, true} {
		t.Run(fmt.Sprintf("keepOrder=%v", keepOrder), func(t *testing.T) {
			rng := newRand(t, 7)
			w := world.MustNew(world.Options{Shards: 2, KeepOrder: keepOrder})
			rings, bags := world.Register[Ring](w, "ring"), world.Register[Bag](w, "bag")
			world.Register[Shelf](w, "shelf")
			world.Register[Label](w, "label")
			puzzle := world.Register[Puzzle](w, "puzzle")
			world.Register[Health](w, "health")
			letter := world.RegisterMessage[Full](w, "letter")
			full := world.NewBundle[Full](w)
			ring, bag, shelf := world.Write[Ring](w), world.Write[Bag](w), world.Read[Shelf](w)
			label, health := world.Read[Label](w), world.Write[Health](w)
			all := w.Query(health)
			without := w.Query(world.Without[Bag](w))
			port, err := w.OpenPort()
			require.NoError(t, err)
			look := func() {
				for ch := range all.Chunks() {
					h, r, b, s, l := health.Slice(ch), ring.Slice(ch), bag.Slice(ch), shelf.Slice(ch), label.Slice(ch)
					for i := range h {
						n := h[i].Points
						if r[i].P.of != n || b != nil && b[i].S[1].of != n || s[i].M["it"].of != n || l[i].Text != fmt.Sprintf("number %d", n) {
							t.Fatalf("entity of %d holds %v, %v, %v, %q", n, r[i].P, b, s[i].M, l[i].Text)
						}
					}
				}
			}
			some := func(do func(h handle.Handle)) {
				if n := all.Count(); n > 0 {
					hs := chosen(all)
					for range 20 {
						do(hs[rng.IntN(n)])
					}
				}
			}
			n := int64(0)
			for range iterations(1000) {
				switch rng.IntN(9) {
				case 0:
					require.NoError(t, full.CreateN(w, rng.IntN(100), func(_ int, v *Full) { n++; *v = fullOf(n) }))
				case 1:
					for range rng.IntN(50) {
						n++
						_, err := full.Create(port, fullOf(n))
						require.NoError(t, err)
					}
				case 2:
					some(func(h handle.Handle) { w.Destroy(h) })
				case 3:
					some(func(h handle.Handle) {
						n := health.Get(h).Points
						require.NoError(t, rings.Set(port, h, Ring{&sheet{n}}))
						require.NoError(t, bags.Add(port, h, Bag{[]sheet{{0}, {n}}}))
						require.NoError(t, letter.Send(port, h, fullOf(n)))
					})
				case 4:
					some(func(h handle.Handle) { _ = puzzle.Add(w, h, Puzzle{&sheet{1}}) })
				case 5:
					some(func(h handle.Handle) { _ = bags.Remove(w, h) })
				case 6:
					some(func(h handle.Handle) { _, _ = world.Copy(w, h) })
				case 7:
					require.NoError(t, w.Query(world.With[Puzzle](w)).Remove(puzzle))
					require.NoError(t, all.Limit(100).Remove(bags))
				case 8:
					require.NoError(t, bags.AddTo(without, func(rows world.Chunk) {
						for i := range rows.Len() {
							bag.Slice(rows)[i].S = []sheet{{0}, {health.Slice(rows)[i].Points}}
						}
					}))
				}
				look()
				if rng.IntN(2) == 0 {
					w.Refresh()
					look()
				}
			}
		})
	}
}
