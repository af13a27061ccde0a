package snapshot_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// shards returns the options of the tests with another number of shards.
func shards(n int) world.Options {
	o := options()
	o.Shards = n
	return o
}

// facts returns what anybody can observe of the entities with these handles, and of the world, apart
// from the shards: by handle.
func (x *sea) facts(hs []handle.Handle) (all []string) {
	x.t.Helper()
	all = append(all, fmt.Sprint(x.Tick(), x.Count(), x.Incarnation(), x.clock, x.rules.Get(), x.kin.Read(x.World).Conflicts(), x.refs.Read(x.World).Conflicts()))
	body, labels, extra := world.Read[Body](x.World), world.Read[Label](x.World), world.Read[Extra](x.World)
	kin, refs := x.kin.Read(x.World), x.refs.Read(x.World)
	for _, h := range hs {
		text := fmt.Sprint(h, x.Status(h), world.FlagsOf(x.World, h))
		if x.World.Alive(h) {
			name, named := x.names.NameOf(h)
			text += fmt.Sprint(" ", body.Get(h), extra.Get(h), world.Read[Tag](x.World).Get(h) != nil, name, named, kin.Parent(h), kin.Children(h), refs.Parent(h), refs.Children(h))
			if l := labels.Get(h); l != nil {
				text += fmt.Sprint(l.Text, l.Items, l.Bag, l.Next)
				if l.Code.N != nil {
					text += fmt.Sprint(*l.Code.N)
				}
			}
		}
		all = append(all, text)
	}
	return all
}

// everyone returns the handles of all entities that live, and the ones that were ever known, and some
// that nobody was given.
func (x *sea) everyone() (all []handle.Handle) {
	for ch := range x.Query().Chunks() {
		all = append(all, ch.Handles()...)
	}
	all = append(all, x.known...)
	for _, h := range slices.Clone(all) {
		all = append(all, handle.New(h.Home(), h.Index(), h.Version()%30+1))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// mustBePlaced checks that entities for which a PlaceBy chooses are where it says, others with their
// parents, and the rest evenly over the shards, if a world was loaded into another number of them.
func mustBePlaced(t *testing.T, from, to *sea) {
	t.Helper()
	if from.Shards() == to.Shards() {
		return
	}
	body, extra, kin := world.Read[Body](to.World), world.Read[Extra](to.World), to.kin.Read(to.World)
	chosen := func(h handle.Handle) bool { return body.Get(h) != nil && extra.Get(h) != nil }
	for ch := range to.Query().Chunks() {
		for _, h := range ch.Handles() {
			owner, ok := to.Owner(h)
			require.True(t, ok)
			switch p := kin.Parent(h); {
			case to.Status(h) == world.Dying || to.Status(p) == world.Dying:
			case chosen(h):
				require.Equal(t, int(body.Get(h).Small)%to.Shards(), owner, "%v", h)
			case p != handle.None:
				with, _ := to.Owner(p)
				require.Equal(t, with, owner, "%v with %v", h, p)
			}
		}
	}
}

// TestReshard loads a world into other numbers of shards, one after the other: all handles stand for
// what they did. From then on it ticks as well as any world, the same on any number of workers, from a
// file and as a fork, and what it is saved as is loaded as any snapshot.
func TestReshard(t *testing.T) {
	seed := seed.Of(t)
	for _, counts := range [][]int{{4, 16}, {4, 2}, {16, 4, 1, 7}, {3, 3}, {1, 5, 5, 2}} {
		t.Run(fmt.Sprint(counts), func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 0))
			x := newSea(t, shards(counts[0]), 2)
			x.openPorts()
			for _, n := range counts[1:] {
				for range 8 {
					x.send(dice, 60)
					x.meddle(dice, 10)
					x.step()
				}
				x.closePorts()
				x.meddle(dice, 40)
				hs := x.everyone()
				want, image, c := x.facts(hs), x.save(), x.capture()
				one := newSea(t, shards(n), 1)
				plan, err := snapshot.PlanLoad(bytes.NewReader(image), one.World, one.options)
				require.NoError(t, err)
				require.Empty(t, plan.Blocking())
				require.Equal(t, n != x.Shards(), len(plan.Differences) > 0, "%v", plan)
				one.load(image)
				require.Equal(t, want, one.facts(hs))
				mustBePlaced(t, x, one)
				two, three := newSea(t, shards(n), 5), newSea(t, shards(n), 2)
				two.load(image)
				require.NoError(t, c.Load(three.World, three.options))
				again := newSea(t, shards(n), 2)
				again.load(one.save())
				all := []*sea{one, two, three, again}
				for _, y := range all {
					y.known = slices.Clone(x.known)
					require.Equal(t, one.sections(), y.sections())
				}
				seed := dice.Uint64() &^ 1
				mustGoOn(t, one, two, seed)
				mustGoOn(t, again, three, seed)
				require.Equal(t, one.sections(), three.sections())
				c.Release()
				x = three
				x.openPorts()
			}
		})
	}
}
