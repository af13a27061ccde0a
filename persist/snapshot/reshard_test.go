package snapshot_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
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
	apart := uint64(1)
	if check.Enabled && testing.Short() { // another third with another seed
		apart = 3
	}
	for i, counts := range [][]int{{4, 16}, {4, 2}, {16, 4, 1, 7}, {3, 3}, {1, 5, 5, 2}} {
		if uint64(i)%apart != seed%apart {
			continue
		}
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

// TestReshardAgain changes the number of shards again and again, while entities come and go: there are
// as many homes as for the highest number, and what is freed in any of them is used again.
func TestReshardAgain(t *testing.T) {
	many := func(n int) world.Options { // with versions for all the churn
		o := shards(n)
		o.VersionMax = 0
		return o
	}
	x := newSea(t, many(4), 2)
	var slots uint64
	for i := range 12 {
		for range 3 {
			for k := range 200 {
				_, err := x.unit.Create(x.World, Unit{Body: Body{Small: uint8(k)}})
				require.NoError(t, err)
			}
			x.step()
			x.Query().Destroy()
			x.step()
		}
		image := x.save()
		info, err := snapshot.Inspect(bytes.NewReader(image))
		require.NoError(t, err)
		if i > 0 {
			require.Equal(t, 17, info.Homes)
			require.Equal(t, 4, info.PortsHome)
		}
		taken := uint64(0)
		for _, s := range engine.Of(x.World).Survey().Shards() {
			taken += s.Allocator.Size().Reserved
		}
		if slots == 0 && i > 4 {
			slots = taken
		}
		require.True(t, slots == 0 || taken <= slots+1<<14, "%d bytes of slots, were %d", taken, slots)
		y := newSea(t, many([]int{16, 4, 7, 2}[i%4]), 1)
		y.load(image)
		x = y
	}
}

// TestReshardHostile loads altered snapshots into another number of shards: they are refused, or make a
// world that can be used.
func TestReshardHostile(t *testing.T) {
	dice := rand.New(rand.NewPCG(7, 7))
	x := newSea(t, shards(3), 1)
	x.openPorts()
	x.send(dice, 60)
	x.step()
	x.closePorts()
	x.meddle(dice, 30)
	image := x.save()
	from := newSea(t, shards(2), 1)
	from.load(image)
	image = from.save()
	tries, loaded := 300, 0
	if check.Enabled && testing.Short() { // one goroutine does this
		tries = 75
	}
	for range tries {
		changed := bytes.Clone(image)
		for range 1 + dice.IntN(3) {
			changed[12+dice.IntN(len(changed)-12)] = [...]byte{0, 1, 2, 0x7f, 0xff, byte(dice.IntN(256))}[dice.IntN(6)]
		}
		y := newSea(t, shards(5), 1)
		if snapshot.Load(bytes.NewReader(snapshot.Repair(changed)), y.World, y.options) == nil {
			loaded++
			_ = y.hash()
		} else if y.World.Err() == nil {
			y.load(image)
		}
	}
	require.NotZero(t, loaded)
	header := func(setting string, n uint64) []byte {
		return snapshot.Exchange(image, 'H', func(old []byte) []byte {
			at := bytes.Index(old, []byte(setting)) + len(setting)
			_, size := binary.Uvarint(old[at:])
			return append(binary.AppendUvarint(bytes.Clone(old[:at]), n), old[at+size:]...)
		})
	}
	for _, lie := range []struct {
		setting string
		n       uint64
	}{
		{"Shards", 0}, {"Shards", 5000}, {"Shards", 1 << 62}, {"\x05homes", 2}, {"\x05homes", 1 << 62}, {"\x05homes", 4097}, {"home of ports", 4}, {"home of ports", 1 << 63}, {"home of ports", 0},
	} {
		y := newSea(t, shards(5), 1)
		err := snapshot.Load(bytes.NewReader(header(lie.setting, lie.n)), y.World, y.options)
		require.ErrorIs(t, err, snapshot.ErrAltered, "%v", lie)
	}
	y := newSea(t, shards(5), 1)
	err := snapshot.Load(bytes.NewReader(header("\x05homes", 300)), y.World, y.options)
	require.ErrorIs(t, err, snapshot.ErrOtherWorld)
	require.ErrorContains(t, err, "make it with at least 256")
}

// TestReshardHides has a shard create from all of its homes: another shard does not see any of what it
// creates in the same tick, as in a new world.
func TestReshardHides(t *testing.T) {
	from := crowdOf(t, 4, 80) // so that the first home is used up in the middle of a chunk
	create := func(w *world.World, s *scheduler.Scheduler, then func(c *world.Context, bundle *world.Bundle[Agent])) {
		bundle := world.NewBundle[Agent](w)
		s.MustAdd("create", func(b *world.Build) func(*world.Context) {
			b.Creates(bundle)
			return func(c *world.Context) { then(c, bundle) }
		})
		require.NoError(t, s.Step(t.Context()))
	}
	create(from, scheduler.New(from, scheduler.Options{Workers: 1}), func(c *world.Context, bundle *world.Bundle[Agent]) {
		h, err := bundle.Create(c, Agent{})
		require.NoError(t, err)
		require.NoError(t, c.Destroy(h))
	})
	w := reloaded(t, from, 2)
	var made []handle.Handle
	seen, homes := 0, map[uint32]bool{}
	create(w, scheduler.New(w, scheduler.Options{Workers: 1}), func(c *world.Context, bundle *world.Bundle[Agent]) {
		if len(made) > 0 { // the other shard was first
			for _, h := range made {
				if c.Alive(h) || c.Locate(h) != 0 || c.Status(h) == world.Alive {
					seen++
				}
			}
			return
		}
		for n := 0; n < 5; n += len(homes) / 2 { // some more from the second, in the same chunk
			h, err := bundle.Create(c, Agent{})
			require.NoError(t, err)
			require.True(t, c.Alive(h) && c.Locate(h) != 0, "its own it sees")
			made, homes[h.Home()] = append(made, h), true
		}
	})
	require.Zero(t, seen, "of %d", len(made))
	require.True(t, w.Alive(made[0]) && w.Alive(made[len(made)-1]))
}
