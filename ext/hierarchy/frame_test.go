package hierarchy_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// seen is what a Reader says of a relation.
type seen struct {
	places  [][]handle.Handle // and the following, by entity
	parents []handle.Handle
	numbers [][3]int
	walks   [][]handle.Handle
	refused []hierarchy.Conflict
}

func see(r *hierarchy.Reader, all []handle.Handle) (s seen) {
	for _, h := range all {
		place, child := r.Place(h)
		s.places = append(s.places, slices.Clone(r.Children(h)))
		s.parents = append(s.parents, r.Parent(h), r.Root(h), r.At(h, 1))
		s.numbers = append(s.numbers, [3]int{place, r.Count(h), r.Depth(h)})
		if r.IsAncestor(all[0], h) || child || r.Has(h) || r.Fixed(h) {
			walk := slices.Concat(slices.Collect(r.Each(h)), slices.Collect(r.Ancestors(h)), slices.Collect(r.DepthFirst(h)), slices.Collect(r.BreadthFirst(h)))
			s.walks = append(s.walks, walk)
		}
	}
	for _, f := range r.Conflicts() {
		s.refused = append(s.refused, f.Clone())
	}
	return s
}

// inParallel is a extend.Parallel of so many goroutines.
func inParallel(workers int) extend.Parallel {
	return func(n int, f func(int)) {
		var all sync.WaitGroup
		for w := range workers {
			all.Go(func() {
				for i := w; i < n; i += workers {
					f(i)
				}
			})
		}
		all.Wait()
	}
}

// both is what is said of two relations, about so many entities.
type both struct {
	entities    int
	rel, family seen
}

// kin is a fixture with a second relation.
type kin struct {
	*fixture
	family *hierarchy.Relation
	rand   *rand.Rand
	all    []handle.Handle
}

func (k *kin) see(from world.Binder, entities int) both {
	return both{entities, see(k.rel.Read(from), k.all[:entities]), see(k.family.Read(from), k.all[:entities])}
}

// scatter changes relations in every way, as chance says: by the idle world and by a port.
func (k *kin) scatter(p *world.Port) {
	any := func() handle.Handle { return k.all[k.rand.IntN(len(k.all))] }
	for _, by := range []world.Actor{k.World, p} {
		if k.rand.IntN(2) == 0 {
			h, err := k.things.Create(by, Thing{ID{k.rand.IntN(9)}})
			require.NoError(k.t, err)
			k.all = append(k.all, h)
			_ = k.family.AddChild(by, any(), h)
		}
		for range k.rand.IntN(6) {
			_ = k.family.AddChild(by, any(), any())
			_ = k.rel.AddChild(by, any(), any())
			_ = k.rel.Move(by, any(), any())
			_ = k.rel.MoveAt(by, any(), any(), k.rand.IntN(3))
			_ = k.rel.RemoveChild(by, any(), hierarchy.Gap(k.rand.IntN(3)))
			_ = k.rel.Swap(by, any(), any())
			_ = k.family.SetPlaces(by, any(), k.rand.IntN(4))
			_ = k.family.Put(by, any(), any(), hierarchy.Free)
		}
	}
	k.World.Destroy(any())
	_ = p.Destroy(any())
}

// TestFrame captures frames of relations that change, holds each for a while, and has goroutines
// read them meanwhile: every call says what the world's own reader said.
func TestFrame(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		f := newFixture(t, 3, hierarchy.Options{OnParentDeath: hierarchy.Grandparent})
		family := hierarchy.New(f.World, "family", hierarchy.Options{OnParentDeath: hierarchy.SpareParent, OnChildDeath: hierarchy.Swap})
		k := &kin{f, family, newRand(t, uint64(workers)), f.make(100)}
		whole, err := f.NewView()
		require.NoError(t, err)
		p := f.port()
		type heldFrame struct {
			*world.Frame
			want both
		}
		var held []heldFrame
		hold := func(frame *world.Frame, want both) {
			require.Equal(t, want, k.see(frame, want.entities))
			if held = append(held, heldFrame{frame, want}); len(held) == 2 {
				i := k.rand.IntN(len(held))
				held[i].Release()
				held = slices.Delete(held, i, i+1)
			}
		}
		frames, after := make(chan *world.Frame, 1), map[uint64]both{}
		ask := func() {
			frame, err := whole.Capture(context.Background())
			if err == nil {
				frames <- frame
			} else if !errors.Is(err, world.ErrClosed) {
				t.Error(err)
			}
		}
		go ask()
		for n, captured := 0, 0; n < iterations(150) || captured < 10; n++ {
			k.scatter(p)
			var readers sync.WaitGroup
			for _, x := range held {
				rel, family := f.rel.Read(x), family.Read(x)
				for range 2 { // of one Reader
					all := k.all[:x.want.entities]
					readers.Go(func() {
						if !assert.ObjectsAreEqual(x.want.rel, see(rel, all)) || !assert.ObjectsAreEqual(x.want.family, see(family, all)) {
							t.Errorf("the frame of tick %d is another", x.Tick())
						}
					})
				}
			}
			f.tickBy(inParallel(workers))
			after[f.Tick()] = k.see(f.World, len(k.all))
			if n%5 == 0 {
				k.scatter(p)
				frame, err := whole.Now()
				require.NoError(t, err)
				readers.Wait()
				hold(frame, k.see(f.World, len(k.all)))
			}
			readers.Wait()
			select {
			case frame := <-frames:
				hold(frame, after[frame.Tick()])
				clear(after)
				captured++
				go ask()
			default:
			}
		}
		f.sound()
		f.Close()
		for _, x := range held {
			require.Equal(t, x.want, k.see(x, x.want.entities), "of a closed world")
		}
	}
}
