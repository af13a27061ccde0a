package snapshot_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/snapshot/text"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// The same constants in three versions of a program: one is inserted, and then others are moved, one
// renamed, and one dropped.
type (
	slotA uint8
	slotB uint8
	slotC uint8
	slotD int16 // wider
)

var (
	slotsA = map[slotA]string{0: "none", 1: "head", 2: "hand", 3: "ring"}
	slotsB = map[slotB]string{0: "none", 1: "head", 2: "belt", 3: "hand", 4: "ring"}
	slotsC = map[slotC]string{0: "none", 1: "ring", 200: "head", 7: "main hand"}
	slotsD = map[slotD]string{0: "none", -1: "ring", 300: "head", 7: "main hand"}
)

func (s slotA) String() string { return slotsA[s] }
func (s slotB) String() string { return slotsB[s] }
func (s slotC) String() string { return slotsC[s] }

// gear has constants wherever they can be. fmt writes all of it by name.
type gear[S slotA | slotB | slotC] struct {
	Slot S
	Both [2]struct {
		N    int8
		Slot S
	}
	Three [3]S
	Worn  []S
	Pairs map[S]struct{ Of []S }
	Rows  [][2]S
	Name  string
}

// gearOf returns a gear by names.
func gearOf[S slotA | slotB | slotC](names map[S]string, i int) (g gear[S]) {
	all := map[string]S{}
	for n, name := range names {
		all[strings.TrimPrefix(name, "main ")] = n
	}
	of := func(i int) S { return all[[]string{"none", "head", "hand", "ring"}[(i+40)%4]] }
	g.Slot, g.Three, g.Name = of(i), [3]S{of(i + 1), of(i), of(i + 3)}, fmt.Sprint("g", i)
	g.Both[0].Slot, g.Both[1].Slot, g.Both[1].N = of(i), of(i+2), int8(i)
	g.Worn, g.Rows = []S{of(i + 1), of(3)}, [][2]S{{of(i), of(i + 1)}}
	g.Pairs = map[S]struct{ Of []S }{of(i): {[]S{of(i + 2)}}, of(i + 1): {}}
	return g
}

type gearMill[S slotA | slotB | slotC] = mill[gear[S], gear[S], gear[S]]

func gearCodecs[S slotA | slotB | slotC | slotD](names map[S]string) *state.Codecs {
	c := new(state.Codecs)
	state.RegisterEnum(c, names)
	return c
}

// gearChanges are the changes of all three versions.
var gearChanges = []snapshot.Change{
	snapshot.Renamed("struct { Store snapshot_test.gear[github.com/atoll-sim/atoll/persist/snapshot_test.slotA] }", "struct { Store snapshot_test.gear[github.com/atoll-sim/atoll/persist/snapshot_test.slotB] }"),
	snapshot.Renamed("struct { Store snapshot_test.gear[github.com/atoll-sim/atoll/persist/snapshot_test.slotB] }", "struct { Store snapshot_test.gear[github.com/atoll-sim/atoll/persist/snapshot_test.slotC] }"),
	snapshot.RenamedField("snapshot_test.slotC", "hand", "main hand"),
	snapshot.Dropped("snapshot_test.slotC", "belt"),
}

// loadGear loads a file into a new world, and returns that and its own file.
func loadGear[S slotA | slotB | slotC](t testing.TB, image []byte, names map[S]string, workers int) (*gearMill[S], []byte) {
	m := newMill[gear[S], gear[S], gear[S]](t, workers)
	m.Observe("left", world.OnSet, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(*world.Context, world.Event, []handle.Handle) {}
	}, m.stores)
	o := snapshot.Options{Codecs: gearCodecs(names), Scheduler: m.s, Changes: gearChanges, Workers: workers}
	require.NoError(t, snapshot.Load(bytes.NewReader(image), m.World, o))
	var again bytes.Buffer
	require.NoError(t, snapshot.Write(&again, m.World, o))
	return m, again.Bytes()
}

// tellGear runs a world, and returns all that it had, and heard, by names.
func tellGear[S slotA | slotB | slotC](t testing.TB, m *gearMill[S]) (lines []string) {
	p, err := async.Attach(m.World, async.PoolOptions{Workers: 1})
	require.NoError(t, err)
	for range 8 {
		require.NoError(t, m.s.Step(t.Context()))
	}
	asked := map[string]bool{}
	for range 7 {
		asked[fmt.Sprintf("%+v", <-m.ran)] = true
	}
	require.NoError(t, p.Close(t.Context()))
	for rows := range m.Query().Chunks() {
		for _, g := range world.Read[gear[S]](m.World).Slice(rows) {
			lines = append(lines, fmt.Sprintf("%+v", g))
		}
	}
	return append(lines, fmt.Sprint(asked, m.heard, m.sold))
}

// TestEnums loads constants that have other numbers now: in components, messages, timers, asks,
// calls and transactions, through three versions, on some numbers of workers.
func TestEnums(t *testing.T) {
	old := newMill[gear[slotA], gear[slotA], gear[slotA]](t, 1)
	of := func(i int) gear[slotA] { return gearOf(slotsA, i) }
	old.fill(of, of, of)
	var file bytes.Buffer
	require.NoError(t, snapshot.Write(&file, old.World, snapshot.Options{Codecs: gearCodecs(slotsA), Scheduler: old.s}))
	mainHand := strings.NewReplacer("hand", "main hand")
	for _, workers := range []int{1, 2, 5} {
		a, _ := loadGear(t, file.Bytes(), slotsA, workers)
		b, second := loadGear(t, file.Bytes(), slotsB, workers)
		viaB, third := loadGear(t, second, slotsC, workers)
		c, direct := loadGear(t, file.Bytes(), slotsC, workers)
		again, _ := loadGear(t, third, slotsC, workers)
		require.Equal(t, third, direct)
		was := tellGear(t, a)
		require.Greater(t, len(was), 20)
		require.Equal(t, sortedKeys(was), sortedKeys(tellGear(t, b)))
		for i := range was {
			was[i] = mainHand.Replace(was[i])
		}
		for _, m := range []*gearMill[slotC]{c, viaB, again} {
			require.Equal(t, sortedKeys(was), sortedKeys(tellGear(t, m)))
		}
	}
}

// worn is a component with constants.
type worn[S any] struct{ Slot, Other S }

func enumWorld[T any](t testing.TB, values ...T) *world.World {
	w := world.MustNew(world.Options{})
	world.Register[T](w, "worn")
	for _, v := range values {
		_, err := world.NewBundle[struct{ V T }](w).Create(w, struct{ V T }{v})
		require.NoError(t, err)
	}
	return w
}

func enumFile[T any](t testing.TB, codecs *state.Codecs, values ...T) []byte {
	var file bytes.Buffer
	require.NoError(t, snapshot.Write(&file, enumWorld(t, values...), snapshot.Options{Codecs: codecs, Compression: snapshot.None}))
	return file.Bytes()
}

// enumLoad returns what is loaded, the plan, and the error.
func enumLoad[T any](t testing.TB, image []byte, codecs *state.Codecs, changes ...snapshot.Change) (all []T, plan string, err error) {
	w := enumWorld[T](t)
	o := snapshot.Options{Codecs: codecs, Changes: changes}
	p, err := snapshot.PlanLoad(bytes.NewReader(image), w, o)
	require.NoError(t, err)
	err = snapshot.Load(bytes.NewReader(image), w, o)
	if len(p.Blocking()) > 0 {
		require.ErrorIs(t, err, snapshot.ErrOtherWorld)
	}
	for rows := range w.Query().Chunks() {
		all = append(all, world.Read[T](w).Slice(rows)...)
	}
	require.NoError(t, w.Err())
	return all, p.String(), err
}

// TestEnumPlans says what a plan tells of constants, and what Load does: both directions of a
// mistake, names that are gone, types that are declared on one side, numbers without a name.
func TestEnumPlans(t *testing.T) {
	a, b, c := gearCodecs(slotsA), gearCodecs(slotsB), gearCodecs(slotsC)
	file := enumFile(t, a, worn[slotA]{2, 0}, worn[slotA]{3, 1})

	all, plan, err := enumLoad[worn[slotB]](t, file, b)
	require.NoError(t, err)
	require.Equal(t, []worn[slotB]{{3, 0}, {4, 1}}, all)
	require.Equal(t, `loads    component "worn", field Slot (snapshot_test.slotA → snapshot_test.slotB): has other numbers for constants, by their names: hand 2 → 3, ring 3 → 4
loads    component "worn", field Slot (snapshot_test.slotA → snapshot_test.slotB): has new constants: belt
loads    component "worn", field Other (snapshot_test.slotA → snapshot_test.slotB): has other numbers for constants, by their names: hand 2 → 3, ring 3 → 4
loads    component "worn", field Other (snapshot_test.slotA → snapshot_test.slotB): has new constants: belt
4 differences, 0 refused
`, plan)
	now := enumFile(t, b, worn[slotB]{2, 0}, worn[slotB]{3, 1})
	files, err := snapshot.PlanFiles(bytes.NewReader(file), bytes.NewReader(now), snapshot.Options{})
	require.NoError(t, err)
	require.Equal(t, plan, files.String())

	// Back: the older program lacks a constant.
	_, plan, err = enumLoad[worn[slotA]](t, now, a)
	require.Error(t, err)
	require.Contains(t, plan, `refuses  component "worn", field Slot (snapshot_test.slotB → snapshot_test.slotA): has 1 constants that snapshot_test.slotA lacks now, belt: say RenamedField("snapshot_test.slotA", "belt", …), or give a Migrated; Dropped("snapshot_test.slotA", "belt") makes it 0, WHICH LOSES IT IN AT MOST 2 ENTITIES`)
	back, plan, err := enumLoad[worn[slotA]](t, now, a, snapshot.Dropped("snapshot_test.slotB", "belt"))
	require.NoError(t, err)
	require.Equal(t, []worn[slotA]{{0, 0}, {2, 1}}, back)
	require.Contains(t, plan, `has constants that are dropped, and become 0, WHICH LOSES IT IN AT MOST 2 ENTITIES: belt`)
	back, _, err = enumLoad[worn[slotA]](t, now, a, snapshot.RenamedField("snapshot_test.slotA", "belt", "ring"))
	require.Error(t, err, "the file has a ring, too")
	back, _, err = enumLoad[worn[slotA]](t, now, a, snapshot.Migrated(func(was worn[uint8]) worn[slotA] { return worn[slotA]{slotA(was.Slot) + 1, slotA(was.Other)} }))
	require.NoError(t, err)
	require.Equal(t, []worn[slotA]{{3, 0}, {4, 1}}, back)

	// A Migrated is for what is refused: what has names keeps them.
	all, _, err = enumLoad[worn[slotB]](t, file, b, snapshot.Migrated(func(worn[uint8]) worn[slotB] { panic("never called") }))
	require.NoError(t, err)
	require.Equal(t, []worn[slotB]{{3, 0}, {4, 1}}, all)
	// One from another form reads constants of this program by their names.
	type pair struct{ A, B slotB }
	pairs, _, err := enumLoad[pair](t, file, b, snapshot.Migrated(func(was worn[slotB]) pair { return pair{was.Other, was.Slot} }))
	require.NoError(t, err)
	require.Equal(t, []pair{{0, 3}, {1, 4}}, pairs)
	_, plan, err = enumLoad[struct{ A slotC }](t, file, c, snapshot.Migrated(func(was struct{ Slot, Other slotC }) struct{ A slotC } { return struct{ A slotC }{was.Slot} }))
	require.Error(t, err)

	// Declared on one side alone, or the same under another name of the type.
	_, plan, err = enumLoad[worn[slotB]](t, file, nil)
	require.ErrorIs(t, err, snapshot.ErrOtherWorld)
	require.Contains(t, plan, `has names for its constants, which this program lacks: register them in Options.Codecs by state.RegisterEnum; Dropped("snapshot_test.slotA") reads the numbers as they are`)
	all, plan, err = enumLoad[worn[slotB]](t, file, nil, snapshot.Dropped("snapshot_test.slotA"))
	require.NoError(t, err)
	require.Equal(t, []worn[slotB]{{2, 0}, {3, 1}}, all)
	require.Contains(t, plan, "has no constants in this world: its numbers are read as they are")
	all, plan, err = enumLoad[worn[slotB]](t, enumFile(t, nil, worn[slotA]{2, 0}), b)
	require.NoError(t, err)
	require.Equal(t, []worn[slotB]{{2, 0}}, all)
	require.Contains(t, plan, "its numbers, which were saved without, are read as they are")
	_, plan, err = enumLoad[worn[slotB]](t, file, gearCodecs(map[slotB]string{0: "none", 1: "head", 2: "hand", 3: "ring"}))
	require.NoError(t, err)
	require.Equal(t, "0 differences, 0 refused\n", plan)

	// Numbers without a name.
	odd := enumFile(t, a, worn[slotA]{200, 1}, worn[slotA]{4, 1})
	_, _, err = enumLoad[worn[slotB]](t, odd, b)
	require.ErrorIs(t, err, snapshot.ErrOtherWorld)
	require.ErrorContains(t, err, `component "worn": `)
	require.ErrorContains(t, err, `field Slot has the number 4, which was no constant of snapshot_test.slotA, and is "ring" now: say RenamedField("snapshot_test.slotA", "4", "ring") if it meant a constant, or Dropped("snapshot_test.slotA", "4"), which makes it 0`)
	all, _, err = enumLoad[worn[slotB]](t, odd, b, snapshot.RenamedField("snapshot_test.slotA", "4", "belt"))
	require.NoError(t, err)
	require.Equal(t, []worn[slotB]{{200, 1}, {2, 1}}, all)
	all, _, err = enumLoad[worn[slotB]](t, odd, b, snapshot.RenamedField("snapshot_test.slotA", "4", "ring"))
	require.NoError(t, err, "as the error says, also if the file has a ring")
	require.Equal(t, []worn[slotB]{{200, 1}, {4, 1}}, all)
	all, _, err = enumLoad[worn[slotB]](t, odd, b, snapshot.Dropped("snapshot_test.slotA", "4"))
	require.NoError(t, err)
	require.Equal(t, []worn[slotB]{{200, 1}, {0, 1}}, all)

	// A component that is a constant; bytes and keys of CBOR; keys that are dropped.
	ones, _, err := enumLoad[slotB](t, enumFile(t, a, slotA(3), slotA(1)), b)
	require.NoError(t, err)
	require.Equal(t, []slotB{4, 1}, ones)
	two := slotA(2)
	is, _, err := enumLoad[map[slotB]*slotB](t, enumFile(t, a, map[slotA]*slotA{1: nil, 3: &two}), b)
	require.NoError(t, err)
	hand := slotB(3)
	require.Equal(t, []map[slotB]*slotB{{1: nil, 4: &hand}}, is)
	was, _, err := enumLoad[map[slotD][]slotD](t, enumFile(t, gearCodecs(slotsD), map[slotD][]slotD{-1: {300, 7}, 300: {5}}), gearCodecs(map[slotD]string{0: "none", 2: "head"}),
		snapshot.Dropped("snapshot_test.slotD", "ring"), snapshot.Dropped("snapshot_test.slotD", "main hand"))
	require.NoError(t, err)
	require.Equal(t, []map[slotD][]slotD{{2: {5}}}, was)
	wide, plan, err := enumLoad[worn[slotD]](t, file, gearCodecs(slotsD), snapshot.RenamedField("snapshot_test.slotD", "hand", "main hand"))
	require.NoError(t, err)
	require.Equal(t, []worn[slotD]{{7, 0}, {-1, 300}}, wide)
	require.Contains(t, plan, "head 1 → 300, hand 2 → main hand 7, ring 3 → -1")
	require.Contains(t, plan, "is converted")
	_, _, err = enumLoad[[]slotB](t, enumFile(t, a, []slotA{1, 4}), b)
	require.ErrorIs(t, err, snapshot.ErrOtherWorld)
}

// TestEnumAccumulators loads constants of resources that became accumulators, or were some, and of such
// by a function.
func TestEnumAccumulators(t *testing.T) {
	w := func(accumulates bool) (*world.World, *world.Resource[worn[slotA]]) {
		w := world.MustNew(world.Options{})
		if accumulates {
			return w, world.RegisterAccumulator(w, "worn", func(total, part *worn[slotA]) {})
		}
		return w, world.RegisterResource(w, "worn", worn[slotA]{})
	}
	moved := gearCodecs(map[slotA]string{0: "none", 1: "head", 2: "belt", 3: "hand", 4: "ring"})
	for _, was := range []bool{false, true} {
		from, r := w(was)
		r.Set(worn[slotA]{2, 3})
		image := saved(t, from, snapshot.Options{Codecs: gearCodecs(slotsA)})
		for _, is := range []bool{false, true} {
			to, r := w(is)
			require.NoError(t, snapshot.Load(bytes.NewReader(image), to, snapshot.Options{Codecs: moved}))
			require.Equal(t, worn[slotA]{3, 4}, r.Get(), "was %v, is %v", was, is)
			to, _ = w(is)
			require.ErrorIs(t, snapshot.Load(bytes.NewReader(image), to, snapshot.Options{Codecs: gearCodecs(map[slotA]string{1: "head"})}), snapshot.ErrOtherWorld)

			type sum struct{ Sum int }
			to = world.MustNew(world.Options{})
			merge := func(total, part *sum) { total.Sum += part.Sum }
			total := func() sum { return sum{} }
			if is {
				total = world.RegisterAccumulator(to, "worn", merge).Get
			} else {
				total = world.RegisterResource(to, "worn", sum{}).Get
			}
			require.NoError(t, snapshot.Load(bytes.NewReader(image), to, snapshot.Options{Changes: []snapshot.Change{
				snapshot.Migrated(func(was worn[uint8]) sum { return sum{int(was.Slot + was.Other)} })}}))
			require.Equal(t, sum{5}, total(), "was %v, is %v", was, is)
		}
	}
}

// TestEnumForged loads files that tell other things of constants, and what text says of them.
func TestEnumForged(t *testing.T) {
	file := enumFile(t, gearCodecs(slotsA), gearOf(slotsA, 1), gearOf(slotsA, 2))
	var lines, back bytes.Buffer
	_, err := text.Export(bytes.NewReader(file), &lines, snapshot.Options{})
	require.NoError(t, err)
	_, err = text.Import(&lines, &back, snapshot.Options{})
	require.NoError(t, err)
	require.Equal(t, file, back.Bytes())

	dice := rand.New(rand.NewPCG(seed.Of(t), 1))
	try := func(forge func(typ string) string) error {
		image := snapshot.ForgeNames(file, func(x *snapshot.Catalogue) {
			for i := range x.Components[0].Parts {
				for k, f := range x.Components[0].Parts[i].Fields {
					x.Components[0].Parts[i].Fields[k].Type = forge(f.Type)
				}
			}
		})
		_, _, err := func() ([]gear[slotB], string, error) {
			w := enumWorld[gear[slotB]](t)
			o := snapshot.Options{Codecs: gearCodecs(slotsB)}
			if _, err := snapshot.PlanLoad(bytes.NewReader(image), w, o); err != nil {
				return nil, "", err
			}
			return nil, "", snapshot.Load(bytes.NewReader(image), w, o)
		}()
		return err
	}
	const head = `"head"=1`
	require.NoError(t, try(func(typ string) string { return typ }))
	for _, bad := range []string{`"head"=0`, `"head"=2`, `"head"=256`, `"head"=-1`, `"head"=`, `"head"=9999999999999999999`, `"hand"=1`, `""=1`, `head=1`, `"head"=1,`, `"head"=1)`, `"head`} {
		require.ErrorIs(t, try(func(typ string) string { return strings.Replace(typ, head, bad, 1) }), snapshot.ErrAltered, bad)
	}
	require.ErrorIs(t, try(func(typ string) string { return strings.Replace(typ, `("none"=0,"head"=1,"hand"=2,"ring"=3)`, "()", 1) }), snapshot.ErrAltered)
	for range 300 {
		_ = try(func(typ string) string { // an error or a world, and no panic
			b := []byte(typ)
			if dice.IntN(3) == 0 {
				b[dice.IntN(len(b))] = `0123"(),=- {}@;x`[dice.IntN(16)]
			}
			return string(b)
		})
	}
}

// sortedKeys returns lines in order, each with its words in order: maps of fmt are in the order of
// their keys, which are numbers.
func sortedKeys(lines []string) (all []string) {
	for _, line := range lines {
		words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" {}[]:,", r) })
		slices.Sort(words)
		all = append(all, strings.Join(words, " "))
	}
	return all
}
