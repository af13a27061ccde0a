package snapshot_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// The forms of history, as texts that are the same in all of them.
type (
	plain0  struct{ load0 }
	plain2  struct{ load2 }
	plain3  struct{ load3 }
	barn0   struct{ ware0 }
	barn2   struct{ ware2 }
	inWords struct{ Text string } // what a store becomes by a function
)

func (p plain0) String() string  { return fmt.Sprint(p.B, p.A) }
func (p plain2) String() string  { return fmt.Sprint(p.Name, p.A) }
func (p plain3) String() string  { return p.Text }
func (b barn0) String() string   { return fmt.Sprint(b.Tons) }
func (b barn2) String() string   { return fmt.Sprint(b.Weight) }
func (w inWords) String() string { return w.Text }

// build is a version of a program that goes on with any number of shards.
type build struct {
	create func(t *testing.T, dice *rand.Rand) []byte
	open   func(t *testing.T, from io.Reader, shards, workers int) *running
}

// running is a world of a build. What it has heard and has is told by names.
type running struct {
	*world.World
	o     snapshot.Options
	step  func()
	poke  func(a, b handle.Handle, i int) // sets a, whose hook sends requests: one of them sets b
	heard func() []string                 // since it was loaded
	has   func() []string                 // stores and asks, at last
}

// buildOf returns a build whose stores are W, and in which all else that is kept is L.
func buildOf[L, W any](codecs func() *state.Codecs, changes []snapshot.Change, of func(i int) L, stored func(i int) W) build {
	open := func(t *testing.T, shards, workers int) (*mill[L, L, W], *running) {
		m := newMillOf[L, L, W](t, shards, workers)
		x := &running{World: m.World, o: snapshot.Options{Scheduler: m.s, Codecs: codecs(), Changes: changes, Workers: workers}}
		x.step = func() { require.NoError(t, m.s.Step(t.Context())) }
		var poked [2]handle.Handle
		var with int
		m.Observe("left", world.OnSet, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
			world.Write[W](b)
			return func(c *world.Context, _ world.Event, hs []handle.Handle) {
				if slices.Contains(hs, poked[0]) {
					require.NoError(t, m.function.Call(c, poked[0], of(with)))
					require.NoError(t, m.sale.Call(c, of(with+1)))
					require.NoError(t, m.stores.Set(c, poked[1], struct{ Store W }{stored(with + 2)}))
				}
			}
		}, m.stores)
		x.poke = func(a, b handle.Handle, i int) {
			poked, with = [2]handle.Handle{a, b}, i
			require.NoError(t, m.stores.Set(m.World, a, struct{ Store W }{stored(i)}))
			m.Refresh() // then the hook's are under way, but what it did in its shard
			require.NoError(t, m.Failure())
			poked[0] = handle.None
		}
		x.heard = func() (lines []string) {
			for _, one := range m.heard {
				lines = append(lines, one...)
			}
			return append(lines, m.sold...)
		}
		x.has = func() (lines []string) {
			for rows := range m.Query().Chunks() {
				for i, h := range rows.Handles() {
					lines = append(lines, fmt.Sprintf("%v %+v", h, world.Read[W](m.World).Slice(rows)[i]))
				}
			}
			p, err := async.Attach(m.World, async.PoolOptions{Workers: 1})
			require.NoError(t, err)
			for range m.asks.Len() {
				lines = append(lines, fmt.Sprintf("asked %+v", <-m.ran))
			}
			require.NoError(t, p.Close(t.Context()))
			return lines
		}
		return m, x
	}
	return build{
		create: func(t *testing.T, dice *rand.Rand) []byte {
			m := newMill[L, L, W](t, 1)
			some := func(int) L { return of(dice.IntN(1000)) }
			m.fill(some, some, func(int) W { return stored(dice.IntN(1000)) })
			return saved(t, m.World, snapshot.Options{Scheduler: m.s, Codecs: codecs()})
		},
		open: func(t *testing.T, from io.Reader, shards, workers int) *running {
			_, x := open(t, shards, workers)
			image, err := io.ReadAll(from)
			require.NoError(t, err)
			plan, err := snapshot.PlanLoad(bytes.NewReader(image), x.World, x.o)
			require.NoError(t, err)
			require.Empty(t, plan.Blocking())
			require.NoError(t, snapshot.Load(bytes.NewReader(image), x.World, x.o))
			return x
		},
	}
}

// plainBuilds are builds whose forms change.
func plainBuilds() []build {
	changes := slices.Clone(history)
	bundle := func(name string) string { return "struct { Store snapshot_test." + name + " }" }
	changes = append(changes, snapshot.Renamed(bundle("barn0"), bundle("barn2")),
		snapshot.Migrated(func(was plain0) plain3 { return plain3{load3{Text: was.String()}} }),
		snapshot.Migrated(func(was plain2) plain3 { return plain3{load3{was.String(), was.C}} }))
	for _, of := range []string{"grind", "orders", "note", "sale"} {
		changes = append(changes, snapshot.RenamedField(of, "load0.A", "load2.A"), snapshot.RenamedField(of, "load0.B", "load2.Name"))
	}
	changes = append(changes, snapshot.RenamedField("wheat", "ware0.Tons", "ware2.Weight"))
	none := func() *state.Codecs { return nil }
	load := func(i int) load0 { return load0{int16(i), strings.Repeat("y", i%4)} }
	return []build{
		buildOf(none, changes, func(i int) plain0 { return plain0{load(i)} }, func(i int) barn0 { return barn0{ware0{int32(i)}} }),
		buildOf(none, changes, func(i int) plain2 { l := load(i); return plain2{load2{Name: l.B, A: int64(l.A)}} }, func(i int) barn2 { return barn2{ware2{Weight: int64(i)}} }),
		buildOf(none, changes, func(i int) plain3 { return plain3{load3{Text: plain0{load(i)}.String()}} }, func(i int) barn2 { return barn2{ware2{Weight: int64(i)}} }),
	}
}

// enumBuilds are builds whose constants have drawn numbers. The last makes words of stores.
func enumBuilds(t *testing.T, dice *rand.Rand) []build {
	a, b, c := slotsA, slotsB, slotsC
	t.Cleanup(func() { slotsA, slotsB, slotsC = a, b, c })
	slotsA, slotsB, slotsC = drawn[slotA](dice, "hand"), drawn[slotB](dice, "hand", "belt"), drawn[slotC](dice, "main hand", "crown", "cape")
	bundle := func(name string) string {
		return fmt.Sprintf("struct { Store snapshot_test.gear[github.com/atoll-sim/atoll/persist/snapshot_test.%s] }", name)
	}
	words := "struct { Store snapshot_test.inWords }"
	changes := append(slices.Clone(gearChanges), snapshot.Renamed(bundle("slotC"), words),
		snapshot.Migrated(func(was gear[slotC]) inWords { return inWords{fmt.Sprintf("%+v", was)} }))
	codecsC := func() *state.Codecs { return gearCodecs(slotsC) }
	ofC := func(i int) gear[slotC] { return gearOf(slotsC, i) }
	ofA, ofB := func(i int) gear[slotA] { return gearOf(slotsA, i) }, func(i int) gear[slotB] { return gearOf(slotsB, i) }
	return []build{
		buildOf(func() *state.Codecs { return gearCodecs(slotsA) }, changes, ofA, ofA),
		buildOf(func() *state.Codecs { return gearCodecs(slotsB) }, changes, ofB, ofB),
		buildOf(codecsC, changes, ofC, ofC),
		buildOf(codecsC, changes, ofC, func(i int) inWords { return inWords{fmt.Sprintf("%+v", ofC(i))} }),
	}
}

// drawn draws a number for each constant.
func drawn[S slotA | slotB | slotC](dice *rand.Rand, also ...string) map[S]string {
	names := map[S]string{}
	for i, n := range dice.Perm(256)[:3+len(also)] {
		names[S(n)] = append([]string{"none", "head", "ring"}, also...)[i]
	}
	return names
}

// TestKeptShards goes from build to build, with other numbers of shards and workers, with requests
// under way, from whole files and increments: what comes of it is what one build makes of it that stays
// with its shards.
func TestKeptShards(t *testing.T) {
	first := seed.Of(t)
	for i := range uint64(*seeds+1) / 2 {
		for what, builds := range map[string]func(*testing.T, *rand.Rand) []build{
			"enums": enumBuilds, "forms": func(*testing.T, *rand.Rand) []build { return plainBuilds() },
		} {
			t.Run(fmt.Sprint(what, ",seed=", first+i), func(t *testing.T) {
				dice := rand.New(rand.NewPCG(first+i, 5))
				goOnByBuilds(t, dice, builds(t, dice))
			})
		}
	}
}

func goOnByBuilds(t *testing.T, dice *rand.Rand, builds []build) {
	image := builds[0].create(t, dice)
	stays := builds[0].open(t, bytes.NewReader(image), 3, 1)
	var hs []handle.Handle
	for rows := range stays.Query().Chunks() {
		hs = append(hs, rows.Handles()...)
	}
	read := func() io.Reader { return bytes.NewReader(image) }
	var heard []string
	at := 0
	for k := range 4 {
		if at += dice.IntN(3); k == 3 || at >= len(builds) {
			at = len(builds) - 1
		}
		shards := 1 + dice.IntN(6)
		x, twin := builds[at].open(t, read(), shards, 1+dice.IntN(5)), builds[at].open(t, read(), shards, 1)
		require.Equal(t, saved(t, twin.World, twin.o), saved(t, x.World, x.o))
		var chain snapshot.Chain
		var links []link
		for range 1 + dice.IntN(3) {
			if dice.IntN(2) == 0 {
				half, i := len(hs)/2, dice.IntN(1000) // nobody is set by the idle world and by a hook
				a, b := hs[dice.IntN(half)], hs[half+dice.IntN(half)]
				for _, y := range []*running{x, twin, stays} {
					y.poke(a, b, i)
				}
			} else {
				for _, y := range []*running{x, twin, stays} {
					y.step()
				}
			}
			var l link
			l.save(t, &chain, x.World, x.o)
			links = append(links, l)
			require.Equal(t, l.whole, merged(t, links))
			require.Equal(t, saved(t, twin.World, twin.o), l.whole)
		}
		read = func() io.Reader { return mergeOf(links) }
		for range 2 * (k / 3) { // what is under way at last
			x.step()
			stays.step()
		}
		if heard = append(heard, x.heard()...); k == 3 {
			heard = append(heard, x.has()...)
		}
	}
	require.Equal(t, inNoOrder(append(stays.heard(), stays.has()...)), inNoOrder(heard))
}

// inNoOrder sorts lines, whatever the main hand is called.
func inNoOrder(lines []string) []string {
	all := sortedKeys(strings.Split(strings.ReplaceAll(strings.Join(lines, "\n"), "main hand", "hand"), "\n"))
	slices.Sort(all)
	return all
}
