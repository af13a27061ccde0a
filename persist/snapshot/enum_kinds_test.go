package snapshot_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// TestEnumsMigratedInBundles makes a component by a function whose old type has plain integers, also in
// requests about bundles, and of a constant that the program lacks. Elsewhere in them names are needed.
func TestEnumsMigratedInBundles(t *testing.T) {
	type (
		old struct{ Slot, Other uint8 }
		now struct{ Sum int64 }
		rye struct{ Tons int16 }
	)
	change := snapshot.Migrated(func(was old) now { return now{int64(was.Slot)*10 + int64(was.Other)} })
	from, was, hs := scene2[worn[slotA], rye](t, true, func(i int32) worn[slotA] { return worn[slotA]{slotA(i % 4), 1} }, func(i int32) rye { return rye{int16(i)} })
	image := saved(t, from, snapshot.Options{Codecs: gearCodecs(slotsA)})
	for _, o := range []snapshot.Options{{}, {Codecs: gearCodecs(slotsA)}, {Codecs: gearCodecs(slotsB)}} {
		x, is, _ := scene2[now, rye](t, false, nil, nil)
		o.Changes = []snapshot.Change{snapshot.Renamed(was, is), change}
		plan, err := snapshot.PlanLoad(bytes.NewReader(image), x, o)
		require.NoError(t, err)
		require.Empty(t, plan.Blocking(), plan)
		require.NoError(t, snapshot.Load(bytes.NewReader(image), x, o))
		x.Refresh()
		sums := world.Read[now](x)
		require.Equal(t, []now{{21}, {1}, {11}}, []now{*sums.Get(hs[0]), *sums.Get(hs[1]), *sums.Get(hs[2])})
	}

	// The other component has forgotten its names.
	from, was, _ = scene2[worn[slotA], worn[slotB]](t, true, func(i int32) worn[slotA] { return worn[slotA]{} }, func(i int32) worn[slotB] { return worn[slotB]{} })
	both := gearCodecs(slotsA)
	state.RegisterEnum(both, slotsB)
	image = saved(t, from, snapshot.Options{Codecs: both})
	x, is, _ := scene2[now, worn[slotC]](t, false, nil, nil)
	plan, err := snapshot.PlanLoad(bytes.NewReader(image), x, snapshot.Options{Changes: []snapshot.Change{snapshot.Renamed(was, is), change}})
	require.NoError(t, err)
	blocking := fmt.Sprint(plan.Blocking())
	require.NotContains(t, blocking, "Oats")
	require.Contains(t, blocking, "field value.Rye.Slot (snapshot_test.slotB → uint8): has names for its constants, which this program lacks")
}

// TestEnumBecomesOther has constants become something that has no names: a plan says that, and only a
// Change takes the numbers as they are, or makes something of them.
func TestEnumBecomesOther(t *testing.T) {
	file := enumFile(t, gearCodecs(slotsA), worn[slotA]{3, 1})
	const forgets = `Dropped("snapshot_test.slotA") reads the numbers as they are`
	becomesOther(t, file, forgets, worn[slotC]{3, 1})
	becomesOther(t, file, forgets, worn[int16]{3, 1})
	becomesOther(t, file, forgets, worn[handle.Handle]{3, 1})
	becomesOther(t, file, `which a uintptr has not: give a Migrated; `+forgets, worn[uintptr]{3, 1})
	becomesOther(t, file, `which a float32 has not: give a Migrated; `+forgets, worn[float32]{3, 1})
	becomesOther(t, file, `which a float64 has not: give a Migrated; `+forgets, worn[float64]{3, 1})
	const other = `does not become that by itself: give a Migrated; Dropped("worn", "Slot") LOSES IT IN 1 ENTITY`
	becomesOther(t, file, other, worn[bool]{})
	becomesOther(t, file, other, worn[string]{})
	becomesOther(t, file, other, worn[complex128]{})
	becomesOther(t, file, other, worn[Code]{})
	becomesOther(t, file, other, worn[[1]slotA]{})
	becomesOther(t, file, other, worn[[]uint8]{})
	becomesOther(t, file, `Dropped("worn", "Slot") LOSES IT IN 1 ENTITY`, worn[struct{ Slot slotA }]{})
	becomesOther(t, file, "does not hold each of its values", worn[int8]{})

	becomesOther(t, enumFile(t, gearCodecs(slotsA), slotA(3)), forgets, 3.0)
	becomesOther(t, enumFile(t, gearCodecs(slotsA), [2]worn[slotA]{{3, 1}}), forgets, [2]worn[float32]{{3, 1}})
	becomesOther(t, enumFile(t, gearCodecs(slotsA), []worn[slotA]{{3, 1}}), forgets, []worn[float32]{{3, 1}})
	becomesOther(t, enumFile(t, gearCodecs(slotsD), []slotD{-1, 7}), `Dropped("snapshot_test.slotD") reads`, []float64{-1, 7})
	becomesOther(t, enumFile(t, gearCodecs(slotsA), map[slotA]*slotA{3: nil}), forgets, map[int16]*float64{3: nil})

	// What was a number of that kind has no names.
	_, plan, err := enumLoad[worn[slotA]](t, enumFile(t, nil, worn[float64]{}), gearCodecs(slotsA))
	require.Error(t, err)
	require.NotContains(t, plan, "constants")
}

// becomesOther loads a file into a program that has no names: it is refused, and with a Dropped for the
// names, the fields or all it has the values that are wanted.
func becomesOther[T any](t *testing.T, image []byte, refused string, want T) {
	t.Helper()
	_, plan, err := enumLoad[T](t, image, codecs())
	require.ErrorIs(t, err, snapshot.ErrOtherWorld)
	require.Contains(t, plan, refused)
	all, plan, err := enumLoad[T](t, image, codecs(), snapshot.Dropped("snapshot_test.slotA"), snapshot.Dropped("snapshot_test.slotD"), snapshot.Dropped("worn", "Slot", "Other"))
	require.NoError(t, err, plan)
	require.Equal(t, []T{want}, all)
}

// TestEnumKeys has two keys of a map become one: the error says which, and what to do.
func TestEnumKeys(t *testing.T) {
	a, b := gearCodecs(slotsA), gearCodecs(map[slotB]string{0: "none", 1: "head", 2: "belt", 3: "hand", 4: "ring", 5: "crown"})
	type bag[S slotA | slotB] struct{ Of map[S]int8 }
	file := enumFile(t, a, bag[slotA]{map[slotA]int8{3: 1, 4: 2, 1: 3}})
	to := func(number, name string) snapshot.Change {
		return snapshot.RenamedField("snapshot_test.slotA", number, name)
	}
	for range 8 { // maps have no order
		_, _, err := enumLoad[bag[slotB]](t, file, b, to("4", "ring"))
		require.ErrorIs(t, err, snapshot.ErrOtherWorld)
		require.NotErrorIs(t, err, snapshot.ErrAltered)
		require.ErrorContains(t, err, `component "worn": `)
		require.ErrorContains(t, err, `field Of is a map with two keys of snapshot_test.slotA (4, no constant, and 3, "ring") that would both be 4 now: instead of the RenamedField of "4", say Dropped("snapshot_test.slotA", "4"), which leaves its entry out, or give it another constant`)
	}
	all, _, err := enumLoad[bag[slotB]](t, file, b, snapshot.Dropped("snapshot_test.slotA", "4"))
	require.NoError(t, err)
	require.Equal(t, []bag[slotB]{{map[slotB]int8{4: 1, 1: 3}}}, all)
	all, _, err = enumLoad[bag[slotB]](t, file, b, to("4", "belt"))
	require.NoError(t, err)
	require.Equal(t, []bag[slotB]{{map[slotB]int8{4: 1, 2: 2, 1: 3}}}, all)

	// Two numbers that were no constants; elsewhere than in keys both may mean the same.
	_, _, err = enumLoad[bag[slotB]](t, enumFile(t, a, bag[slotA]{map[slotA]int8{5: 1, 4: 2}}), b, to("4", "ring"), to("5", "ring"))
	require.ErrorIs(t, err, snapshot.ErrOtherWorld)
	require.ErrorContains(t, err, "(4, no constant, and 5, no constant) that would both be 4 now")
	is, _, err := enumLoad[worn[slotB]](t, enumFile(t, a, worn[slotA]{4, 5}), b, to("4", "ring"), to("5", "ring"))
	require.NoError(t, err)
	require.Equal(t, []worn[slotB]{{4, 4}}, is)
	ones, _, err := enumLoad[slotB](t, enumFile(t, a, slotA(5)), b, to("4", "ring"), to("5", "ring"))
	require.NoError(t, err)
	require.Equal(t, []slotB{4}, ones)
}
